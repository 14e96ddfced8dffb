"""The relay on a real prefork worker: each job is seen by Celery as if it had come by a message of its own.

Also where nobody looks, and Celery's trace is left out.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from kombu import Connection
from waiting import eventually

from marie_celery import RunFailed, RunState
from marie_celery.cluster import Cluster
from marie_celery.store.keys import job_id

HERE = Path(__file__).parent
LEASES = {"MARIE_LEASE_TTL_SECONDS": "1.5", "MARIE_RUN_TTL_SECONDS": "3", "MARIE_CONFIG": ""}
LEASES |= {"MARIE_RELAY_SECONDS": "5"}


WATCHED, UNWATCHED = "watched", "unwatched"


@pytest.fixture(scope="module", params=[WATCHED, UNWATCHED])
def app(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    settings = LEASES | ({"RELAY_UNWATCHED": "1"} if request.param == UNWATCHED else {})
    level = "warning" if request.param == UNWATCHED else "info"
    path = os.pathsep.join([str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])])
    log = tmp_path_factory.mktemp("logs")
    with (
        Cluster("relay_app", environment={**settings, "PYTHONPATH": path}, log=log) as cluster,
        pytest.MonkeyPatch.context() as patch,
    ):
        for name in ("CELERY_BROKER_URL", "MARIE_REDIS_URL", *settings):
            patch.setenv(name, cluster.environment[name])
        patch.syspath_prepend(str(HERE))
        import relay_app

        # The module is there once; its servers are not.
        relay_app.app.conf.broker_url = cluster.environment["CELERY_BROKER_URL"]
        relay_app.marie.forget()
        cluster.start_scheduler()
        cluster.start_celery("worker", ["worker", "-Q", "line", "-c", "1", "-E", "-n", "w@here", "-l", level])
        eventually(lambda: any(view.capacity for view in relay_app.marie.store.capacity()), seconds=60)
        yield relay_app


@pytest.fixture(autouse=True)
def its_app_is_the_current_one(app: ModuleType) -> None:
    app.app.set_current()


def seen(app: ModuleType, what: str, run: str) -> list[str]:
    found = app.marie.store.client.lrange(f"seen:{what}", 0, -1)
    return [each for each in found if each.startswith(run)]


def attempts(run: str, count: int) -> list[str]:
    return [f"{job_id(run, number)}.1" for number in range(count)]


def messages_sent(app: ModuleType) -> int:
    return int(app.marie.store.client.info("commandstats")["cmdstat_lpush"]["calls"])


def is_watched() -> bool:
    return "RELAY_UNWATCHED" not in os.environ


def test_celery_s_trace_is_there_where_somebody_looks(app: ModuleType) -> None:
    assert app.traced.submit().result(timeout=30) == [True, is_watched()]


def test_each_job_has_its_signals_in_order(app: ModuleType) -> None:
    if not is_watched():
        pytest.skip("nobody listens")
    run = app.chain.submit(20)
    pids = run.result(timeout=30)
    wanted = attempts(run.id, 20)
    assert len(set(pids)) == 1
    eventually(lambda: len(seen(app, "postrun", run.id)) == 20)
    assert seen(app, "prerun", run.id) == seen(app, "success", run.id) == wanted
    assert seen(app, "postrun", run.id) == [f"{each} SUCCESS" for each in wanted]


def test_one_message_brought_them_all(app: ModuleType) -> None:
    # A worker that has just started may take longer than the lease of a message, which is then sent again.
    app.chain.submit(1).result(timeout=30)
    before = messages_sent(app)
    app.chain.submit(50).result(timeout=30)
    assert messages_sent(app) - before == 1


def test_flower_sees_each_job_from_its_start_to_its_end(app: ModuleType) -> None:
    """Flower keeps what `State` makes of the events."""
    state = app.app.events.State()
    kinds: dict[str, list[str]] = {}

    def take(event: dict[str, Any]) -> None:
        state.event(event)
        kinds.setdefault(event.get("uuid", ""), []).append(event["type"])

    with Connection(os.environ["CELERY_BROKER_URL"]) as connection:
        capture = app.app.events.Receiver(connection, handlers={"*": take}).itercapture(timeout=20, wakeup=False)
        next(capture)
        run = app.chain.submit(10)
        wanted = attempts(run.id, 10)
        for _ in capture:
            if all(kinds.get(each, [])[-1:] == ["task-succeeded"] for each in wanted):
                break
    assert kinds[wanted[0]] == ["task-received", "task-started", "task-succeeded"], "a message brought it"
    for number, each in enumerate(wanted):
        seen = state.tasks[each]
        assert kinds[each][-2:] == ["task-started", "task-succeeded"]
        assert (seen.name, seen.state, seen.root_id, seen.retries) == ("relay_app.step", "SUCCESS", run.id, 0)
        assert seen.args == ("[]" if number == 0 else f'[{{"$ref":{number - 1}}}]')
        assert seen.result == str(run.result()[number])
        assert seen.started and seen.runtime > 0 and seen.worker.hostname == "w@here"


def test_flower_is_told_while_a_long_job_runs(app: ModuleType, tmp_path: Path) -> None:
    """That the one before has ended, and that this one has begun."""
    marker = tmp_path / "running"
    kinds: dict[str, list[str]] = {}

    def take(event: dict[str, Any]) -> None:
        kinds.setdefault(event.get("uuid", ""), []).append(event["type"])

    with Connection(os.environ["CELERY_BROKER_URL"]) as connection:
        capture = app.app.events.Receiver(connection, handlers={"*": take}).itercapture(timeout=20, wakeup=False)
        next(capture)
        run = app.stoppable.submit(str(marker))
        first, long, last = attempts(run.id, 3)
        for _ in capture:
            if "task-succeeded" in kinds.get(first, []) and kinds.get(long):
                break
        assert marker.exists(), "it runs"
        assert kinds[long] == ["task-started"]
        marker.unlink()
        for _ in capture:
            if "task-succeeded" in kinds.get(last, []):
                break
    assert run.wait(timeout=30) is RunState.COMPLETED
    assert kinds[first] == ["task-received", "task-started", "task-succeeded"], "once"
    assert kinds[long] == kinds[last] == ["task-started", "task-succeeded"]


def test_a_failure_in_a_relay_is_the_failure_of_its_job(app: ModuleType) -> None:
    run = app.failing.submit()
    with pytest.raises(RunFailed) as failed:
        run.result(timeout=30)
    assert failed.value.errors == {"fail": "ValueError: on purpose"}
    eventually(lambda: seen(app, "failure", run.id) == [f"{job_id(run.id, 2)}.1 on purpose"])
    if is_watched():
        eventually(lambda: seen(app, "postrun", run.id)[-1:] == [f"{job_id(run.id, 2)}.1 FAILURE"])


def test_a_task_without_relay_comes_by_a_message_of_its_own(app: ModuleType) -> None:
    before = messages_sent(app)
    assert app.lonely.submit().wait(timeout=30) is RunState.COMPLETED
    assert messages_sent(app) - before == 2


def test_a_process_that_dies_takes_the_job_with_it_that_it_had_then(app: ModuleType, tmp_path: Path) -> None:
    marker = tmp_path / "died"
    run = app.dying.submit(str(marker))
    first, alive, last = run.result(timeout=60)
    assert alive == "alive"
    assert first != last, "the rest ran in another process"
    jobs = {job.job_id: job for job in run.jobs()}
    assert jobs[marker.read_text()].attempt == 2
    assert [job.attempt for job in jobs.values()] == [1, 1, 2, 1], "the job that the message had brought was done"
    # Told by the parent process at once, not by the end of a lease.
    crashes = app.marie.store.client.hget(app.marie.store.keys.job(marker.read_text()), "crashes")
    assert crashes == "1"


def test_a_cancel_reaches_the_job_that_runs_now(app: ModuleType, tmp_path: Path) -> None:
    marker = tmp_path / "running"
    run = app.stoppable.submit(str(marker))
    eventually(marker.exists)
    assert run.cancel()
    assert run.wait(timeout=30) is RunState.CANCELLED
    store = app.marie.store
    eventually(lambda: store.client.zcard(store.keys.slots("line")) == 0)
    assert app.chain.submit(3).wait(timeout=30) is RunState.COMPLETED
    assert marker.exists(), "the process was ended; it had no chance to see that the file is gone"
