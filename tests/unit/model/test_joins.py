import pytest

from marie_celery.model.joins import JoinRule, Parents, Verdict, verdict

WAIT, RUN, SKIP, UPSTREAM_FAILED = Verdict.WAIT, Verdict.RUN, Verdict.SKIP, Verdict.UPSTREAM_FAILED

SITUATIONS = {
    "no parents": Parents(total=0, left=0),
    "nobody is done": Parents(total=2, left=2),
    "one completed, one left": Parents(total=2, left=1),
    "one skipped, one left": Parents(total=2, left=1, skipped=1),
    "one failed, one left": Parents(total=2, left=1, failed=1),
    "all completed": Parents(total=2, left=0),
    "one completed, one skipped": Parents(total=2, left=0, skipped=1),
    "all skipped": Parents(total=2, left=0, skipped=2),
    "one completed, one failed": Parents(total=2, left=0, failed=1),
    "one skipped, one failed": Parents(total=2, left=0, skipped=1, failed=1),
    "all failed": Parents(total=2, left=0, failed=2),
}
FAILS = UPSTREAM_FAILED
TABLE = {
    JoinRule.ALL_SUCCESS: [RUN, WAIT, WAIT, WAIT, FAILS, RUN, RUN, SKIP, FAILS, FAILS, FAILS],
    JoinRule.NONE_FAILED: [RUN, WAIT, WAIT, WAIT, FAILS, RUN, RUN, RUN, FAILS, FAILS, FAILS],
    JoinRule.ALL_DONE: [RUN, WAIT, WAIT, WAIT, WAIT, RUN, RUN, RUN, RUN, RUN, RUN],
    JoinRule.ONE_SUCCESS: [SKIP, WAIT, RUN, WAIT, WAIT, RUN, RUN, SKIP, RUN, FAILS, FAILS],
    JoinRule.ONE_FAILED: [SKIP, WAIT, WAIT, WAIT, RUN, SKIP, SKIP, SKIP, RUN, RUN, RUN],
}
CASES = [(r, s, v) for r, row in TABLE.items() for s, v in zip(SITUATIONS, row, strict=True)]


def test_the_table_has_every_rule():
    assert set(TABLE) == set(JoinRule)


@pytest.mark.parametrize(("rule", "situation", "expected"), CASES)
def test_a_rule_decides_by_how_the_parents_ended(rule, situation, expected):
    assert verdict(rule, SITUATIONS[situation]) is expected


def test_what_is_neither_left_nor_skipped_nor_failed_has_completed():
    assert Parents(total=9, left=2, skipped=3, failed=1).completed == 3
