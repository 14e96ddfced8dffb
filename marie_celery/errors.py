"""Every error that marie_celery raises on purpose.

    MarieError
    ├── ConfigError (ValueError)         a setting is wrong; the message names it
    ├── ServerError (ConnectionError)    Redis is missing, too old or refuses us
    ├── DagError (ValueError)            a DAG cannot be accepted; .problems lists all of it
    ├── PayloadError (ValueError)        an argument or a result that JSON cannot carry, or too large
    ├── MapError (ValueError)            a map cannot take items from what it was given
    ├── BranchError (ValueError)         a value names no path of a branch
    ├── DuplicateRun                     a run with this key exists; .run_id tells which
    ├── QueueFull                        the in-process scheduler takes no more; .max_queue_size tells its limit
    ├── UnknownRun (LookupError)
    ├── UnknownJob (LookupError)
    ├── UnknownExecutor (LookupError)
    ├── UnknownResource (LookupError)
    ├── UnknownWorker (LookupError)
    ├── RunWaits                         only one run of its name may wait, and .run_id does
    ├── IllegalTransition (RuntimeError) a state change that the transition table does not have
    └── RunFailed                        .errors maps each failed job to its error

What a task may raise to steer its own job (they are not failures of marie_celery):

    Directive
    ├── RetryAfter(seconds)
    ├── Skip(reason)
    └── Wait(reason)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence


class MarieError(Exception):
    """Root of all errors of this package."""


class ConfigError(MarieError, ValueError):
    pass


class ServerError(MarieError, ConnectionError):
    pass


class DagError(MarieError, ValueError):
    """All problems of a refused DAG, in one error."""

    def __init__(self, dag: str, problems: Sequence[str]) -> None:
        self.dag = dag
        self.problems = tuple(problems)
        if len(self.problems) == 1:
            text = f"dag '{dag}' was refused: {self.problems[0]}"
        else:
            lines = "".join(f"\n  - {problem}" for problem in self.problems)
            text = f"dag '{dag}' was refused, {len(self.problems)} problems:{lines}"
        super().__init__(text)


class PayloadError(MarieError, ValueError):
    pass


class MapError(MarieError, ValueError):
    pass


class BranchError(MarieError, ValueError):
    pass


class DuplicateRun(MarieError):
    def __init__(self, key: str, run_id: str) -> None:
        self.key = key
        self.run_id = run_id
        super().__init__(f"run {run_id} already has the key '{key}'")


class QueueFull(MarieError):
    def __init__(self, max_queue_size: int) -> None:
        self.max_queue_size = max_queue_size
        super().__init__(f"{max_queue_size} already wait for a slot (max_queue_size): try again later")


class UnknownRun(MarieError, LookupError):
    def __init__(self, run_id: str) -> None:
        self.run_id = run_id
        super().__init__(f"there is no run '{run_id}'")


class UnknownJob(MarieError, LookupError):
    def __init__(self, job_id: str) -> None:
        self.job_id = job_id
        super().__init__(f"there is no job '{job_id}'")


class UnknownExecutor(MarieError, LookupError):
    def __init__(self, executor: str) -> None:
        self.executor = executor
        super().__init__(f"there is no executor '{executor}': no worker and no run has named it yet")


class UnknownResource(MarieError, LookupError):
    def __init__(self, resource: str, known: Iterable[str]) -> None:
        self.resource = resource
        super().__init__(f"there is no resource '{resource}'; there are {', '.join(sorted(known)) or 'none'}")


class UnknownWorker(MarieError, LookupError):
    def __init__(self, worker: str, known: Iterable[str]) -> None:
        self.worker = worker
        super().__init__(f"there is no live worker '{worker}'; there are {', '.join(sorted(known)) or 'none'}")


class RunWaits(MarieError):
    def __init__(self, run_id: str) -> None:
        self.run_id = run_id
        super().__init__(f"run {run_id} waits already, and only one of its name may")


class IllegalTransition(MarieError, RuntimeError):
    def __init__(self, source: str, target: str) -> None:
        self.source = source
        self.target = target
        super().__init__(f"a job cannot go from {source} to {target}")


class RunFailed(MarieError):
    """The run ended without success."""

    def __init__(self, run_id: str, state: str, errors: Mapping[str, str]) -> None:
        self.run_id = run_id
        self.state = state
        self.errors = dict(errors)
        detail = "".join(f"\n  {job}: {error}" for job, error in self.errors.items())
        super().__init__(f"run {run_id} ended as {state}{':' if detail else ''}{detail}")


class Directive(Exception):
    """Raised by a task to steer its own job."""


class RetryAfter(Directive):
    """Run this job again after `seconds`; counts as a failure."""

    def __init__(self, seconds: float, reason: str = "") -> None:
        self.seconds = float(seconds)
        self.reason = reason
        super().__init__(reason or f"retry after {seconds} s")


class Skip(Directive):
    """End this job as skipped."""

    def __init__(self, reason: str = "") -> None:
        self.reason = reason
        super().__init__(reason or "skipped by the task")


class Wait(Directive):
    """It is too early: ask this job again, after `seconds` if given. Costs no retry and holds no slot meanwhile."""

    def __init__(self, reason: str = "", seconds: float | None = None) -> None:
        self.reason = reason
        self.seconds = None if seconds is None else float(seconds)
        super().__init__(reason or "too early")
