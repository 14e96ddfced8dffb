"""How long from the end of a parent to the start of its child, on real workers.

    python -m benchmarks.latency [--hops 1000] [--write]

Each job returns when it began and ended, by the clock that all processes of a machine share. So the time holds all of
it: the report of the parent, the choice, the message, the start of the child, and the inputs that it reads.
"""

from __future__ import annotations

import argparse
import sys

from benchmarks.histogram import histogram, percentile
from benchmarks.lab import PATIENCE_SECONDS, lab
from benchmarks.report import Report, can_write

PROCESSES = 2
CHAINS = {1: "an idle cluster", PROCESSES: "a job for each process", 4 * PROCESSES: "four for each, its turn included"}
"""How many run side by side."""


def main() -> int:
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("--hops", type=int, default=1_000, help="of all chains together")
    can_write(options)
    given = options.parse_args()
    report = Report()
    for relay, how in (("1", "relay"), ("0", "no relay")):
        with lab(MARIE_RELAY_SECONDS=relay) as cluster:
            cluster.start_scheduler()
            cluster.start_workers(PROCESSES)
            for chains, title in CHAINS.items():
                runs = [cluster.app_module.hops.submit(given.hops // chains) for _ in range(chains)]
                waits = [1000 * waited for run in runs for waited, _ in run.result(PATIENCE_SECONDS)]
                show(f"{how}: {title}", waits, report)
    return report.end("latency", write=given.write)


def show(title: str, milliseconds: list[float], report: Report) -> None:
    shares = {"p50": 0.5, "p99": 0.99, "p99.9": 0.999}
    told = ", ".join(f"{name} {percentile(milliseconds, share):.2f}" for name, share in shares.items())
    report.line(title, f"{told} ms", f"most {max(milliseconds):.1f} ms")
    print("\n".join(histogram(milliseconds)))


if __name__ == "__main__":
    sys.exit(main())
