"""What workers do to the world: they report, fall silent, come back, leave, and bring jobs to an end."""

from __future__ import annotations

from collections.abc import Mapping

from marie_celery.model.retry import FailureKind
from marie_celery.store.keys import split_attempt
from tests.stateful.graphs import EXECUTORS
from tests.stateful.reference import AT_WORK
from tests.stateful.world import Worker, World


class Workforce(World):
    def hire(self, name: str, slots: Mapping[str, int]) -> None:
        """A new worker, or one that now has more slots or fewer."""
        worker = self.workers.setdefault(name, Worker({}))
        worker.slots = dict(slots)
        self.beat(name)

    def beat(self, name: str) -> None:
        worker = self.workers[name]
        worker.silent = False
        charged = self.now.workers.get(name, ())
        expected = {attempt for attempt in charged if attempt in worker.hands and not self.is_current(attempt)}
        self.reported[name] = dict(worker.slots)
        assert set(self.store.renew(name, {"host": "h"}, worker.slots, worker.hands)) == expected
        self._judge(wakes=False)
        holders = {attempt for executor in EXECUTORS for attempt in self.now.holders(executor)}
        charged_for_nothing = set(self.now.workers.get(name, ())) - holders - set(worker.hands)
        assert not charged_for_nothing, f"{name} is charged with {charged_for_nothing}"

    def leave(self, name: str) -> None:
        worker = self.workers.pop(name)
        charged = list(self.now.workers.get(name, ()))
        returned = [split_attempt(attempt)[0] for attempt in charged if self.is_current(attempt)]
        self.reported.pop(name, None)
        assert self.store.leave(name) == len(returned)
        worker.hands.clear()
        self._judge({job: self.model.ready(self.model.job(job)) for job in returned}, frees=charged, wakes=False)

    def start(self, attempt: str, name: str) -> None:
        id, token = split_attempt(attempt)
        job = self.find(attempt)
        fits = self.is_current(attempt, ["dispatched"])
        fits = fits and job is not None and not job.run.cancelled_in(self.now)
        is_double = attempt in self.runners
        started = self.store.start(id, token, name, attempt)
        assert (started is not None) == fits
        if not fits:
            return self._judge_refusal("" if is_double else attempt)
        self.workers[name].hands.append(attempt)
        self.runners[attempt] = name
        return self._judge({id: "active"})

    def finish(self, attempt: str, name: str, outcome: str) -> None:
        id, token = split_attempt(attempt)
        fits = self.is_current(attempt)
        if outcome == "completed":
            assert self.store.finish(id, token, name, "1") == fits
        else:
            assert self.store.skip(id, token, name, "not needed") == fits
        self._drop(attempt)
        if fits:
            self._judge({id: outcome}, frees=[attempt])
        else:
            self._judge_refusal(attempt)

    def fail(self, attempt: str, name: str, kind: str, *, give_up: bool, delay: float | None) -> None:
        id, token = split_attempt(attempt)
        job = self.find(attempt)
        fits = self.is_current(attempt, AT_WORK)
        state = self.store.fail(id, token, name, FailureKind(kind), {}, give_up=give_up, delay_seconds=delay)
        assert (state is not None) == fits
        self._drop(attempt)
        if job is None or not fits:
            return self._judge_refusal(attempt)
        expected = job.fails(kind, give_up=give_up, delay=delay)
        assert state == expected
        foretold = self.model.ready(job) if expected == "ready" else expected
        return self._judge({id: foretold}, frees=[attempt])

    def _drop(self, attempt: str) -> None:
        for worker in self.workers.values():
            if attempt in worker.hands:
                worker.hands.remove(attempt)
