"""The tables of a comparison, in Markdown: they are as readable in a terminal as on a page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from benchmarks.peers.bars import judge
from benchmarks.peers.figures import Results, number
from benchmarks.peers.systems import MARIE, SYSTEMS, System
from benchmarks.peers.workloads import WORKLOADS


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [list(head), *map(list, rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    padded = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) + " |" for line in lines
    ]
    return "\n".join([padded[0], "|" + "|".join("-" * (width + 2) for width in widths) + "|", *padded[1:]])


def measured(results: Results) -> list[System]:
    seen = set().union(*results.seconds.values())
    return [system for system in SYSTEMS.values() if system.name in seen]


def figures_table(results: Results) -> str:
    head = ["", *(f"{workload.name}, {workload.unit}" for workload in WORKLOADS.values())]
    rows = [
        [system.title, *(str(results.figures(workload, system.name) or "–") for workload in WORKLOADS.values())]
        for system in measured(results)
    ]
    return table(head, rows)


def ratios_table(results: Results) -> str:
    """How many times as fast marie_celery is."""
    others = [system for system in measured(results) if system is not MARIE]
    rows = [
        [system.title, *(str(results.speed(name, MARIE.name, system.name) or "–") for name in WORKLOADS)]
        for system in others
    ]
    return table([f"{MARIE.title} is … times as fast as", *WORKLOADS], rows)


def bars_table(results: Results) -> str:
    rows = [
        [verdict.bar.text, f"≥ {number(verdict.bar.at_least)} ×", verdict.reached, verdict.word]
        for verdict in judge(results)
    ]
    return table(["bar", "wanted", "reached", ""], rows)


def choices_table() -> str:
    rows = [
        [system.title, ", ".join(system.environment.packages) or "this one", system.choices]
        for system in SYSTEMS.values()
    ]
    return table(["system", "version", "how it is run"], rows)


def report(results: Results) -> str:
    machine = ", ".join(f"{what} {value}" for what, value in results.machine.items())
    skipped = [f"Not shown: {SYSTEMS[name].title} ({reason})." for name, reason in results.skipped.items()]
    parts = [f"Measured on: {machine}.", figures_table(results), ratios_table(results), bars_table(results), *skipped]
    return "\n\n".join(parts)
