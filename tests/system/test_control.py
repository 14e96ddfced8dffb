"""Orders to a scheduler process that has its hands full: they are answered at once, and carried out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from statistics import median
from time import perf_counter
from types import ModuleType
from typing import Any

import pytest
from waiting import eventually

from marie_celery import MarieError, Run, RunState
from marie_celery.cluster import Cluster
from marie_celery.model.retry import RetryPolicy
from marie_celery.scheduler.policy import BY_SETTINGS, policy_of
from marie_celery.store.records import NewJob, NewRun
from marie_celery.store.store import Store

LINE = "line"
WAITING = 50_000
ASKED = 60
LIMIT_MS = 100.0


@pytest.fixture(scope="module")
def store(cluster: Cluster, dags: ModuleType) -> Iterator[Store]:
    """Two slots that never rest, and a crowd that waits for them."""
    cluster.start_worker(LINE, slots=2, name="busy", options=["-l", "warning"])
    made: Store = dags.marie.store
    run = made.submit(crowd())
    eventually(lambda: not made.client.llen(made.keys.advance), seconds=60)
    eventually(lambda: int(made.client.hget(made.keys.run(run), "completed") or 0) > 0, seconds=60)
    assert waiting(made) > 0.9 * WAITING
    yield made
    made.cancel_run(run)
    eventually(lambda: waiting(made) == 0 and not made.client.llen(made.keys.advance), seconds=60)
    made.replan(policy_of(made.settings.planner, made.settings, BY_SETTINGS))
    process = cluster.processes.pop("busy")
    process.terminate()
    process.wait(timeout=30)


def crowd() -> NewRun:
    fields = {"task": "system_app.step", "executor": LINE, "level": "0", "spec": "0"}
    jobs = [NewJob({**fields, "name": f"s{n}", "priority": str(n % 90)}, "[]\n{}") for n in range(WAITING)]
    run = {"dag": "crowd", "priority": "50", "roots": f"0-{WAITING - 1}"}
    return NewRun(run, {"0": RetryPolicy().model_dump_json()}, [LINE], jobs)


def waiting(store: Store) -> int:
    keys = store.keys
    with store.client.pipeline() as pipe:  # at one moment: jobs move from line to line
        for key in (keys.ready(LINE), keys.new(LINE), keys.stale_ready(LINE), keys.stale_new(LINE)):
            pipe.zcard(key)
        return sum(pipe.execute())


def scheduler(store: Store) -> str:
    (view,) = store.schedulers()
    return view.id


def times_ms(ask: Callable[[int], Any], times: int = ASKED) -> list[float]:
    taken = []
    for number in range(times):
        begin = perf_counter()
        ask(number)
        taken.append((perf_counter() - begin) * 1000)
    return taken


def tell(record_property: Callable[[str, object], None], what: str, taken: list[float]) -> None:
    text = f"median {median(taken):.1f} ms, slowest {max(taken):.1f} ms of {len(taken)}"
    record_property(what, text)
    print(f"{what}: {text}")



def test_an_order_is_answered_at_once_while_many_jobs_wait(
    store: Store, record_property: Callable[[str, object], None]
) -> None:
    target, before = scheduler(store), waiting(store)
    taken = times_ms(lambda _: store.command(target, "ping"))
    tell(record_property, "ping", taken)
    assert median(taken) < LIMIT_MS
    assert waiting(store) < before, "nothing was dispatched meanwhile"


def test_a_swap_of_the_planner_is_answered_at_once_and_so_are_orders_while_jobs_are_ranked_anew(
    store: Store, record_property: Callable[[str, object], None]
) -> None:
    target = scheduler(store)
    swaps, pings = [], []
    for name in ("slack", "global") * 3:
        swaps += times_ms(lambda _, name=name: store.command(target, "planner", name=name), times=1)
        pings += times_ms(lambda _: store.command(target, "ping"), times=5)
        assert store.policy()["name"] == name
        eventually(lambda: not store.client.llen(store.keys.advance), seconds=60)
    tell(record_property, "planner", swaps)
    tell(record_property, "ping while ranking", pings)
    assert median(swaps) < LIMIT_MS
    assert median(pings) < LIMIT_MS


@pytest.fixture
def paused(store: Store) -> Iterator[str]:
    """A scheduler that was told to pause, and whose last jobs have ended."""
    target = scheduler(store)
    assert store.command(target, "pause") == "pause"
    eventually(lambda: not store.client.zcard(store.keys.slots(LINE)))
    yield target
    assert store.command(target, "resume") == "resume"


def test_a_paused_scheduler_sends_nothing_until_it_resumes(store: Store, dags: ModuleType, paused: str) -> None:
    run: Run = dags.single.submit("add", [1])
    before = waiting(store)
    assert store.command(paused, "ping") == "pong"
    assert (waiting(store), run.status().state) == (before, RunState.CREATED)
    store.command(paused, "resume")
    assert run.wait(timeout=30) is RunState.COMPLETED
    eventually(lambda: waiting(store) < before)


def test_a_paused_scheduler_goes_on_with_all_else(store: Store, dags: ModuleType, paused: str) -> None:
    before = waiting(store)
    run: Run = dags.chains.submit([[{}] for _ in range(1500)])
    eventually(lambda: waiting(store) == before + 1500)
    run.cancel()
    assert run.wait(timeout=30) is RunState.CANCELLED


def test_reprioritise_is_an_order_too(store: Store) -> None:
    last = store.client.zrange(store.keys.ready(LINE), -1, -1)[0]
    assert store.command(scheduler(store), "reprioritise", id=last, priority="critical") is True
    eventually(lambda: store.client.hget(store.keys.job(last), "state") == "completed")


def test_the_graph_of_a_busy_scheduler_can_be_seen(store: Store) -> None:
    graph = store.command(scheduler(store), "graph")
    assert graph["nodes"]["dispatcher"]["messages"] > 0
    assert graph["errors"] == 0


@pytest.mark.parametrize(
    ("verb", "arguments", "words"),
    [
        ("dance", {}, "there is no order 'dance'; there are ping, graph, pause"),
        ("planner", {"name": "urgent"}, "there is no planner 'urgent'"),
        ("reprioritise", {"id": "0" * 13, "priority": 1}, "there is no run"),
        ("reprioritise", {"id": "0" * 13, "priority": 1000}, "priority 1000"),
        ("ping", {"colour": "red"}, "colour"),
    ],
)
def test_an_order_that_cannot_be_carried_out_is_an_error_that_says_why(
    store: Store, verb: str, arguments: dict[str, Any], words: str
) -> None:
    with pytest.raises(MarieError, match=words):
        store.command(scheduler(store), verb, **arguments)


def test_a_scheduler_that_is_not_there_gives_no_answer(store: Store) -> None:
    with pytest.raises(TimeoutError, match="gave no answer to 'ping'"):
        store.command("nobody", "ping", timeout=0.05)


def test_shutdown_ends_the_process_and_only_that_one(cluster: Cluster, store: Store) -> None:
    kept = scheduler(store)
    process = cluster.start_scheduler("second")
    (second,) = eventually(lambda: [view.id for view in store.schedulers() if view.id != kept])
    assert store.command(second, "shutdown") == "stopping"
    assert process.wait(timeout=30) == 0
    del cluster.processes["second"]
    eventually(lambda: scheduler(store) == kept)
    assert store.command(kept, "ping") == "pong"
