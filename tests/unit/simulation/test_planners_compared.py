"""The claim that the slack planner is there for."""

from dataclasses import replace

import pytest

from marie_celery.simulation import SCENARIOS, compare, generate

RIVALS = ["fifo", "static", "hrrn", "sjfs", "global", "classic"]


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_slack_misses_fewer_hard_slas_than_every_other_planner(scenario):
    workload = generate(replace(SCENARIOS[scenario], jobs=6_000), seed=1)
    *rivals, slack = compare(workload, [*RIVALS, "slack"]).results
    assert all(slack.hard_missed < rival.hard_missed for rival in rivals)
    assert all(slack.soft_missed < rival.soft_missed for rival in rivals)


def test_a_comparison_can_be_repeated_to_the_last_figure():
    spec = replace(SCENARIOS["bursty"], jobs=1_000)
    assert compare(generate(spec, 7), RIVALS) == compare(generate(spec, 7), RIVALS)
