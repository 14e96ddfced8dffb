"""The same work on marie_celery and on its peers. Prints the tables, and exits with 1 if a bar is missed.

    python -m benchmarks.compare [--rounds 5] [--only marie,celery] [--json results.json] [--write]
    python -m benchmarks.compare --read results.json --write

Every round goes through all systems in turn, each on a fresh server with fresh, then warmed, processes. Peers are
installed into `benchmarks/.peers/`; one that cannot be installed or does not answer is left out, and the report says
why.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
from pathlib import Path

from benchmarks import page
from benchmarks.peers.bars import judge
from benchmarks.peers.chart import bar_chart
from benchmarks.peers.environments import NotHereError
from benchmarks.peers.figures import Results
from benchmarks.peers.stage import play
from benchmarks.peers.systems import SYSTEMS, System
from benchmarks.peers.tables import choices_table, measured, report
from benchmarks.peers.workloads import WORKLOADS, Workload


def machine() -> dict[str, str]:
    return {
        "processors": str(len(os.sched_getaffinity(0))),
        "Python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "load before": f"{os.getloadavg()[0]:.1f}",
    }


def measure(systems: list[System], workloads: list[Workload], rounds: int) -> Results:
    results = Results(machine() | {"rounds": str(rounds)})
    for system in systems:
        try:
            system.environment.prepare()
        except NotHereError as error:
            leave_out(results, system, error)
    for number in range(1, rounds + 1):
        for system in systems:
            if system.name in results.skipped or number > system.most_rounds:
                continue
            try:
                taken = play(system, workloads)
            except NotHereError as error:
                leave_out(results, system, error)
                continue
            results.add(system.name, taken)
            told = ", ".join(f"{name} {seconds:.2f} s" for name, seconds in taken.items())
            print(f"round {number} of {rounds}: {system.title}: {told}", flush=True)
    return results


def leave_out(results: Results, system: System, error: NotHereError) -> None:
    print(f"{system.title} is left out: {error}", flush=True)
    results.skip(system.name, str(error))


def charts(results: Results) -> dict[str, str]:
    """File name → SVG. Longer is better in all of them, so the chain is drawn as hops a second."""
    drawn = {}
    for workload in WORKLOADS.values():
        spreads = [(system, results.figures(workload, system.name)) for system in measured(results)]
        is_chain = workload.name == "chain"
        rows = [
            (system.title, 1000 / spread.median if is_chain else spread.median, system.name.startswith("marie"))
            for system, spread in spreads
            if spread
        ]
        if rows:
            title = f"{workload.name}: {'hops' if is_chain else 'jobs'} a second, more is better"
            drawn[f"performance-{workload.name}.svg"] = bar_chart(title, rows)
    return drawn


def write(results: Results) -> None:
    pictures = charts(results)
    for name, svg in pictures.items():
        (page.PAGE.parent / name).write_text(svg)
    shown = "\n".join(f"![{name.removeprefix('performance-').removesuffix('.svg')}]({name})" for name in pictures)
    page.write("compare", f"{report(results)}\n\n{shown}")
    page.write("choices", choices_table())


def main() -> int:
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--only", default="", help=f"some of: {','.join(SYSTEMS)}")
    options.add_argument("--workloads", default="", help=f"some of: {','.join(WORKLOADS)}")
    options.add_argument("--json", type=Path, help="where to keep what was measured")
    options.add_argument("--read", type=Path, help="show what an earlier run has kept, and measure nothing")
    options.add_argument("--write", action="store_true", help="put tables and charts into docs/performance.md")
    given = options.parse_args()
    for chosen, known in ((given.only, SYSTEMS), (given.workloads, WORKLOADS)):
        if unknown := set(filter(None, chosen.split(","))) - known.keys():
            options.error(f"{', '.join(sorted(unknown))}: not one of {', '.join(known)}")
    if given.read:
        results = Results.from_json(given.read.read_text())
    else:
        systems = [system for name, system in SYSTEMS.items() if name in (given.only or name).split(",")]
        workloads = [workload for name, workload in WORKLOADS.items() if name in (given.workloads or name).split(",")]
        results = measure(systems, workloads, given.rounds)
    print(f"\n{report(results)}")
    if given.json:
        given.json.write_text(results.to_json())
    if given.write:
        write(results)
    return 1 if any(verdict.is_met is False for verdict in judge(results)) else 0


if __name__ == "__main__":
    sys.exit(main())
