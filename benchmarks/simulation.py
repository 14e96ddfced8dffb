"""How fast the simulator is, and on how many seeds the slack planner misses the fewest hard SLAs.

    python -m benchmarks.simulation [--jobs 100000] [--seeds 10] [--seed-jobs 20000]
"""

from __future__ import annotations

from argparse import ArgumentParser
from dataclasses import replace
from time import perf_counter

from marie_celery.simulation import SCENARIOS, compare, generate

FIVE = ("fifo", "static", "hrrn", "global", "slack")
RIVALS = ("fifo", "static", "hrrn", "sjfs", "global", "classic")


def speed(jobs: int) -> None:
    print(f"{jobs:,} jobs under {len(FIVE)} planners ({', '.join(FIVE)})")
    for name, spec in SCENARIOS.items():
        workload = generate(replace(spec, jobs=jobs), seed=1)
        marks = [perf_counter()]
        for planner in FIVE:
            compare(workload, [planner])
            marks.append(perf_counter())
        each = ", ".join(f"{planner} {marks[n + 1] - marks[n]:.1f}" for n, planner in enumerate(FIVE))
        print(f"  {name:<10} {marks[-1] - marks[0]:6.1f} s   ({each})", flush=True)


def wins(seeds: int, jobs: int) -> None:
    print(f"hard SLAs missed by {', '.join(RIVALS)} | slack, {jobs:,} jobs each")
    for name, spec in SCENARIOS.items():
        won = 0
        for seed in range(1, seeds + 1):
            results = compare(generate(replace(spec, jobs=jobs), seed), [*RIVALS, "slack"]).results
            *rivals, slack = [result.hard_missed for result in results]
            won += slack < min(rivals)
            print(f"  {name:<10} seed {seed:<3} {' '.join(f'{missed:5}' for missed in rivals)} | {slack}", flush=True)
        print(f"  {name:<10} slack misses fewer than all others on {won} of {seeds} seeds")


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=100_000)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--seed-jobs", type=int, default=20_000)
    options = parser.parse_args()
    speed(options.jobs)
    wins(options.seeds, options.seed_jobs)


if __name__ == "__main__":
    main()
