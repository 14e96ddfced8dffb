"""Celery's canvas, submitted to us: the results that Celery itself gives, on the same workers."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from celery import chain, chord, chunks, group, xmap, xstarmap
from waiting import eventually

from marie_celery import DagError, RunFailed, WorkState
from marie_celery.cluster import Cluster

HERE = Path(__file__).parent
QUEUES = "celery,side,ours"


@pytest.fixture(scope="module")
def canvas(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    leases = {"MARIE_LEASE_TTL_SECONDS": "1.5", "MARIE_RUN_TTL_SECONDS": "3", "MARIE_CONFIG": ""}
    path = os.pathsep.join([str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])])
    log = tmp_path_factory.mktemp("logs")
    with (
        Cluster("canvas_app", environment={**leases, "PYTHONPATH": path}, log=log) as cluster,
        pytest.MonkeyPatch.context() as patch,
    ):
        for name in ("CELERY_BROKER_URL", "MARIE_REDIS_URL", *leases):
            patch.setenv(name, cluster.environment[name])
        cluster.start_scheduler()
        cluster.start_celery("worker", ["worker", "-Q", QUEUES, "-c", "3", "-n", "canvas@%h", "-l", "warning"])
        sys.modules.pop("canvas_app", None)
        module = importlib.import_module("canvas_app")
        yield module
        module.app.backend.result_consumer.stop()
        module.app.close()


@pytest.fixture(autouse=True)
def its_app_is_the_current_one(canvas: ModuleType) -> None:
    canvas.app.set_current()


Make = Callable[[ModuleType], Any]

CANVASES: dict[str, Make] = {
    "a task": lambda c: c.add.s(2, 3),
    "a chain": lambda c: chain(c.add.s(2, 2), c.add.s(4), c.mul.s(3)),
    "a chain by pipes": lambda c: c.add.s(2, 2) | c.add.s(4) | c.mul.s(3),
    "a chain of one": lambda c: chain(c.add.s(2, 2)),
    "an immutable step": lambda c: c.add.s(2, 2) | c.add.si(4, 4) | c.mul.s(2),
    "named arguments": lambda c: c.same.s(1, a=2) | c.same.s(3, b=4),
    "a group": lambda c: group(c.add.s(number, number) for number in range(5)),
    "a group of one": lambda c: group(c.add.s(1, 1)),
    "a group of groups": lambda c: group(group(c.add.s(1, 1), c.add.s(2, 2)), c.add.s(3, 3)),
    "a group of chains": lambda c: group(c.add.s(1, 1) | c.mul.s(10), c.add.s(2, 2) | c.mul.s(10)),
    "a chord": lambda c: chord((c.add.s(number, number) for number in range(5)), c.xsum.s()),
    "a chord with an immutable body": lambda c: chord([c.add.s(1, 1), c.add.s(2, 2)], c.add.si(7, 7)),
    "a group upgraded to a chord": lambda c: group(c.add.s(1, 1), c.add.s(2, 2)) | c.xsum.s(),
    "a chord in a chain": lambda c: c.add.s(1, 1) | group(c.add.s(1), c.add.s(2)) | c.xsum.s() | c.mul.s(5),
    "a chain of chords": lambda c: (
        chord([c.add.s(1, 1), c.add.s(2, 2)], c.xsum.s()) | chord([c.add.s(1), c.add.s(2)], c.xsum.s())
    ),
    "a chord in a chord": lambda c: chord(
        [chord([c.add.s(1, 1), c.add.s(2, 2)], c.xsum.s()), c.add.s(3, 3)], c.xsum.s()
    ),
    "a chord whose body is a chain": lambda c: chord([c.add.s(1, 1), c.add.s(2, 2)], c.xsum.s() | c.mul.s(2)),
    "a chord whose body is a group": lambda c: chord([c.add.s(1, 1), c.add.s(2, 2)], group(c.same.s(1), c.same.s(2))),
    "a chord whose header is a chain": lambda c: chord([c.add.s(1, 1) | c.mul.s(3), c.add.s(2, 2)], c.same.s()),
    "a chord whose header ends in a group": lambda c: chord(
        [c.add.s(1, 1) | group(c.add.s(1), c.add.s(2)), c.add.s(3, 3)], c.same.s()
    ),
    "a chain that ends in a group": lambda c: c.add.s(1, 1) | group(c.add.s(1), c.add.s(2)),
    "a group of a chain that ends in a group": lambda c: group(c.add.s(1, 1) | group(c.add.s(1), c.add.s(2))),
    "a group after a group": lambda c: group(c.add.s(1, 1), c.add.s(2, 2)) | group(c.same.s(1), c.same.s(2)),
    "a group of one in a chain": lambda c: chain(group([c.add.s(1, 1)]), c.same.s()),
    "an empty group in a chain": lambda c: chain(c.add.s(1, 1), group([]), c.same.s()),
    "an empty chord": lambda c: chord([], c.xsum.s()),
    "map": lambda c: c.xsum.map([[1, 2], [3, 4]]),
    "starmap": lambda c: c.add.starmap([(1, 2), (3, 4)]),
    "map before a task": lambda c: c.xsum.map([[1, 2], [3, 4]]) | c.xsum.s(),
    "chunks": lambda c: c.add.chunks([(number, number) for number in range(7)], 3),
    "chunks as a group in a chord": lambda c: chord(
        c.add.chunks([(number, number) for number in range(7)], 3).group(), c.xsum.s()
    ),
    "another queue": lambda c: group(c.routed.s(), c.add.s(1, 1).set(queue="side")),
    "annotations that nobody knows": lambda c: c.annotated.s("2026-11-18", 1),
    "annotations that are not true": lambda c: c.claims.s(3) | c.add.s(4),
    "a task that tries again": lambda c: c.add.s(1, 1) | c.third_time.s(),
    "tasks of ours": lambda c: chord([c.plus.s(1), c.plus.s(2, y=5)], c.total.s()) | c.plus.s(),
    "ours and Celery's": lambda c: group(c.plus.s(1), c.add.s(2, 2)) | c.total.s() | c.mul.s(2),
    "maps of ours": lambda c: group(xmap(c.plus.s(), [1, 2]), xstarmap(c.plus.s(), [(1, 2)]), chunks_of(c.plus.s())),
}


def chunks_of(signature: Any) -> Any:
    return chunks(signature, [(1, 2), (3, 4)], 1).group()


@pytest.mark.parametrize("name", CANVASES)
def test_a_canvas_yields_what_celery_yields(canvas: ModuleType, name: str) -> None:
    expected = CANVASES[name](canvas).apply_async().get(timeout=60)
    assert canvas.marie.submit(CANVASES[name](canvas)).result(timeout=60) == expected


def test_arguments_given_at_submit_stand_first_as_with_delay(canvas: ModuleType) -> None:
    made = chain(canvas.add.s(4), canvas.mul.s(8))
    expected = made.delay(4).get(timeout=60)
    assert canvas.marie.submit(made, 4).result(timeout=60) == expected == 64


def told(canvas: ModuleType, number: int) -> list[str]:
    client = canvas.marie.store.client
    found: list[str] = eventually(lambda: client.llen("told") >= number and client.lrange("told", 0, -1))
    client.delete("told")
    return found


def states(run: Any) -> dict[str, str]:
    return {job.name: job.state.value for job in run.jobs()}


def test_a_callback_gets_the_result_and_leaves_it_as_it_is(canvas: ModuleType) -> None:
    run = canvas.marie.submit(canvas.add.s(2, 2).set(link=canvas.note.s()) | canvas.mul.s(3))
    assert run.result(timeout=60) == 12
    assert told(canvas, 1) == ["4"]


def test_an_error_callback_is_told_what_failed(canvas: ModuleType) -> None:
    made = chain(canvas.add.s(1, 1), canvas.broken.s(), canvas.mul.s(2))
    run = canvas.marie.submit(made.on_error(canvas.on_error.s()))
    with pytest.raises(RunFailed, match="ValueError: no luck"):
        run.result(timeout=60)
    assert told(canvas, 1) == ["canvas_app.broken ValueError no luck"]
    assert states(run) == {"add": "completed", "broken": "failed", "mul": "skipped", "errback": "completed"}


def test_an_error_callback_with_one_parameter_gets_the_id(canvas: ModuleType) -> None:
    run = canvas.marie.submit(canvas.broken.s().on_error(canvas.on_error_by_id.s().set(retry_limit=1)))
    run.wait(timeout=60)
    assert told(canvas, 1) == [f"{run.id}-000000"]


def test_an_error_callback_is_not_told_of_what_stood_before_it(canvas: ModuleType) -> None:
    run = canvas.marie.submit(canvas.broken.s() | canvas.add.s(1).on_error(canvas.on_error.s()))
    run.wait(timeout=60)
    assert states(run) == {"broken": "failed", "add": "skipped", "errback": "skipped"}


def test_an_error_callback_without_an_error_does_not_run(canvas: ModuleType) -> None:
    run = canvas.marie.submit(canvas.add.s(1, 1).on_error(canvas.on_error.s()))
    assert run.result(timeout=60) == 2
    assert states(run) == {"add": "completed", "errback": "skipped"}


def test_the_error_callback_of_a_body_is_told_of_an_error_in_the_header(canvas: ModuleType) -> None:
    body = canvas.xsum.s().on_error(canvas.on_error.s())
    run = canvas.marie.submit(chord([canvas.add.s(1, 1), canvas.broken.s()], body))
    with pytest.raises(RunFailed):
        run.result(timeout=60)
    assert told(canvas, 1) == ["canvas_app.broken ValueError no luck"]


def test_an_error_in_the_header_of_an_inner_chord_ends_the_whole(canvas: ModuleType) -> None:
    inner = chord([canvas.broken.s(), canvas.add.s(1, 1)], canvas.xsum.s())
    run = canvas.marie.submit(chord([inner, canvas.add.s(2, 2)], canvas.xsum.s()) | canvas.mul.s(2))
    with pytest.raises(RunFailed) as failed:
        run.result(timeout=60)
    assert failed.value.errors == {"broken": "ValueError: no luck"}
    assert all(WorkState(state).terminal for state in states(run).values())


def test_a_chord_does_not_depend_on_results_that_celery_lets_expire(canvas: ModuleType) -> None:
    """Its header's results are part of the run, and go with it."""
    before = canvas.app.conf.result_expires
    canvas.app.conf.result_expires = 1
    try:
        run = canvas.marie.submit(chord([canvas.third_time.s(1), canvas.third_time.s(2)], canvas.same.s()))
        assert run.result(timeout=60) == [[[[1, 2], [2, 2]]], {}]
        assert not [key for key in canvas.marie.store.client.scan_iter("celery-task-meta-*") if run.id in key]
    finally:
        canvas.app.conf.result_expires = before


def test_a_plain_task_is_tried_again_only_as_often_as_it_says(canvas: ModuleType) -> None:
    run = canvas.marie.submit(group(canvas.never.s(), canvas.broken.s()))
    run.wait(timeout=60)
    assert {job.name: (job.state, job.attempt) for job in run.jobs()} == {
        "never": (WorkState.FAILED, 2),
        "broken": (WorkState.FAILED, 1),
    }
    assert run.marie.reader.failed_jobs(run.id)["never"] == "KeyError: 'never'"


def test_what_is_set_on_a_canvas_is_said_of_the_run_and_on_a_task_of_its_job(canvas: ModuleType) -> None:
    made = chain(canvas.add.s(1, 1).set(priority="high", name="first"), canvas.mul.s(2))
    run = canvas.marie.submit(made.set(priority=7, key="canvas-1", hard_sla="1h"))
    assert run.result(timeout=60) == 4
    status = run.status()
    assert (status.dag, status.priority, status.key) == ("chain", 7, "canvas-1")
    assert status.hard_ms is not None
    assert [job.name for job in run.jobs()] == ["first", "mul"]
    client, keys = canvas.marie.store.client, canvas.marie.store.keys
    assert [client.hget(keys.job(job.job_id), "priority") for job in run.jobs()] == ["80", "7"]


def test_a_canvas_that_cannot_be_carried_is_refused_with_all_its_problems(canvas: ModuleType) -> None:
    unknown = canvas.app.signature("nobody.knows")
    made = chain(unknown, canvas.add.s(1).set(countdown=10), canvas.mul.s(2).set(key="k", queue="nowhere"))
    with pytest.raises(DagError) as refused:
        canvas.marie.submit(made)
    assert list(refused.value.problems) == [
        "the app has no task 'nobody.knows': no worker could run it",
        "canvas_app.add: 'countdown' cannot be kept: jobs start when a slot is free; a schedule starts runs later",
        "canvas_app.mul: 'key' can only be said of the whole canvas",
    ]


def test_a_task_with_a_rate_limit_is_refused(canvas: ModuleType) -> None:
    with pytest.raises(DagError, match=r"canvas_app\.rarely has a rate_limit"):
        canvas.marie.submit(canvas.rarely.s())


def test_a_queue_that_no_task_has_is_an_unknown_executor(canvas: ModuleType) -> None:
    with pytest.raises(DagError, match="executor 'nowhere' is unknown; there are celery,"):
        canvas.marie.submit(canvas.add.s(1, 1).set(queue="nowhere"))


def test_plain_messages_of_adopted_tasks_stay_plain(canvas: ModuleType) -> None:
    assert canvas.third_time.delay(5).get(timeout=60) == [5, 2]
    assert canvas.plus.delay(1).get(timeout=60) == 2
