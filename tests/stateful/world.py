"""The world around the store: workers, messages on their way, schedulers and operators.

Every act is one call of the store. What it must answer and do is foretold from the reference; then all of Redis is
looked at and judged.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from marie_celery.store.codes import Code
from marie_celery.store.keys import run_of, split_attempt
from marie_celery.store.records import Message
from marie_celery.store.store import Store
from tests.redis.redis_runs import NOW
from tests.stateful import invariants
from tests.stateful.graphs import EXECUTORS, Shape
from tests.stateful.picture import Camera, Picture
from tests.stateful.reference import AT_WORK, ModelJob, Reference

WORKERS = ("w0", "w1", "w2")
MOST_PLANNED = 10
MESSAGE = Message("mail", '"@attempt@"')
"""Once a scheduler has sent one of its kind, other steps send it too."""


@dataclass(slots=True)
class Worker:
    slots: dict[str, int]
    hands: list[str] = field(default_factory=list)
    """Attempts at work here."""
    silent: bool = False
    """Its heartbeat has stopped; what it runs may still run."""


class World:
    def __init__(self, store: Store) -> None:
        store.client.flushall()
        store.now_ms = NOW
        self.store = store
        self.model = Reference()
        self.workers: dict[str, Worker] = {}
        self.reported: dict[str, dict[str, int]] = {}
        """Worker → slots, as the store has to count them."""
        self.mail: list[str] = []
        """Attempts on their way to a worker."""
        self.history: list[str] = []
        """All attempts that there ever were."""
        self.runners: dict[str, str] = {}
        """Who started them."""
        self.stopping: set[str] = set()
        self.most_active_dags = 0
        self.steps = 0
        self._camera = Camera(store.client, store.keys.prefix)
        self.now = self._look()

    @property
    def now_ms(self) -> int:
        assert self.store.now_ms is not None
        return self.store.now_ms

    # Looking and judging.

    def _look(self) -> Picture:
        return self._camera.look(WORKERS, {run.id: len(run.jobs) for run in self.model.runs.values()})

    def _judge(
        self,
        foretold: Mapping[str, str] | None = None,
        *,
        granted: Collection[str] = (),
        frees: Collection[str] = (),
        wakes: bool = True,
    ) -> None:
        """frees: attempts that may have lost their slot by this step. wakes: new work has to wake the scheduler."""
        self.steps += 1
        sent = self._open_mail()
        before, self.now = self.now, self._look()
        foretold = {**dict.fromkeys(sent, "dispatched"), **(foretold or {})}
        for job, state in self.model.accept(self.now, foretold, {*granted, *sent}):
            if job.id in sent:
                self._judge_message(job, before)
            if state in AT_WORK and job.state in {"cancelled", "expired"}:
                self.stopping.add(job.attempt)
        for executor in EXECUTORS:
            freed = before.holders(executor).keys() - self.now.holders(executor).keys()
            assert freed <= set(frees), f"{freed - set(frees)} lost their slots"
            reported = sum(slots.get(executor, 0) for slots in self.reported.values())
            assert int(self.now.executors[executor][0] or 0) == reported, f"{executor} has {reported} slots"
        self.stopping = invariants.check_slots(self.model, self.now, self.stopping)
        invariants.check_structures(self.model, self.now)
        invariants.check_runs(self.model, self.now)
        if wakes:
            invariants.check_the_wake_up(before, self.now)
        if not self.now.pieces:
            invariants.check_nothing_is_forgotten(self.model, self.now)
            self._forget_what_is_gone()

    def _open_mail(self) -> list[str]:
        """The jobs for which messages have been sent since the last look, by a scheduler or by a step of others."""
        sent = [text.strip('"') for text in reversed(self.store.client.lrange(MESSAGE.queue_key, 0, -1))]
        self.store.client.delete(MESSAGE.queue_key)
        self.mail += sent
        self.history += sent
        return [split_attempt(attempt)[0] for attempt in sent]

    def _judge_message(self, job: ModelJob, before: Picture) -> None:
        executor = job.plot.executor
        assert job.verdict() == "run", f"{job.id} was sent, and its parents say {job.verdict()}"
        was_cancelled = job.run.id in before.runs and job.run.cancelled_in(before)
        is_stopped = was_cancelled or self.model.held_back(job)
        assert not is_stopped, f"{job.id} was sent and is held back"
        most = max(self.now.capacity(executor), len(before.holders(executor)))
        assert len(self.now.holders(executor)) <= most, f"more jobs than slots of {executor}"

    def _judge_refusal(self, attempt: str) -> None:
        """A stale write changes nothing but the counter; a slot that the attempt itself had is free."""
        before = self.now
        self._judge(frees=[attempt])
        now = self.now
        assert now.fenced == before.fenced + 1
        assert now.jobs == before.jobs and now.runs == before.runs and now.pieces == before.pieces
        for name, members in before.sets.items():
            assert _without(now.sets[name], attempt) == _without(members, attempt), f"a stale write changed {name}"

    def _forget_what_is_gone(self) -> None:
        gone = [run.id for run in self.model.runs.values() if run.gone]
        for run in gone:
            del self.model.runs[run]
        if gone:
            self.now = self._look()

    def find(self, attempt: str) -> ModelJob | None:
        """Its job, unless that is forgotten."""
        job, _ = split_attempt(attempt)
        return self.model.job(job) if run_of(job) in self.model.runs else None

    def is_current(self, attempt: str, states: Collection[str] = ("active",)) -> bool:
        job = self.find(attempt)
        return job is not None and job.attempt == attempt and job.state in states

    # A client, and the schedulers.

    def submit(self, shape: Shape) -> None:
        id = self.store.submit(shape.new_run())
        if shape.replaces:
            replaced = self.model.runs.get(self.model.has_the_key)
            if replaced is not None and not replaced.ended:
                replaced.cancelled = True
            self.model.has_the_key = id
        self.model.add(id, shape)
        self._judge()

    def dispatch(self, jobs: Sequence[str]) -> None:
        codes = self._codes(jobs)
        claims = self.store.dispatch([MESSAGE], [(job, 1) for job in jobs])
        assert [claim.code for claim in claims] == codes
        granted = [claim.job_id for claim in claims if claim.code == Code.OK]
        self._judge(dict.fromkeys(granted, "dispatched"), granted=granted)

    def _codes(self, jobs: Sequence[str]) -> list[int]:
        """What a dispatch has to answer; slots in use never pass the capacity by it."""
        room = {}
        for name in EXECUTORS:
            free = self.now.capacity(name) - len(self.now.holders(name))
            room[name] = 0 if name in self.model.held_executors else free
        limit = self.store.settings.max_concurrency
        overall = limit - sum(len(self.now.holders(name)) for name in EXECUTORS) if limit else 10**6
        begun = set(self.now.sets["active"])
        codes, booked = [], set()
        for id in jobs:
            job = self.model.job(id)
            is_new = job.run.id not in begun
            if job.state != "ready" or id in booked or job.run.cancelled_in(self.now) or self.model.held_back(job):
                codes.append(Code.NOT_READY)
            elif min(room[job.plot.executor], overall) <= 0:
                codes.append(Code.FULL)
            elif is_new and 0 < self.most_active_dags <= len(begun):
                codes.append(Code.DAG_LIMIT)
            else:
                codes.append(Code.OK)
                booked.add(id)
                begun.add(job.run.id)
                room[job.plot.executor] -= 1
                overall -= 1
        return [int(code) for code in codes]

    def plan(self) -> list[str]:
        """As a scheduler does: look, then choose what has room."""
        outlook = self.store.peek(2, MOST_PLANNED)
        return [job.job_id for room in outlook.rooms for job in room.candidates]

    def promote(self) -> None:
        due = [job for job, moment in self.now.sets["delayed"].items() if moment <= self.now_ms]
        assert self.store.promote()[0] == len(due)
        self._judge({job: self.model.ready(self.model.job(job)) for job in due})

    def rerank(self) -> None:
        self.store.rerank()
        self._judge()

    def watch(self) -> None:
        self.store.watch()
        for run in self.model.runs.values():
            late = int(self.now.runs[run.id].get("hard", self.now_ms)) < self.now_ms
            if run.pruned or run.ended or not run.shape.expires:
                continue
            if run.id in self.now.sets["sla"] and late and "hard_missed" not in self.now.runs[run.id]:
                run.expires = True
            for job in run.jobs:
                job.expires |= self.now.sets["sla"].get(job.id, self.now_ms) < self.now_ms
        self._judge()

    def reap(self) -> None:
        gone = [worker for worker, lease in self.now.sets["workers"].items() if lease <= self.now_ms]
        for worker in gone:
            del self.reported[worker]
        late = [
            attempt
            for executor in EXECUTORS
            for attempt, lease in self.now.holders(executor).items()
            if lease <= self.now_ms
        ]
        foretold = {}
        resent = []
        for attempt in late:
            job = self.find(attempt)
            if job is None:
                continue
            if job.attempt == attempt and job.state == "active":
                outcome = job.fails("crash")
                foretold[job.id] = self.model.ready(job) if outcome == "ready" else outcome
            elif job.attempt == attempt and job.state == "dispatched":
                resent.append(job)
        reaped = self.store.reap()
        assert (reaped.workers, reaped.lost) == (len(gone), len(foretold))
        for job in resent:
            # It may wait on while all processes are busy.
            if self.store.client.hget(self.store.keys.job(job.id), "state") != "dispatched":
                foretold[job.id] = self.model.ready(job)
        self._judge(foretold, frees=late, wakes=False)

    def advance(self) -> None:
        self.store.advance()
        self._judge()

    def pass_time(self, ms: int) -> None:
        self.store.now_ms = self.now_ms + ms


def _without(members: Mapping[str, int], attempt: str) -> dict[str, int]:
    return {member: score for member, score in members.items() if member != attempt}
