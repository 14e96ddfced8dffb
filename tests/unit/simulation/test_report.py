from io import StringIO
from xml.etree import ElementTree

import pytest
from rich.console import Console

from marie_celery.errors import ConfigError
from marie_celery.planning import PlanningSettings, planner
from marie_celery.simulation import (
    Workload,
    WorkloadJob,
    WorkloadRun,
    WorkloadSpec,
    compare,
    from_records,
    generate,
    render_chart,
    render_table,
    simulate,
    to_records,
)

START = 1_700_000_000_000
SECOND = 1_000


def run_with(**fields):
    """A record of two jobs, the first with these fields."""
    job = {"task": "t", "executor": "ocr", "runtime_ms": 1}
    return {"arrival_ms": 0, "jobs": [job | fields, job]}


def two_runs():
    """The second waits ten seconds and is four late for its hard SLA, nine for its soft one."""
    job = WorkloadJob("read", "ocr", 10 * SECOND)
    first = WorkloadRun(START, (job,), hard_sla_ms=START + 10 * SECOND)
    second = WorkloadRun(START, (job,), 100, START + 11 * SECOND, START + 16 * SECOND)
    return Workload("two <runs>", {"ocr": 1, "idle": 3}, (first, second))


def test_the_figures_of_a_small_case_are_what_one_works_out_by_hand():
    settings = PlanningSettings(starvation_timeout_ms=9 * SECOND)
    result = simulate(two_runs(), "fifo", planner("fifo"), settings)
    assert (result.hard_missed, result.soft_missed) == (1, 1)
    assert result.weighted_tardiness == pytest.approx((0 + 4 * 2) / 2)
    assert result.mean_wait == pytest.approx(5.0)
    assert result.p99_wait == result.longest_wait == pytest.approx(10.0)
    assert result.starved == 1
    assert result.makespan == pytest.approx(20.0)
    assert result.utilisation == pytest.approx(1.0)


def test_an_sla_that_is_met_to_the_millisecond_is_met():
    job = WorkloadJob("read", "ocr", 10 * SECOND)
    exact = WorkloadRun(START, (job,), 50, START + 10 * SECOND, START + 10 * SECOND)
    assert simulate(Workload("exact", {"ocr": 1}, (exact,)), "fifo", planner("fifo")).hard_missed == 0


def test_a_comparison_counts_the_slas_and_tells_how_far_it_is():
    heard = []
    comparison = compare(two_runs(), ["fifo", "slack"], on_progress=lambda *progress: heard.append(progress))
    assert (comparison.runs, comparison.jobs) == (2, 2)
    assert (comparison.hard_slas, comparison.soft_slas) == (2, 1)
    assert [result.planner for result in comparison.results] == ["fifo", "slack"]
    assert heard == [("fifo", 2), ("slack", 2)]


def test_progress_adds_up_to_all_jobs():
    workload = generate(WorkloadSpec(name="any", jobs=1_700), 1)
    heard = []
    compare(workload, ["fifo"], on_progress=lambda _, jobs: heard.append(jobs))
    assert len(heard) >= 3
    assert sum(heard) == workload.job_count


def test_an_sla_of_a_job_counts_beside_that_of_its_run():
    first = WorkloadJob("read", "ocr", 10 * SECOND, (1,), None, START + 9 * SECOND, START + 10 * SECOND)
    second = WorkloadJob("read", "ocr", 10 * SECOND, (), 100, None, START + 15 * SECOND)
    run = WorkloadRun(START, (first, second), hard_sla_ms=START + 20 * SECOND)
    comparison = compare(Workload("own", {"ocr": 1}, (run,)), ["fifo"])
    (result,) = comparison.results
    assert (comparison.hard_slas, comparison.soft_slas) == (3, 1)
    assert (result.hard_missed, result.soft_missed) == (1, 1)
    assert result.weighted_tardiness == pytest.approx((0 + 0 + 5 * 2) / 3)


def test_a_table_has_a_line_for_every_planner_and_its_figures():
    text = StringIO()
    Console(file=text, width=160).print(render_table(compare(two_runs(), ["fifo", "static"])))
    lines = text.getvalue().splitlines()
    assert "2 runs, 2 jobs, 2 hard and 1 soft SLAs" in lines[0]
    fifo = next(line for line in lines if "fifo" in line)
    assert [cell.strip() for cell in fifo.strip("│").split("│")] == [
        "fifo", "1", "1", "4.0", "5.0", "10", "10", "0", "20", "100.0%",
    ]  # fmt: skip


def test_a_chart_is_one_page_with_a_bar_for_every_planner_and_nothing_to_fetch():
    page = render_chart([compare(two_runs(), ["fifo", "static", "slack"])])
    assert "http" not in page
    assert "<script" not in page
    assert "two &lt;runs&gt;" in page
    for svg in page.split("<svg")[1:]:
        drawn = ElementTree.fromstring("<svg" + svg[: svg.index("</svg>")] + "</svg>")
        assert len(drawn.findall("rect")) == 3
        assert drawn.findall("rect[@class='best']")


def test_a_workload_survives_being_recorded():
    workload = generate(WorkloadSpec(name="any", jobs=100), 1)
    assert from_records("any", workload.slots, to_records(workload)) == workload


def test_recorded_runs_are_brought_into_the_order_of_their_arrival():
    late, early = to_records(two_runs())[1] | {"arrival_ms": START + 5}, to_records(two_runs())[0]
    workload = from_records("two", {"ocr": 1}, [late, early])
    assert [run.arrival_ms for run in workload.runs] == [START, START + 5]


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"arrival_ms": 0}, "run 1 of 'bad' has no 'jobs'"),
        ({"arrival_ms": 0, "jobs": []}, "run 1 of 'bad' has no jobs"),
        ({"arrival_ms": 0, "jobs": [{"task": "t"}]}, "run 1 of 'bad' has no 'executor'"),
        (
            {"arrival_ms": 0, "jobs": [{"task": "t", "executor": "gpu", "runtime_ms": 1}]},
            "run 1 of 'bad' needs the executor 'gpu', which has no slots",
        ),
        (
            {"arrival_ms": 0, "jobs": [{"task": "t", "executor": "ocr", "runtime_ms": 1, "children": [0]}]},
            "run 1 of 'bad': the children of job 0 must stand behind it",
        ),
        (run_with(children=[1, 1]), "run 1 of 'bad': job 0 has a child twice"),
        (run_with(runtime_ms=-1), "run 1 of 'bad': jobs.0.runtime_ms: Input should be greater than or equal to 0"),
        (run_with(runtime_ms=1.5), "run 1 of 'bad': jobs.0.runtime_ms: Input should be a valid integer"),
        (run_with(runtime_ms=float("nan")), "run 1 of 'bad': jobs.0.runtime_ms: "),
        (run_with(colour="red"), "run 1 of 'bad': jobs.0.colour: Extra inputs are not permitted"),
        (run_with() | {"priority": 1000}, "run 1 of 'bad': priority: priority 1000 is neither"),
        (run_with() | {"hard_sla": 5}, "run 1 of 'bad': hard_sla: Extra inputs"),
        (run_with() | {"arrival_ms": 10**15}, "run 1 of 'bad': arrival_ms: Input should be less than"),
        (run_with() | {"soft_sla_ms": 6, "hard_sla_ms": 5}, "run 1 of 'bad': hard_sla_ms is before soft_sla_ms"),
        (run_with(soft_sla_ms=6, hard_sla_ms=5), "run 1 of 'bad': hard_sla_ms is before soft_sla_ms"),
    ],
)
def test_a_bad_record_is_refused_by_its_number(record, message):
    with pytest.raises(ConfigError, match=message):
        from_records("bad", {"ocr": 1}, [record])
