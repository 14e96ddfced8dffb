"""Cron nodes in real graphs on a real server: from the calendar to runs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from celery import Celery

from marie_celery import Marie, dag, task
from marie_celery.authoring.dag import DAGS
from marie_celery.clock import VirtualClock
from marie_celery.embedded import EmbeddedServer
from marie_celery.errors import ServerError
from marie_celery.flow import LATEST, Scheduler
from marie_celery.model.states import RunState
from marie_celery.scheduler.agenda import Agenda
from marie_celery.scheduler.cron import Cron
from marie_celery.schedules import Schedule, schedule
from marie_celery.schedules.desk import Desk
from marie_celery.schedules.firing import Submit
from marie_celery.schedules.registry import SCHEDULES
from marie_celery.store.schedules import Scheduling
from marie_celery.store.store import Store

MINUTE = 60_000
NOON = 1_767_268_800_000  # 2026-01-01 12:00 UTC
NAME = "report"


class ScheduleStore(Store, Scheduling):
    """The store with schedules."""


@pytest.fixture(scope="module")
def server() -> Iterator[EmbeddedServer]:
    with EmbeddedServer() as running:
        yield running


@pytest.fixture
def marie(server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[Marie]:
    """An app with one dag, bound to an empty server."""
    monkeypatch.setenv("MARIE_REDIS_URL", server.url)
    for name in ("MARIE_CONFIG", "MARIE_LEASE_TTL_SECONDS", "MARIE_RUN_TTL_SECONDS"):
        monkeypatch.delenv(name, raising=False)
    dags, schedules = dict(DAGS), dict(SCHEDULES)
    SCHEDULES.clear()
    app = Celery("calendar", broker=server.url, set_as_current=False)
    made = Marie(app)

    @task(executor="main", app=app)
    def write(title: str) -> str:
        return title

    @dag(name="report", app=app)
    def report(title: str = "daily") -> Any:
        if title == "impossible":
            raise LookupError("no such report")
        return write(title)

    made.store.client.flushall()
    yield made
    made.store.client.close()
    for registry, before in ((DAGS, dags), (SCHEDULES, schedules)):
        registry.clear()
        registry.update(before)  # type: ignore[arg-type]


class Process:
    """The part of a scheduler process that has to do with cron, on a clock that only moves when told to."""

    def __init__(self, marie: Marie, submit: Submit | None = None) -> None:
        self.clock = VirtualClock()
        self.store = ScheduleStore(marie.store.client, marie.settings, now_ms=NOON)
        self.graph = Scheduler(clock=self.clock)
        self.graph.register(Agenda(["cron"], self.clock))
        self.graph.register(Cron(self.store, submit or marie.submit, marie.app.main))
        self.graph.connect("agenda:cron", "cron:due", capacity=1, policy=LATEST)
        self.graph.connect("cron:turn", "agenda:turns")
        self.graph.inlet("agenda:wake", capacity=1, policy=LATEST)
        self.graph.start()

    def until(self, now_ms: int) -> None:
        """Lives until then."""
        while True:
            pause = self.graph.step()
            assert pause is not None
            if pause == 0.0:
                continue
            if self.now_ms >= now_ms:
                return
            self.clock.advance(min(pause, (now_ms - self.now_ms) / 1000))
            self.store.now_ms = self.now_ms

    def jump(self, now_ms: int) -> None:
        """Is not there until then."""
        self.clock.advance((now_ms - self.now_ms) / 1000)
        self.store.now_ms = self.now_ms

    @property
    def now_ms(self) -> int:
        return NOON + round(self.clock.monotonic() * 1000)

    @property
    def desk(self) -> Desk:
        return Desk(self.store)

    def add(self, cron: str = "* * * * *", **fields: Any) -> None:
        self.desk.add(Schedule.make(**{"name": NAME, "dag": "report", "cron": cron, **fields}))


@pytest.fixture
def process(marie: Marie) -> Process:
    return Process(marie)


def fired(marie: Marie) -> list[int]:
    """Minutes after noon of the slots that became runs, in the order of submission."""
    keys = [run.key for run in reversed(marie.reader.runs())]
    assert all(key.startswith(f"schedule:{NAME}:") for key in keys)
    return [(int(key.rpartition(":")[2]) - NOON) // MINUTE for key in keys]


def events(process: Process) -> list[tuple[str, str]]:
    found = process.store.client.xrange(process.store.keys.events)
    return [(event["to"], event.get("why", "")) for _, event in found if event.get("schedule") == NAME]


def end(process: Process, marie: Marie) -> None:
    """Ends the newest run."""
    run = marie.reader.runs(1)[0].run_id
    assert process.store.cancel_run(run)
    assert marie.reader.run_state(run) is RunState.CANCELLED


def test_every_slot_becomes_a_run_when_it_is_due(marie: Marie, process: Process) -> None:
    process.add(args=["hourly"], options={"priority": "high", "soft_sla": "10m"})
    process.until(NOON + 3 * MINUTE + 100)
    assert fired(marie) == [1, 2, 3]
    run = marie.reader.runs(1)[0]
    assert (run.dag, run.priority) == ("report", 80)
    assert run.soft_ms is not None
    assert run.soft_ms - run.created_ms == 10 * MINUTE
    assert marie.reader.inputs(f"{run.run_id}-000000") == '["hourly"]\n{}'


def test_a_slot_is_fired_at_its_moment_and_not_before(marie: Marie, process: Process) -> None:
    process.add(jitter=40)
    slot = NOON + MINUTE
    due = process.desk.entry(NAME).definition.due_ms(slot)
    assert slot < due < slot + 40_000
    process.until(due - 1)
    assert fired(marie) == []
    process.until(due + 50)
    assert fired(marie) == [1]


@pytest.mark.parametrize(
    ("catchup", "expected"), [("none", [1, 8]), ("latest", [1, 7, 8]), ("all", [1, 2, 3, 4, 5, 6, 7, 8])]
)
def test_after_a_time_without_schedulers_it_catches_up(
    marie: Marie, process: Process, catchup: str, expected: list[int]
) -> None:
    process.add("0-7,8 * * * *", catchup=catchup)
    process.until(NOON + MINUTE + 100)
    process.jump(NOON + 7 * MINUTE + 59_000)
    if catchup == "none":
        process.jump(NOON + 8 * MINUTE)
    process.until(NOON + 8 * MINUTE + 100)
    assert fired(marie) == expected


class TestOverlap:
    def test_skip(self, marie: Marie, process: Process) -> None:
        process.add(overlap="skip")
        process.until(NOON + 2 * MINUTE + 100)
        end(process, marie)
        process.until(NOON + 3 * MINUTE + 100)
        assert fired(marie) == [1, 3]
        assert ("skipped", str(NOON + 2 * MINUTE)) in events(process)

    def test_queue(self, marie: Marie, process: Process) -> None:
        process.add(overlap="queue")
        process.until(NOON + 3 * MINUTE + 100)
        assert fired(marie) == [1]
        for expected in ([1, 2], [1, 2, 3]):
            end(process, marie)
            process.until(process.now_ms + 1_100)
            assert fired(marie) == expected

    def test_replace(self, marie: Marie, process: Process) -> None:
        process.add(overlap="replace")
        process.until(NOON + 2 * MINUTE + 100)
        newer, older = marie.reader.runs()
        assert (older.state, older.reason, newer.state) == (RunState.CANCELLED, "replaced", RunState.CREATED)

    def test_allow(self, marie: Marie, process: Process) -> None:
        process.add()
        process.until(NOON + 2 * MINUTE + 100)
        assert [run.state for run in marie.reader.runs()] == [RunState.CREATED] * 2


def test_of_many_schedulers_one_fires_each_slot(marie: Marie) -> None:
    processes = [Process(marie) for _ in range(4)]
    processes[0].add()
    together = threading.Barrier(len(processes))

    def live(process: Process) -> None:
        for minute in range(1, 6):
            together.wait()
            process.until(NOON + minute * MINUTE + 100)

    with ThreadPoolExecutor(len(processes)) as pool:
        list(pool.map(live, processes))
    assert fired(marie) == [1, 2, 3, 4, 5]
    assert [what for what, _ in events(processes[0])].count("fired") == 5


def dies(marie: Marie, when: str) -> Callable[..., Any]:
    """A scheduler that loses its life, or its Redis, around the submission."""

    def submit(*args: Any, **kwargs: Any) -> Any:
        if when == "after":
            marie.submit(*args, **kwargs)
        raise ServerError("gone")

    return submit


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_scheduler_that_dies_around_the_submission_costs_no_run_and_makes_no_second(
    marie: Marie, process: Process, when: str
) -> None:
    dying = Process(marie, dies(marie, when))
    dying.add("1 * * * *")
    dying.until(NOON + MINUTE + 100)
    assert dying.store.look_at_schedules(1).due == [], "it was taken"
    assert fired(marie) == ([1] if when == "after" else [])
    process.until(NOON + MINUTE + 20_000)
    assert fired(marie) == ([1] if when == "after" else []), "the lease has not ended"
    process.until(NOON + 2 * MINUTE)
    assert fired(marie) == [1]
    assert [what for what, _ in events(process)] == ["added", "fired"]


def test_a_dag_that_refuses_is_told_and_the_next_slot_is_fired_all_the_same(
    marie: Marie, process: Process, caplog: pytest.LogCaptureFixture
) -> None:
    process.add(args=["impossible"])
    process.until(NOON + 2 * MINUTE + 100)
    assert marie.reader.runs() == []
    (listed,) = process.desk.listing()
    assert listed.condition == "on, last failed: LookupError: no such report"
    assert [what for what, _ in events(process)] == ["added", "failed", "failed"]
    assert process.store.client.hget(process.store.keys.counters, "schedulesFailed") == "2"
    assert "LookupError: no such report" in caplog.text


def test_a_schedule_of_an_unknown_dag_is_left_to_others_and_hides_nobody(
    marie: Marie, process: Process, caplog: pytest.LogCaptureFixture
) -> None:
    process.desk.add(Schedule.make(name="a", dag="elsewhere", cron="* * * * *"))
    process.add()
    process.until(NOON + 2 * MINUTE + 100)
    assert fired(marie) == [1, 2]
    assert caplog.text.count("the schedule 'a' is left to other schedulers: there is no dag 'elsewhere' here") == 1
    DAGS["elsewhere"] = DAGS["report"]
    process.until(NOON + 3 * MINUTE)
    assert f"schedule:a:{NOON + 2 * MINUTE}" in {run.key for run in marie.reader.runs()}, "the latest, by its rule"


def test_what_somebody_wrote_by_hand_hides_nobody(
    marie: Marie, process: Process, caplog: pytest.LogCaptureFixture
) -> None:
    process.store.put_schedule("a", None, '{"version": "?"}', (NOON, NOON), "added")
    process.add()
    process.until(NOON + 2 * MINUTE + 100)
    assert fired(marie) == [1, 2]
    assert caplog.text.count("the schedule 'a' is left to other schedulers: version: ") == 1


def test_what_code_says_is_there_when_the_scheduler_starts(marie: Marie, process: Process) -> None:
    schedule(DAGS["report"], "* * * * *", args=["from code"])
    process.until(NOON + MINUTE + 100)
    assert fired(marie) == [1]
    assert process.desk.entry(NAME).app == "calendar"


def test_pausing_stops_and_resuming_goes_on_while_the_scheduler_runs(marie: Marie, process: Process) -> None:
    process.add(catchup="all")
    process.until(NOON + MINUTE + 100)
    process.desk.pause(NAME)
    process.until(NOON + 3 * MINUTE + 100)
    process.desk.resume(NAME)
    process.until(NOON + 4 * MINUTE + 100)
    assert fired(marie) == [1, 4]
