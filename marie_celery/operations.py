"""What an operator can do, one verb each. The command line and the API call these."""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from marie_celery.errors import ConfigError, MarieError, UnknownExecutor, UnknownJob
from marie_celery.model.states import RunState
from marie_celery.planning.tenants import TENANT_NAME
from marie_celery.resources import Delta
from marie_celery.store.keys import RUN_ID_LENGTH, is_job_id, job_id, number_of, run_of
from marie_celery.store.records import JobView
from marie_celery.store.replaying import descendants, instructions, nodes_of, unfinished
from marie_celery.store.resources import Resized
from marie_celery.store.steering import Held

if TYPE_CHECKING:
    from marie_celery.extension import Marie


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A job that failed for good, with what is needed to understand it and to run it again."""

    job: JobView
    inputs: str
    died_ms: int


class Operations:
    def __init__(self, marie: Marie) -> None:
        self._marie = marie

    def cancel(self, id: str, why: str = "cancelled", by: str = "") -> bool:
        """End a run or a job that has not ended; False if it has."""
        store = self._marie.store
        return store.cancel_run(id, why, by) if len(id) == RUN_ID_LENGTH else store.cancel_job(id, why, by)

    def pause(self, kind: Held, id: str, by: str = "") -> bool:
        """Start nothing more of it. What runs is finished. False if it has ended."""
        self._check(kind, id)
        return self._marie.store.hold(kind, id, by=by)

    def resume(self, kind: Held, id: str, by: str = "") -> bool:
        """Go on with what was paused; a run that was cancelled does what it has not done."""
        self._check(kind, id)
        if kind == "run" and self._marie.reader.run_state(id) in (RunState.CANCELLED, RunState.EXPIRED):
            return self._again(id, None, with_descendants=False, by=by) > 0
        return self._marie.store.let_go(kind, id, by=by)

    def replay(self, ids: Iterable[str], *, with_descendants: bool = True, by: str = "") -> int:
        """Run jobs again, or all that did not end well in the runs given. Returns how many."""
        by_run: dict[str, set[int] | None] = {}
        for id in ids:
            if len(id) == RUN_ID_LENGTH:
                by_run[id] = None
            elif not is_job_id(id):
                raise UnknownJob(id)
            else:
                numbers = by_run.setdefault(run_of(id), set())
                if numbers is not None:
                    numbers.add(number_of(id))
        return sum(
            self._again(run, numbers, with_descendants=with_descendants, by=by) for run, numbers in by_run.items()
        )

    def dead(self, limit: int = 50) -> list[DeadLetter]:
        """Jobs that failed for good, the newest first."""
        store, reader = self._marie.store, self._marie.reader
        found = store.client.zrange(store.keys.dead, 0, limit - 1, desc=True, withscores=True)
        letters = []
        for job, died in found:
            with suppress(UnknownJob):  # pruned since we looked
                letters.append(DeadLetter(reader.job(job), reader.inputs(job) or "", int(died)))
        return letters

    def reconcile(self) -> dict[str, str]:
        """Compare all open runs with the structures that hold their jobs and put right what differs."""
        store = self._marie.store
        healed: dict[str, str] = {}
        for run in store.client.zrange(store.keys.runs, 0, -1):
            if not store.client.hexists(store.keys.run(run), "ended_at"):
                healed |= store.reconcile(run)
        return healed

    def resize(self, resource: str, delta: Delta, by: str = "") -> Resized:
        """Grow or shrink a resource by a difference. What is booked stays booked."""
        return self._marie.store.resize(resource, delta, by)

    def set_target(self, executor: str, slots: int | None) -> None:
        """How many slots an executor has, whatever its workers report; None = what they report."""
        store = self._marie.store
        if executor not in self._marie.executors() and not store.client.sismember(store.keys.executors, executor):
            raise UnknownExecutor(executor)
        store.set_target(executor, slots)

    def set_weight(self, tenant: str, weight: float) -> None:
        """The share of a tenant where others have work too."""
        if not re.fullmatch(TENANT_NAME, tenant):
            raise ConfigError(f"tenant {tenant!r} is no name: letters, digits and _ . : / - are")
        self._marie.store.set_weight(tenant, weight)

    def _again(self, run: str, chosen: set[int] | None, *, with_descendants: bool, by: str) -> int:
        store = self._marie.store
        self._marie.reader.run_state(run)
        nodes = nodes_of(store, run)
        numbers = unfinished(nodes) if chosen is None else chosen
        for number in numbers:
            if number not in nodes:
                raise UnknownJob(job_id(run, number))
            if not nodes[number].state.terminal:
                state = nodes[number].state
                raise MarieError(f"job {job_id(run, number)} is {state}: only what has ended can be replayed")
        if with_descendants:
            numbers = descendants(nodes, numbers)
        if not numbers:
            return 0
        replays = int(store.client.hget(store.keys.run(run), "replays") or 0)
        store.replay(run, instructions(nodes, numbers), replays, by)
        return len(numbers)

    def _check(self, kind: Held, id: str) -> None:
        if kind == "task" and id not in self._marie.tasks():
            known = ", ".join(sorted(self._marie.tasks()))
            raise MarieError(f"there is no task '{id}'; there are {known}")
