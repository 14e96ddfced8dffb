"""The ready jobs of one executor by rank, as the scheduler keeps them in a sorted set."""

from __future__ import annotations

from heapq import heappop, heappush

from marie_celery.errors import ConfigError
from marie_celery.planning.job import FlatJob
from marie_celery.planning.planner import ExecutionPlanner
from marie_celery.planning.share import choose

Entry = tuple[float, str]

LOOK_AHEAD = 32


class ReadySet:
    """Heaps in which outdated entries stay until they surface; one counts if its score is the current."""

    def __init__(self, planner: ExecutionPlanner, new_dag_share: int) -> None:
        self._planner = planner
        self._share = new_dag_share if getattr(planner, "prefers_active_dags", False) else None
        self._credit = 0
        self._jobs: dict[str, tuple[float, FlatJob]] = {}
        self._active: list[Entry] = []
        self._new: list[Entry] = []
        self._changes: list[tuple[int, str]] = []
        self.reranks = 0

    def __len__(self) -> int:
        return len(self._jobs)

    def put(self, job: FlatJob, now_ms: int) -> None:
        """Adds a job, or gives it its present place."""
        rank = self._planner.rank(job, now_ms)
        self._jobs[job.job_id] = (rank.score, job)
        heap = self._new if self._share is not None and job.new_dag else self._active
        heappush(heap, (rank.score, job.job_id))
        if rank.valid_until_ms is not None:
            heappush(self._changes, (rank.valid_until_ms, job.job_id))

    def take(self, now_ms: int) -> FlatJob:
        """Removes and returns the best job at this moment."""
        self._rerank(now_ms)
        active, new = self._prune(self._active, new=False), self._prune(self._new, new=True)
        take_new = False
        if self._share is not None:
            take_new, self._credit = choose(
                self._credit, self._share, active_waits=bool(active), new_waits=bool(new)
            )
        heap = new if take_new else active
        job_id = self._ask(heap, now_ms) if getattr(self._planner, "only_plans", False) else heappop(heap)[1]
        return self._jobs.pop(job_id)[1]

    def _ask(self, heap: list[Entry], now_ms: int) -> str:
        """The choice of a planner that cannot rank, among the candidates that the ranks bring up."""
        candidates: dict[str, Entry] = {}
        while self._prune(heap, new=False) and len(candidates) < LOOK_AHEAD:
            entry = heappop(heap)
            candidates[entry[1]] = entry
        jobs = [self._jobs[job_id][1] for job_id in candidates]
        active = {job.run_id for job in jobs if not job.new_dag}
        plan = self._planner.plan(jobs, {jobs[0].executor: 1}, active, now_ms=now_ms)
        if not plan:
            raise ConfigError(f"the planner chose none of {len(jobs)} ready jobs for a free slot")
        chosen = getattr(plan[0], "job_id", None)
        if chosen not in candidates:
            raise ConfigError(f"the planner chose {plan[0]!r}, which is none of the jobs that it was given")
        for job_id, entry in candidates.items():
            if job_id != chosen:
                heappush(heap, entry)
        return str(chosen)

    def _rerank(self, now_ms: int) -> None:
        while self._changes and self._changes[0][0] <= now_ms:
            _, job_id = heappop(self._changes)
            if job_id in self._jobs:
                self.reranks += 1
                self.put(self._jobs[job_id][1], now_ms)

    def _prune(self, heap: list[Entry], *, new: bool) -> list[Entry]:
        while heap and not self._is_current(*heap[0], new=new):
            heappop(heap)
        return heap

    def _is_current(self, score: float, job_id: str, *, new: bool) -> bool:
        if job_id not in self._jobs:
            return False
        current, job = self._jobs[job_id]
        return score == current and (self._share is None or job.new_dag == new)
