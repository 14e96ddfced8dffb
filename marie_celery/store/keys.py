"""Every key in Redis. The same names are built inside the scripts by `lua/include/base.lua`.

All keys of a namespace carry its hash tag, so a namespace lives on one shard of a cluster.
`docs/redis-cli.md` explains each with a command to look at it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

RUN_ID_LENGTH = 13
JOB_NUMBER_WIDTH = 6
_JOB_ID = re.compile(rf"[0-9a-f]{{{RUN_ID_LENGTH}}}-\d{{{JOB_NUMBER_WIDTH}}}")
MAX_JOBS_PER_RUN = 10**JOB_NUMBER_WIDTH


def job_id(run_id: str, number: int) -> str:
    return f"{run_id}-{number:0{JOB_NUMBER_WIDTH}d}"


def is_job_id(text: str) -> bool:
    return _JOB_ID.fullmatch(text) is not None


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


NO_TENANT = "-"
"""Stands for those who name no tenant."""


def lane_of(executor: str, tenant: str) -> str:
    """Where jobs of a tenant wait: `ready:` and `new:` of this name."""
    return executor if tenant in ("", NO_TENANT) else f"{executor}@{tenant}"


@dataclass(frozen=True, slots=True)
class Keys:
    namespace: str

    @property
    def prefix(self) -> str:
        return f"marie:{{{self.namespace}}}:"

    def job(self, job: str) -> str:
        """hash: state, task, executor, level, priority, parents left, children, token, progress …"""
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

    def payloads(self, run: str) -> str:
        """hash: job number and token → a large result, if the payload store is redis"""
        return f"{self.prefix}run:{run}:payloads"

    def errors(self, run: str) -> str:
        """hash: job number → last error with traceback"""
        return f"{self.prefix}run:{run}:errors"

    def specs(self, run: str) -> str:
        """hash: number → policy shared by jobs (retries, time limits)"""
        return f"{self.prefix}run:{run}:specs"

    def replay(self, run: str) -> str:
        """list: jobs that a replay has still to reset: number, parents left, skipped, failed"""
        return f"{self.prefix}run:{run}:replay"

    def done(self, run: str) -> str:
        """list: one element once the run has ended; waiters rotate it with BLMOVE"""
        return f"{self.prefix}run:{run}:done"

    def ready(self, executor: str) -> str:
        """zset: ready jobs of runs that have begun, by rank, best first"""
        return f"{self.prefix}ready:{executor}"

    def new(self, executor: str) -> str:
        """zset: ready jobs of runs that have not begun, by rank"""
        return f"{self.prefix}new:{executor}"

    def stale_ready(self, executor: str) -> str:
        """zset: ready jobs that wait for their rank under another planner"""
        return f"{self.prefix}stale:ready:{executor}"

    def stale_new(self, executor: str) -> str:
        """zset: the same, of runs that have not begun"""
        return f"{self.prefix}stale:new:{executor}"

    def slots(self, executor: str) -> str:
        """zset: attempts that hold a slot, by the end of their lease"""
        return f"{self.prefix}slots:{executor}"

    def executor(self, executor: str) -> str:
        """hash: capacity (reported), target, credit of new runs"""
        return f"{self.prefix}executor:{executor}"

    def worker(self, worker: str) -> str:
        """hash: host, pid, pool, slots by executor"""
        return f"{self.prefix}worker:{worker}"

    def worker_jobs(self, worker: str) -> str:
        """hash: attempts that this worker runs → id of the Celery message that brought them"""
        return f"{self.prefix}worker:{worker}:jobs"

    def scheduler(self, scheduler: str) -> str:
        """hash: host, pid, planner, and the graph of a scheduler with its rates"""
        return f"{self.prefix}scheduler:{scheduler}"

    def commands(self, scheduler: str) -> str:
        """list: orders that this scheduler has not taken yet"""
        return f"{self.prefix}scheduler:{scheduler}:commands"

    def answer(self, command: str) -> str:
        """list: the answer to an order, for a minute"""
        return f"{self.prefix}answer:{command}"

    @property
    def schedulers(self) -> str:
        """zset: live schedulers by the end of their heartbeat's lease"""
        return f"{self.prefix}schedulers"

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
    def draining(self) -> str:
        """set: workers that an operator has taken out of service"""
        return f"{self.prefix}draining"

    @property
    def declared(self) -> str:
        """hash: `target <executor>` and `weight <tenant>` as the settings say, so that a change of them is noticed"""
        return f"{self.prefix}declared"

    @property
    def delayed(self) -> str:
        """zset: jobs that wait for their retry, by when it is due"""
        return f"{self.prefix}delayed"

    @property
    def rerank(self) -> str:
        """zset: ready jobs whose place will change by time alone, by when"""
        return f"{self.prefix}rerank"

    @property
    def sla(self) -> str:
        """zset: runs, and jobs with SLAs of their own, by their next SLA"""
        return f"{self.prefix}sla"

    @property
    def active(self) -> str:
        """zset: runs that have begun and not ended, by when they began"""
        return f"{self.prefix}active"

    @property
    def ended(self) -> str:
        """zset: runs that have ended, by when; the oldest are archived and pruned"""
        return f"{self.prefix}ended"

    @property
    def held(self) -> str:
        """zset: jobs that an operator holds back, by since when"""
        return f"{self.prefix}held"

    @property
    def held_tasks(self) -> str:
        """set: tasks that an operator holds back"""
        return f"{self.prefix}held-tasks"

    @property
    def planner(self) -> str:
        """hash: the planner in force, for all schedulers"""
        return f"{self.prefix}planner"

    @property
    def messages(self) -> str:
        """hash: executor, task, time limits → the queue and the Celery message of such a job, but for its ids"""
        return f"{self.prefix}messages"

    @property
    def estimates(self) -> str:
        """hash: task → how long it takes: count, centre (ln ms), spread"""
        return f"{self.prefix}estimates"

    @property
    def alerts(self) -> str:
        """list: missed SLAs that are still to be told to somebody"""
        return f"{self.prefix}alerts"

    @property
    def resources(self) -> str:
        """hash: resource → its definition as JSON, as it was declared and as it is now"""
        return f"{self.prefix}resources"

    def resource(self, resource: str) -> str:
        """hash: kind, size (units, limit or burst), of a rate also gain, level, at"""
        return f"{self.prefix}resource:{resource}"

    def resource_used(self, resource: str) -> str:
        """hash: key → units in use, `*` where there are no keys"""
        return f"{self.prefix}resource:{resource}:used"

    def resource_items(self, resource: str) -> str:
        """zset: all items in their order"""
        return f"{self.prefix}resource:{resource}:items"

    def resource_free(self, resource: str) -> str:
        """zset: items that nobody has"""
        return f"{self.prefix}resource:{resource}:free"

    def resource_leaving(self, resource: str) -> str:
        """set: items that go when they are given back"""
        return f"{self.prefix}resource:{resource}:leaving"

    def resource_holders(self, resource: str) -> str:
        """hash: attempt → amount, key and items as JSON"""
        return f"{self.prefix}resource:{resource}:holders"

    def resource_state(self, resource: str) -> str:
        """hash: what a manager of the user's own knows, as JSON, and its version"""
        return f"{self.prefix}resource:{resource}:state"

    def resource_grants(self, resource: str) -> str:
        """hash: attempts that such a manager has promised something → items"""
        return f"{self.prefix}resource:{resource}:grants"

    def resource_returned(self, resource: str) -> str:
        """list: attempts that gave something back, of which such a manager has still to hear"""
        return f"{self.prefix}resource:{resource}:returned"

    @property
    def bookings(self) -> str:
        """hash: attempt → the resources it has, with their items, as JSON"""
        return f"{self.prefix}bookings"

    def short(self, line: str) -> str:
        """zset: ready jobs that are short of a resource, by rank; a line is a resource, resource/key or @highlander"""
        return f"{self.prefix}short:{line}"

    def parked(self, executor: str) -> str:
        """zset: ready jobs of this executor that stand in such lines, by rank"""
        return f"{self.prefix}parked:{executor}"

    @property
    def supply(self) -> str:
        """zset: lines by when to look at them again"""
        return f"{self.prefix}supply"

    def highlander(self, name: str) -> str:
        """hash: the run under way, and the one that waits, where there can be only one of each"""
        return f"{self.prefix}highlander:{name}"

    def tenants(self, executor: str) -> str:
        """zset: tenants with jobs on offer, by virtual time; `-` are jobs that name none"""
        return f"{self.prefix}tenants:{executor}"

    def shares(self, executor: str) -> str:
        """hash: tenant → virtual time of what has ended, `+tenant` → of what is at work; `*` was chosen last"""
        return f"{self.prefix}shares:{executor}"

    def charges(self, executor: str) -> str:
        """hash: attempt → what its tenant was charged: tenant, virtual microseconds, since when"""
        return f"{self.prefix}charges:{executor}"

    @property
    def weights(self) -> str:
        """hash: tenant → its weight in thousandths"""
        return f"{self.prefix}weights"

    @property
    def staging(self) -> str:
        """zset: submissions under way, by when they count as abandoned"""
        return f"{self.prefix}staging"

    @property
    def advance(self) -> str:
        """list: work that one script call could not finish within its bound"""
        return f"{self.prefix}advance"

    @property
    def expand(self) -> str:
        """zset: maps whose items are to be made, by when to look at them: at once, or when a scheduler's claim ends"""
        return f"{self.prefix}expand"

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

    @property
    def schedules(self) -> str:
        """hash: schedule → definition as JSON, with its origin and version"""
        return f"{self.prefix}schedules"

    @property
    def schedule_next(self) -> str:
        """zset: schedules by when to look at them: next slot with its jitter, end of a lease, end of a run"""
        return f"{self.prefix}schedule:next"

    def schedule_state(self, schedule: str) -> str:
        """hash: next slot and when it is due, slot being fired and its lease, last slot, last run"""
        return f"{self.prefix}schedule:{schedule}:state"

    def schedule_waiting(self, schedule: str) -> str:
        """list: slots that wait for the last run to end"""
        return f"{self.prefix}schedule:{schedule}:waiting"
