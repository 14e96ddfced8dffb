"""Every key in Redis. The same names are built inside the scripts by `lua/include/base.lua`.

All keys of a namespace carry its hash tag, so a namespace lives on one shard of a cluster.
`docs/redis-cli.md` explains each with a command to look at it.
"""

from __future__ import annotations

from dataclasses import dataclass

RUN_ID_LENGTH = 13
JOB_NUMBER_WIDTH = 6
MAX_JOBS_PER_RUN = 10**JOB_NUMBER_WIDTH


def job_id(run_id: str, number: int) -> str:
    return f"{run_id}-{number:0{JOB_NUMBER_WIDTH}d}"


def run_of(job: str) -> str:
    return job[:RUN_ID_LENGTH]


def number_of(job: str) -> int:
    return int(job[RUN_ID_LENGTH + 1 :])


def attempt_id(job: str, token: int) -> str:
    """Names one delivery of a job: holder of a slot, and the id of its Celery message."""
    return f"{job}.{token}"


def split_attempt(attempt: str) -> tuple[str, int]:
    job, _, token = attempt.rpartition(".")
    return job, int(token)


@dataclass(frozen=True, slots=True)
class Keys:
    namespace: str

    @property
    def prefix(self) -> str:
        return f"marie:{{{self.namespace}}}:"

    def job(self, job: str) -> str:
        """hash: state, task, executor, level, priority, parents left, children, token …"""
        return f"{self.prefix}job:{job}"

    def run(self, run: str) -> str:
        """hash: state, dag, counts by state, priority, SLAs, times, output"""
        return f"{self.prefix}run:{run}"

    def inputs(self, run: str) -> str:
        """hash: job number → arguments"""
        return f"{self.prefix}run:{run}:inputs"

    def results(self, run: str) -> str:
        """hash: job number → result"""
        return f"{self.prefix}run:{run}:results"

    def errors(self, run: str) -> str:
        """hash: job number → last error with traceback"""
        return f"{self.prefix}run:{run}:errors"

    def specs(self, run: str) -> str:
        """hash: number → policy shared by jobs (retries, time limits)"""
        return f"{self.prefix}run:{run}:specs"

    def done(self, run: str) -> str:
        """list: one element once the run has ended; waiters rotate it with BLMOVE"""
        return f"{self.prefix}run:{run}:done"

    def ready(self, executor: str) -> str:
        """zset: ready jobs by rank, best first"""
        return f"{self.prefix}ready:{executor}"

    def slots(self, executor: str) -> str:
        """zset: attempts that hold a slot, by the end of their lease"""
        return f"{self.prefix}slots:{executor}"

    def executor(self, executor: str) -> str:
        """hash: capacity (reported), target, workers"""
        return f"{self.prefix}executor:{executor}"

    def worker(self, worker: str) -> str:
        """hash: host, pid, pool, slots by executor"""
        return f"{self.prefix}worker:{worker}"

    def worker_jobs(self, worker: str) -> str:
        """hash: attempts that this worker runs → pid of the process"""
        return f"{self.prefix}worker:{worker}:jobs"

    @property
    def runs(self) -> str:
        """zset: all accepted runs by time of submission"""
        return f"{self.prefix}runs"

    @property
    def run_keys(self) -> str:
        """hash: the user's key → run"""
        return f"{self.prefix}run-keys"

    @property
    def executors(self) -> str:
        """set: names of all executors ever seen"""
        return f"{self.prefix}executors"

    @property
    def workers(self) -> str:
        """zset: live workers by the end of their heartbeat's lease"""
        return f"{self.prefix}workers"

    @property
    def delayed(self) -> str:
        """zset: jobs that wait for their retry, by when it is due"""
        return f"{self.prefix}delayed"

    @property
    def staging(self) -> str:
        """zset: submissions under way, by when they count as abandoned"""
        return f"{self.prefix}staging"

    @property
    def advance(self) -> str:
        """list: work that one script call could not finish within its bound"""
        return f"{self.prefix}advance"

    @property
    def wake(self) -> str:
        """list: one element = something happened"""
        return f"{self.prefix}wake"

    @property
    def events(self) -> str:
        """stream: every transition, capped"""
        return f"{self.prefix}events"

    @property
    def dead(self) -> str:
        """zset: jobs that failed for good, by time"""
        return f"{self.prefix}dead"

    @property
    def counters(self) -> str:
        """hash: fencedWrites and the like"""
        return f"{self.prefix}counters"

    @property
    def clock(self) -> str:
        """string: the last run id minted, in microseconds"""
        return f"{self.prefix}clock"
