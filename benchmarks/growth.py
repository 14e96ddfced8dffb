"""How costs grow with what waits, with processes, with the size of a DAG, and with schedulers. About four minutes.

    python -m benchmarks.growth [--jobs 1000000] [--write]

One run of each size: what to read is the course of the figures, not the last digit. Exits with 1 if a bar is missed.
"""

from __future__ import annotations

import argparse
import sys
from statistics import median
from time import perf_counter

from benchmarks.lab import PATIENCE_SECONDS, Lab, lab
from benchmarks.planning import Line, dispatch_round
from benchmarks.report import Report, can_write
from benchmarks.submit import bytes_per_job
from marie_celery.clock import SystemClock
from marie_celery.embedded import EmbeddedServer
from marie_celery.transport.transports import choose_transport

WAITING = (1_000, 10_000, 100_000, 1_000_000)
DISPATCHES, ROOM = 30, 64
PROCESSES = (1, 2, 4, 8)
NAPS, NAP_SECONDS = 400, 0.02
NODES = (10, 100, 1_000, 10_000, 100_000)
MOST_COMPLETED = 3_000
SCHEDULERS = (1, 2, 3, 4)
SETTLING_SECONDS = 3.0
IDLE_SECONDS = 10.0
IDLE_LIMIT = 0.01
RATIO_LIMIT = 1.5
LEAST_RATE = 20_000
JOBS_FOR_MEMORY = 20_000
BYTES_LIMIT = 600


def waiting_jobs(most: int, report: Report) -> None:
    """What a dispatch costs, whatever else waits."""
    costs = []
    with EmbeddedServer() as server:
        line = Line(server.url, "growth")
        transport = choose_transport(line.app, line.store)
        for size in (size for size in WAITING if size <= most):
            line.fill_up_to(size)
            line.begin_all_runs()
            rounds = [dispatch_round(line, transport, ROOM) for _ in range(DISPATCHES)]
            costs.append(median(rounds))
            report.line(f"a dispatch with {size:,} waiting, {ROOM} at a time", f"{costs[-1]:.0f} µs")
        transport.close()
    rate = 1e6 / costs[0]
    report.line("dispatches by one scheduler", f"{rate:,.0f}/s", f"≥ {LEAST_RATE:,}", kept=rate >= LEAST_RATE)
    ratio = costs[-1] / costs[0]
    report.line("most against fewest waiting", f"{ratio:.2f} ×", f"≤ {RATIO_LIMIT}", kept=ratio <= RATIO_LIMIT)


def memory(report: Report) -> None:
    with EmbeddedServer() as server:
        used = bytes_per_job(server.url, JOBS_FOR_MEMORY)
        limit = f"≤ {BYTES_LIMIT}"
        report.line("Redis, for each waiting job", f"{used:,.0f} bytes", limit, kept=used <= BYTES_LIMIT)


def idle_scheduler(cluster: Lab, report: Report) -> None:
    """With a worker beside it, and nothing to do."""
    before = cluster.processor_seconds("scheduler")
    SystemClock().sleep(IDLE_SECONDS)
    share = (cluster.processor_seconds("scheduler") - before) / IDLE_SECONDS
    limit = f"< {IDLE_LIMIT:.0%}"
    report.line(
        f"an idle scheduler's processor, over {IDLE_SECONDS:.0f} s", f"{share:.2%}", limit, kept=share < IDLE_LIMIT
    )


def nodes_per_dag(cluster: Lab, report: Report) -> None:
    for nodes in NODES:
        began = perf_counter()
        run = cluster.app_module.flood.submit(nodes - 1)
        submitted = perf_counter()
        rates = f"submit {nodes / (submitted - began):,.0f}/s"
        if nodes <= MOST_COMPLETED:
            run.result(PATIENCE_SECONDS)
            rates += f", done {nodes / (perf_counter() - began):,.0f}/s"
        else:
            run.cancel()
            run.wait(PATIENCE_SECONDS)
        report.line(f"a DAG of {nodes:,} nodes", rates)


def more_schedulers(cluster: Lab, report: Report) -> None:
    flood, store = cluster.app_module.flood, cluster.app_module.marie.store
    for count in SCHEDULERS:
        if count > 1:
            cluster.start_scheduler(f"scheduler-{count}")
        # One that is still starting takes a processor for itself.
        while len(store.schedulers()) < count:
            SystemClock().sleep(0.1)
        SystemClock().sleep(SETTLING_SECONDS)
        rounds = []
        for _ in range(3):
            began = perf_counter()
            flood.submit(MOST_COMPLETED).result(PATIENCE_SECONDS)
            rounds.append(MOST_COMPLETED / (perf_counter() - began))
        report.line(f"schedulers: {count}", f"{median(rounds):,.0f}/s")


def more_processes(report: Report) -> None:
    """Jobs that sleep: with jobs that do nothing, two cores would be the limit from the first process on."""
    for processes in PROCESSES:
        with lab() as cluster:
            cluster.start_scheduler()
            cluster.start_workers(processes)
            began = perf_counter()
            cluster.app_module.naps.submit(NAPS, NAP_SECONDS).wait(PATIENCE_SECONDS)
            took = perf_counter() - began
            share = NAPS * NAP_SECONDS / processes / took
            what = f"jobs of {NAP_SECONDS * 1000:.0f} ms, processes: {processes}"
            report.line(what, f"{NAPS / took:,.0f}/s", f"{share:.0%} of their time is work")


def main() -> int:
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("--jobs", type=int, default=WAITING[-1], help="how many wait at most")
    can_write(options)
    given = options.parse_args()
    report, began = Report(), perf_counter()
    waiting_jobs(given.jobs, report)
    memory(report)
    with lab() as cluster:
        cluster.start_scheduler()
        cluster.start_workers()
        idle_scheduler(cluster, report)
        nodes_per_dag(cluster, report)
        more_schedulers(cluster, report)
    more_processes(report)
    print(f"took {perf_counter() - began:.0f} s")
    return report.end("growth", write=given.write)


if __name__ == "__main__":
    sys.exit(main())
