"""Where the time of a job goes on a real cluster: processor time by process, Redis commands, round trips, slow calls.

    python -m benchmarks.costs [--jobs 2000] [--relay 0] [--py-spy] [--write]

With `--py-spy` (pip install py-spy; it may need the right to trace) the scheduler, the worker's parent and one of its
processes are sampled meanwhile, into `speedscope` files that https://www.speedscope.app shows.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import Any

from benchmarks.histogram import percentile
from benchmarks.lab import PATIENCE_SECONDS, WORKERS, Lab, lab, processor_seconds
from benchmarks.report import Report, can_write

PINGS = 2_000
SLOW_MICROSECONDS = 2_000
SHOWN = 10


def clock_by_process(cluster: Lab) -> dict[str, float]:
    """Processor seconds so far."""
    parent = cluster.processes[WORKERS].pid
    return {
        "the server": processor_seconds(cluster.server.pid),
        "the scheduler": cluster.processor_seconds("scheduler"),
        "the worker's parent": processor_seconds(parent),
        "the worker's processes": cluster.processor_seconds(WORKERS) - processor_seconds(parent),
    }


def commands(client: Any) -> dict[str, tuple[int, int]]:
    """Calls and microseconds of each command. What scripts call is listed under its own name too."""
    stats = client.info("commandstats").items()
    return {name.removeprefix("cmdstat_"): (each["calls"], each["usec"]) for name, each in stats}


def round_trips(client: Any, report: Report, when: str) -> None:
    """What `redis-cli --latency` would show."""
    taken = []
    for _ in range(PINGS):
        began = perf_counter()
        client.ping()
        taken.append((perf_counter() - began) * 1e6)
    report.line(f"a round trip, {when}", f"p50 {percentile(taken, 0.5):.0f}, p99 {percentile(taken, 0.99):.0f} µs")


@contextmanager
def sampled(cluster: Lab, *, wanted: bool) -> Iterator[None]:
    program = shutil.which("py-spy", path=f"{Path(sys.executable).parent}") or shutil.which("py-spy")
    if not wanted or not program:
        if wanted:
            print("py-spy is not installed: nothing is sampled")
        yield
        return
    parent = cluster.processes[WORKERS].pid
    child = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()[0]
    pids = {"scheduler": cluster.processes["scheduler"].pid, "parent": parent, "process": child}
    spies = [
        subprocess.Popen(
            [program, "record", "-p", str(pid), "-r", "500", "-f", "speedscope", "-o", f"costs-{name}.speedscope.json"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for name, pid in pids.items()
    ]
    try:
        yield
    finally:
        for spy in spies:
            spy.send_signal(2)  # as Ctrl-C: it writes what it has
            spy.wait(30)
        print(f"wrote {', '.join(f'costs-{name}.speedscope.json' for name in pids)}")


def main() -> int:
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("--jobs", type=int, default=2_000)
    options.add_argument("--relay", default="0", help="relay_seconds; 0 shows the way by messages")
    options.add_argument("--py-spy", action="store_true")
    can_write(options)
    given = options.parse_args()
    report = Report()
    with lab(MARIE_RELAY_SECONDS=given.relay) as cluster:
        cluster.start_scheduler()
        cluster.start_workers()
        client = cluster.app_module.marie.store.client
        round_trips(client, report, "idle")
        client.config_set("slowlog-log-slower-than", SLOW_MICROSECONDS)
        client.slowlog_reset()
        client.config_resetstat()
        before = clock_by_process(cluster)
        began = perf_counter()
        with sampled(cluster, wanted=given.py_spy):
            run = cluster.app_module.flood.submit(given.jobs)
            submitted = perf_counter()
            run.wait(PATIENCE_SECONDS)
        took = perf_counter() - began
        after, found = clock_by_process(cluster), commands(client)
        jobs = given.jobs + 1
        report.line(f"{jobs:,} jobs", f"{jobs / took:,.0f} jobs/s", f"submitted after {submitted - began:.2f} s")
        for who, seconds in after.items():
            spent = seconds - before[who]
            report.line(f"processor of {who}", f"{spent * 1e6 / jobs:.0f} µs a job", f"{spent / took:.0%} of a core")
        dearest = sorted(found.items(), key=lambda item: -item[1][1])[:SHOWN]
        for name, (calls, micros) in dearest:
            report.line(f"Redis: {name}", f"{calls / jobs:.2f} calls a job", f"{micros / calls:.1f} µs each")
        slow = client.slowlog_get(128)
        report.line(f"calls of more than {SLOW_MICROSECONDS / 1000:.0f} ms", f"{len(slow)}")
        for each in slow[:3]:
            print(f"    {each['duration'] / 1000:.1f} ms: {str(each['command'])[:80]}")
    return report.end("costs", write=given.write)


if __name__ == "__main__":
    sys.exit(main())
