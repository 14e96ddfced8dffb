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

BAR = 20_000.0


class Client:
    """Submits runs that nobody works on."""

    def __init__(self, url: str) -> None:
        self.marie = marie = Marie(Celery("benchmark", broker=url))

        @marie.task(executor="main")
        def add(x: int) -> int:
            return x + 1

        @marie.task(executor="main")
        def total(xs: list[int]) -> int:
            return sum(xs)

        @marie.dag(hard_sla="1h")
        def wide(width: int) -> int:
            return total([add(number) for number in range(width)])

        self.wide = wide
        marie.app.finalize()

    def submit(self, jobs: int) -> float:
        """The seconds that it took."""
        began = time.perf_counter()
        run = self.wide.submit(jobs - 1)
        took = time.perf_counter() - began
        assert run.status().jobs == jobs
        return took

    def memory(self) -> int:
        return int(self.marie.store.client.info("memory")["used_memory"])


def bytes_per_job(url: str, jobs: int) -> float:
    """What a waiting job takes in Redis, arguments included. The first run pays for the scripts: the second counts."""
    client = Client(url)
    client.submit(jobs)
    before = client.memory()
    client.submit(jobs)
    return (client.memory() - before) / jobs


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--jobs", type=int, default=100_000)
    options.add_argument("--rounds", type=int, default=3)
    given = options.parse_args()
    with EmbeddedServer() as server:
        client = Client(server.url)
        rates = [given.jobs / client.submit(given.jobs) for _ in range(given.rounds)]
    median = statistics.median(rates)
    rounds = ", ".join(f"{rate:,.0f}" for rate in rates)
    print(f"submit of {given.jobs:,} jobs: median {median:,.0f} jobs/s (rounds: {rounds})")
    with EmbeddedServer() as server:
        print(f"Redis: {bytes_per_job(server.url, given.jobs):,.0f} bytes per waiting job, arguments included")
    return 0 if median >= BAR else 1


if __name__ == "__main__":
    raise SystemExit(main())
