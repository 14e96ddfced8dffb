"""How long one plan of 1 000 jobs takes, for every planner: the median of many rounds, in milliseconds.

    python -m benchmarks.planning_pure [jobs] [rounds]
"""

from __future__ import annotations

import sys
from random import Random
from statistics import median
from time import perf_counter

from marie_celery.planning import PLANNERS, ExecutionPlanner, FlatJob, planner

NOW_MS = 1_767_268_800_000
HOUR_MS = 3_600_000
LIMIT_MS = 5.0


def ready_jobs(count: int, random: Random) -> list[FlatJob]:
    """A crowd in which every sort key has something to decide."""

    def around_now() -> int | None:
        return random.choice((None, NOW_MS + random.randrange(-3 * HOUR_MS, 3 * HOUR_MS)))

    return [
        FlatJob(
            job_id=f"job{number:07}",
            run_id=f"run{random.randrange(1 + count // 5)}",
            executor=random.choice(("extract", "ocr", "classify")),
            level=random.randrange(6),
            priority=random.randrange(101),
            soft_sla_ms=around_now(),
            hard_sla_ms=around_now(),
            submitted_ms=NOW_MS - random.randrange(HOUR_MS),
            ready_ms=NOW_MS - random.randrange(HOUR_MS),
            estimated_runtime=random.choice((None, random.uniform(0, 60))),
            remaining_path=random.uniform(0, 300),
            run_activated_ms=random.choice((None, NOW_MS - random.randrange(60_000))),
        )
        for number in range(count)
    ]


def milliseconds(chosen: ExecutionPlanner, jobs: list[FlatJob], rounds: int) -> list[float]:
    active = {job.run_id for job in jobs if not job.new_dag}
    taken = []
    for _ in range(rounds):
        begin = perf_counter()
        chosen.plan(jobs, {"extract": 4, "ocr": 16}, active, frozenset(), now_ms=NOW_MS)
        taken.append((perf_counter() - begin) * 1000)
    return taken


def main() -> None:
    count, rounds = [int(argument) for argument in (*sys.argv[1:], *("1000", "50")[len(sys.argv) - 1 :])]
    jobs = ready_jobs(count, Random(1))
    print(f"plan() of {count:,} jobs, median of {rounds} rounds (limit for 1,000 jobs: {LIMIT_MS:.0f} ms)")
    for name in PLANNERS:
        taken = milliseconds(planner(name), jobs, rounds)
        print(f"  {name:<8} {median(taken):7.2f} ms   slowest {max(taken):7.2f} ms")


if __name__ == "__main__":
    main()
