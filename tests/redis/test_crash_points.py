"""A process is killed at each of its Redis commands, before it is sent and after it is done; others bring the run home.

Whatever one process does, for each n: it dies at its n-th command, until it outlives all of them. Then a healthy
scheduler and a healthy worker go on. Every job is completed exactly once; of what was not accepted, nothing is left.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator

import pytest

from marie_celery.embedded import EmbeddedServer
from marie_celery.model.retry import FailureKind, RetryPolicy
from marie_celery.store.keys import attempt_id, job_id, split_attempt
from marie_celery.store.store import Store
from tests.redis.crash_nursery import MESSAGE, QUEUE, SLOTS, WIDE
from tests.redis.graph_kit import compiled, expand, work
from tests.redis.redis_runs import EXECUTOR, NOW, WORKER, begin, dag, dispatch, give_capacity, run_state

KILLED = -9
OTHER = "w2"
ROUNDS = 40

Doom = Callable[..., int]


@pytest.fixture(scope="module")
def nursery() -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "tests.redis.crash_nursery"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield process
        assert process.stdin is not None
        process.stdin.close()


@pytest.fixture
def doom(nursery: subprocess.Popen[str], server: EmbeddedServer) -> Doom:
    """Lets a process play a scene and die at a command. Returns its exit code."""

    def play(scene: str, command: int, when: str, *arguments: str) -> int:
        order = {"url": server.url, "scene": scene, "command": command, "when": when, "arguments": arguments}
        assert nursery.stdin is not None and nursery.stdout is not None
        nursery.stdin.write(json.dumps(order) + "\n")
        nursery.stdin.flush()
        return int(nursery.stdout.readline())

    return play


def each_command(
    store: Store, doom: Doom, scene: str, when: str, prepare: Callable[[Store], list[str]], *, commands: int
) -> Iterator[list[str]]:
    """Yields after each death, and once more when there was no command left to die at."""
    for command in range(1, commands + 2):
        store.client.flushall()
        store.now_ms = NOW
        arguments = prepare(store)
        assert doom(scene, command, when, *arguments) == (KILLED if command <= commands else 0)
        yield arguments


def bring_home(store: Store) -> None:
    """A healthy scheduler and a healthy worker. What the dead one held comes back by its lease."""
    for _ in range(ROUNDS):
        store.renew(OTHER, {}, SLOTS)
        store.promote()
        store.reap()
        expand(store)
        while store.advance():
            pass
        jobs = [job.job_id for room in store.peek(2, 10).rooms for job in room.candidates]
        store.dispatch([MESSAGE], [(job, 1) for job in jobs])
        while text := store.client.rpop(QUEUE):
            attempt = json.loads(text)
            job, token = split_attempt(attempt)
            if store.start(job, token, OTHER, attempt):
                assert store.finish(job, token, OTHER, "1")
        assert store.now_ms is not None
        store.now_ms += 4_000


def ends(store: Store) -> Counter[tuple[str, str]]:
    """How often each job came to which end."""
    found: Counter[tuple[str, str]] = Counter()
    for _, event in store.client.xrange(store.keys.events):
        if "job" in event and event["to"] in ("completed", "failed", "cancelled", "skipped", "expired"):
            found[event["job"], event["to"]] += 1
    return found


def assert_all_done_once(store: Store, run: str) -> None:
    assert run_state(store, run) == "completed"
    total = int(store.client.hget(store.keys.run(run), "jobs"))
    assert ends(store) == {(job_id(run, number), "completed"): 1 for number in range(total)}
    assert_nothing_is_held(store, run)


def assert_nothing_is_held(store: Store, run: str) -> None:
    assert store.reconcile(run) == {}
    left = (store.keys.slots(EXECUTOR), store.keys.delayed, store.keys.held, store.keys.staging, store.keys.advance)
    assert not store.client.exists(*left)


def one_run(store: Store) -> str:
    give_capacity(store)
    return store.submit(dag(WIDE, policy=RetryPolicy(retry_delay=0)))


def sent(store: Store) -> list[str]:
    """A run whose first job is on its way."""
    job = job_id(one_run(store), 0)
    return [attempt_id(job, dispatch(store, job, [MESSAGE]))]


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize(("scene", "commands"), [("dispatch", 2), ("publish", 3)])
def test_a_scheduler_dies_while_it_looks_claims_and_sends(
    real_store: Store, doom: Doom, scene: str, commands: int, when: str
) -> None:
    for (run,) in each_command(real_store, doom, scene, when, lambda store: [one_run(store)], commands=commands):
        bring_home(real_store)
        assert_all_done_once(real_store, run)


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize(("scene", "commands"), [("work", 3), ("fail", 2)])
def test_a_worker_dies_while_it_starts_renews_and_reports(
    real_store: Store, doom: Doom, scene: str, commands: int, when: str
) -> None:
    for (attempt,) in each_command(real_store, doom, scene, when, sent, commands=commands):
        bring_home(real_store)
        assert_all_done_once(real_store, attempt[:13])


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("items", [0, 5])
def test_a_scheduler_dies_while_it_makes_the_items_of_a_map(
    real_store: Store, doom: Doom, items: int, when: str
) -> None:
    def prepare(store: Store) -> list[str]:
        give_capacity(store)
        return [store.submit(compiled(lambda: work.map(list(range(items)))))]

    for (run,) in each_command(real_store, doom, "expand", when, prepare, commands=1 + max(1, (items + 1) // 2)):
        bring_home(real_store)
        assert_all_done_once(real_store, run)
        assert real_store.client.hget(real_store.keys.results(run), "0") == f"[{','.join(['1'] * items)}]"


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_client_dies_in_the_middle_of_a_submission(real_store: Store, doom: Doom, when: str) -> None:
    accepted = []
    for _ in each_command(real_store, doom, "submit", when, lambda store: [], commands=3):
        bring_home(real_store)
        runs = real_store.client.zrange(real_store.keys.runs, 0, -1)
        accepted.append(bool(runs))
        if runs:
            assert_all_done_once(real_store, runs[0])
        else:
            assert not list(real_store.client.scan_iter(f"{real_store.keys.prefix}run:*"))
            assert not list(real_store.client.scan_iter(f"{real_store.keys.prefix}job:*"))
    not_sent = 3 if when == "before" else 2
    assert accepted == [False] * not_sent + [True] * (4 - not_sent), "only the last call accepts it"


def failed_run(store: Store) -> list[str]:
    """A run whose first job failed for good, so nothing of it was done."""
    run = one_run(store)
    job = job_id(run, 0)
    store.fail(job, begin(store, job), WORKER, FailureKind.FAILURE, {}, give_up=True)
    while store.advance():
        pass
    store.client.delete(store.keys.events)
    assert run_state(store, run) == "failed"
    return [run]


@pytest.mark.parametrize("when", ["before", "after"])
def test_an_operator_dies_in_the_middle_of_a_replay(real_store: Store, doom: Doom, when: str) -> None:
    replayed = []
    for (run,) in each_command(real_store, doom, "replay", when, failed_run, commands=5):
        bring_home(real_store)
        replayed.append(run_state(real_store, run) == "completed")
        if replayed[-1]:
            assert_all_done_once(real_store, run)
        else:
            assert run_state(real_store, run) == "failed" and not ends(real_store)
    not_sent = 5 if when == "before" else 4
    assert replayed == [False] * not_sent + [True] * (6 - not_sent), "only the last call replays it"


def lost_worker(store: Store) -> list[str]:
    """A worker at work on a job, which is never heard of again, and an abandoned submission."""
    run = one_run(store)
    begin(store, job_id(run, 0))
    store.call("submit", "", 0, 1_000, "", "", "", 5_000, 0, 2, "dag", "d", "roots", "0", 0, 0, 0, "[]")
    return [run]


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_scheduler_dies_while_it_recovers_what_others_left(real_store: Store, doom: Doom, when: str) -> None:
    for (run,) in each_command(real_store, doom, "recover", when, lost_worker, commands=2):
        real_store.now_ms = NOW + 61_000
        bring_home(real_store)
        assert_all_done_once(real_store, run)


@pytest.mark.parametrize("when", ["before", "after"])
def test_an_operator_dies_in_the_middle_of_a_large_cancel(real_store: Store, doom: Doom, when: str) -> None:
    cancelled = []
    for (run,) in each_command(real_store, doom, "cancel", when, lambda store: [one_run(store)], commands=3):
        bring_home(real_store)
        cancelled.append(run_state(real_store, run) == "cancelled")
        if cancelled[-1]:
            assert ends(real_store) == {(job_id(run, number), "cancelled"): 1 for number in range(len(WIDE))}
            assert_nothing_is_held(real_store, run)
        else:
            assert_all_done_once(real_store, run)
    assert cancelled == [when == "after", True, True, True], "the first call cancels it, whoever goes on with it"
