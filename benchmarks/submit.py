"""How fast a run of 100 000 jobs is accepted: built, checked and written. Exits non-zero below the bar.

    python -m benchmarks.submit [--jobs 100000] [--rounds 3]
"""

from __future__ import annotations

import argparse
import statistics
import time

from celery import Celery

from marie_celery import Marie
from marie_celery.embedded import EmbeddedServer

BAR = 10_000.0


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--jobs", type=int, default=100_000)
    options.add_argument("--rounds", type=int, default=3, help="at least 2")
    given = options.parse_args()
    with EmbeddedServer() as server:
        marie = Marie(Celery("benchmark", broker=server.url))

        @marie.task(executor="main")
        def add(x: int) -> int:
            return x + 1

        @marie.task(executor="main")
        def total(xs: list[int]) -> int:
            return sum(xs)

        @marie.dag(hard_sla="1h")
        def wide(width: int) -> int:
            return total([add(number) for number in range(width)])

        marie.app.finalize()
        rates, memory = [], []
        for _ in range(given.rounds):
            memory.append(marie.store.client.info("memory")["used_memory"])
            began = time.perf_counter()
            run = wide.submit(given.jobs - 1)
            rates.append(given.jobs / (time.perf_counter() - began))
            assert run.status().jobs == given.jobs
    median = statistics.median(rates)
    rounds = ", ".join(f"{rate:,.0f}" for rate in rates)
    bytes_per_job = (memory[1] - memory[0]) / given.jobs
    print(f"submit of {given.jobs:,} jobs: median {median:,.0f} jobs/s (rounds: {rounds})")
    print(f"Redis: {bytes_per_job:,.0f} bytes per waiting job, arguments included")
    return 0 if median >= BAR else 1


if __name__ == "__main__":
    raise SystemExit(main())
