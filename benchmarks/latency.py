"""How long from the end of the last parent to the start of the child, on real workers.

    python -m benchmarks.latency [--hops 1000] [--layers 20] [--write]

Each job returns when it began and ended by the clock that all processes of a machine share, so the time holds all of it:
the report of the parent, the choice, the message, the start of the child, and the inputs that it reads.
"""

from __future__ import annotations

import argparse
import sys

from benchmarks.histogram import histogram, percentile
from benchmarks.lab import PATIENCE_SECONDS, lab
from benchmarks.report import Report, can_write

WIDTH = 50


def main() -> int:
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("--hops", type=int, default=1_000, help="in a row, on an idle cluster")
    options.add_argument("--layers", type=int, default=20, help=f"of {WIDTH} jobs and one that joins them")
    can_write(options)
    given = options.parse_args()
    report = Report()
    with lab() as cluster:
        cluster.start_scheduler()
        cluster.start_workers()
        for title, run in (
            (f"{given.hops:,} hops in a row, idle cluster", cluster.app_module.hops.submit(given.hops)),
            (f"{given.layers} × ({WIDTH} + 1), full cluster", cluster.app_module.layers.submit(given.layers, WIDTH)),
        ):
            show(title, [1000 * waited for waited, _ in run.result(PATIENCE_SECONDS)], report)
    return report.end("latency", write=given.write)


def show(title: str, milliseconds: list[float], report: Report) -> None:
    shares = {"p50": 0.5, "p99": 0.99, "p99.9": 0.999, "most": 1.0}
    told = "  ".join(f"{name} {percentile(milliseconds, share):.2f}" for name, share in shares.items())
    report.line(title, f"{told} ms")
    print("\n".join(histogram(milliseconds)))


if __name__ == "__main__":
    sys.exit(main())
