"""The life of jobs and runs in Redis: one method per transition, each one atomic script.

Reading is in `reading.py`, connecting in `connection.py`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from redis import Redis
from redis.commands.core import Script

from marie_celery.config import Settings
from marie_celery.errors import DuplicateRun, ServerError, UnknownJob, UnknownRun
from marie_celery.model.retry import FailureKind
from marie_celery.store.codes import Code
from marie_celery.store.keys import Keys
from marie_celery.store.records import Candidate, Claim, ExecutorView, Message, NewRun, Reaped, Room, Started
from marie_celery.store.scripts import script_names, source

# Jobs per call while a large run is staged: long enough to be fast, short enough not to hold Redis up.
CHUNK = 400
REAP_LIMIT = 100


class Store:
    """All changes of state. Holds one connection pool; never share it with a forked child."""

    def __init__(self, client: Redis, settings: Settings, now_ms: int | None = None) -> None:
        self.client: Any = client  # answers are text (decode_responses), which the client's types cannot tell
        self.settings = settings
        self.keys = Keys(settings.namespace)
        self.now_ms = now_ms
        """A test's clock; None is the time of Redis."""
        self._scripts: dict[str, Script] = {
            name: client.register_script(source(name)) for name in script_names()
        }

    def _call(self, name: str, *arguments: object) -> Any:
        clock = "" if self.now_ms is None else self.now_ms
        given: list[Any] = [clock, self.settings.max_events, *arguments]
        return self._scripts[name](keys=[self.keys.prefix], args=given)

    def submit(self, run: NewRun) -> str:
        """Accept a run, all or nothing, and make its roots ready. Returns its id."""
        run_id = ""
        staging_ms = _ms(self.settings.staging_ttl_seconds)
        for first in range(0, len(run.jobs), CHUNK):
            chunk = run.jobs[first : first + CHUNK]
            last = first + CHUNK >= len(run.jobs)
            arguments: list[object] = [run_id, int(last), staging_ms, run.key, run.duplicates]
            if run_id:
                arguments += [0, 0, 0]
            else:
                arguments += [len(run.fields), *_flat(run.fields), len(run.specs), *_flat(run.specs)]
                arguments += [len(run.executors), *run.executors]
            arguments += [first, len(chunk)]
            for job in chunk:
                arguments += [job.inputs, len(job.fields), *_flat(job.fields)]
            code, answer = self._call("submit", *arguments)
            if code == Code.DUPLICATE:
                raise DuplicateRun(run.key, answer)
            if code == Code.GONE:
                raise ServerError(
                    f"the submission took longer than staging_ttl_seconds ({self.settings.staging_ttl_seconds}) "
                    "between two chunks and was dropped; nothing of it is stored"
                )
            run_id = answer
        return run_id

    def peek(self, look_ahead: int, most: int) -> list[Room]:
        """Per executor: free slots, and the best ready jobs where there are some."""
        return [
            Room(executor, int(free), int(waiting), [_candidate(executor, row) for row in rows])
            for executor, free, waiting, rows in self._call("peek", look_ahead, most)
        ]

    def dispatch(self, messages: Sequence[Message], jobs: Sequence[tuple[str, int]]) -> list[Claim]:
        """Book a slot for each (job, number of its message from 1, 0 = none) and send its message, in one step."""
        arguments: list[object] = [_ms(self.settings.lease_ttl_seconds), self.settings.max_concurrency]
        arguments.append(len(messages))
        for message in messages:
            arguments += [message.queue_key, message.template]
        arguments.append(len(jobs))
        for job, message_number in jobs:
            arguments += [job, message_number]
        answers = self._call("dispatch", *arguments)
        return [Claim(job, code, token) for (job, _), (code, token) in zip(jobs, answers, strict=True)]

    def start(self, job: str, token: int, worker: str, pid: int) -> Started | None:
        """A worker begins the attempt; None if the delivery is stale."""
        answer = self._call("start", job, token, worker, pid, _ms(self.settings.run_ttl_seconds))
        if answer[0] != Code.OK:
            return None
        _, inputs, policy, fields, results, (_, dag) = answer
        return Started(
            inputs=inputs,
            policy=json.loads(policy),
            job=_mapping(fields),
            results={int(number): result for number, result in _pairs(results)},
            dag=dag,
        )

    def finish(self, job: str, token: int, worker: str, result: str) -> bool:
        """The attempt completed. False if its token is stale: nothing was changed."""
        return bool(self._call("finish", job, token, worker, "completed", result)[0] == Code.OK)

    def skip(self, job: str, token: int, worker: str, reason: str) -> bool:
        """The attempt asked to be skipped."""
        return bool(self._call("finish", job, token, worker, "skipped", reason)[0] == Code.OK)

    def fail(
        self,
        job: str,
        token: int,
        worker: str,
        kind: FailureKind,
        error: Mapping[str, str],
        *,
        give_up: bool = False,
        delay_seconds: float | None = None,
        roll: float = 0.0,
    ) -> str | None:
        """The attempt failed. Returns the job's new state (retry, ready, failed); None if stale."""
        answer = self._call(
            "fail",
            job,
            token,
            worker,
            kind.value,
            json.dumps(dict(error)),
            int(give_up),
            "" if delay_seconds is None else _ms(delay_seconds),
            roll,
        )
        return answer[1] if answer[0] == Code.OK else None

    def renew(
        self,
        worker: str,
        facts: Mapping[str, str],
        slots: Mapping[str, int],
        reserved: Iterable[str] = (),
        pids: Iterable[int] = (),
    ) -> list[str]:
        """A worker's heartbeat for the jobs of its live processes. Returns the attempts that it has to stop."""
        waiting, alive = list(reserved), list(pids)
        answer: list[str] = self._call(
            "renew",
            worker,
            _ms(self.settings.lease_ttl_seconds),
            _ms(self.settings.run_ttl_seconds),
            _ms(self.settings.lease_ttl_seconds),
            len(facts),
            *_flat(facts),
            len(slots),
            *_flat(slots),
            len(waiting),
            *waiting,
            len(alive),
            *alive,
        )
        return answer

    def leave(self, worker: str) -> None:
        """A worker says good-bye."""
        self._call("leave", worker)

    def reap(self) -> Reaped:
        """Look for dead workers, ended leases and abandoned submissions."""
        return Reaped(*self._call("reap", _ms(self.settings.lease_ttl_seconds), REAP_LIMIT))

    def promote(self, most: int = 500) -> tuple[int, float | None]:
        """Make delayed jobs ready. Returns how many, and the seconds until the next is due."""
        promoted, next_ms = self._call("promote", most)
        return promoted, None if next_ms < 0 else next_ms / 1000

    def advance(self) -> int:
        """Go on with work that was too long for one call. Returns how many pieces are left."""
        return int(self._call("advance")[0])

    def cancel_run(self, run: str, why: str = "cancelled", by: str = "") -> bool:
        """Cancel what has not ended. False if the run had ended already."""
        code = self._call("cancel", "run", run, why, by)[0]
        if code == Code.UNKNOWN:
            raise UnknownRun(run)
        return bool(code == Code.OK)

    def cancel_job(self, job: str, why: str = "cancelled", by: str = "") -> bool:
        code = self._call("cancel", "job", job, why, by)[0]
        if code == Code.UNKNOWN:
            raise UnknownJob(job)
        return bool(code == Code.OK)

    def capacity(self) -> list[ExecutorView]:
        return sorted(
            (
                ExecutorView(
                    name=name,
                    capacity=int(capacity),
                    target=int(target) if target else None,
                    ready=int(ready),
                    holders=_mapping(holders),
                    workers={worker: int(slots) for worker, slots in _pairs(workers)},
                )
                for name, capacity, target, ready, holders, workers in self._call("capacity")
            ),
            key=lambda view: view.name,
        )


def _candidate(executor: str, row: Sequence[str | None]) -> Candidate:
    job, task, level, priority, soft, hard, ready_at, estimate, hard_limit, soft_limit = row
    return Candidate(
        job_id=str(job),
        executor=executor,
        task=str(task),
        level=int(level or 0),
        priority=int(priority or 0),
        soft_ms=_maybe_int(soft),
        hard_ms=_maybe_int(hard),
        ready_ms=int(ready_at or 0),
        estimate_ms=_maybe_int(estimate),
        time_limit=float(hard_limit) if hard_limit else None,
        soft_time_limit=float(soft_limit) if soft_limit else None,
    )


def _ms(seconds: float) -> int:
    return round(seconds * 1000)


def _maybe_int(text: str | None) -> int | None:
    return None if text is None else int(text)


def _flat(mapping: Mapping[str, object]) -> list[object]:
    return [part for pair in mapping.items() for part in pair]


def _pairs(flat: Sequence[Any]) -> Iterable[tuple[Any, Any]]:
    return zip(flat[::2], flat[1::2], strict=True)


def _mapping(flat: Sequence[str]) -> dict[str, str]:
    return dict(_pairs(flat))
