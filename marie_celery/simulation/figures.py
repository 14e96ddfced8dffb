"""The figures that planners are compared by: one list for the table, the page and the picture."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Figure:
    """A field of `PlannerResult`, and how people read it."""

    name: str
    column: str
    title: str
    template: str
    more_is_better: bool = False

    def text(self, value: float) -> str:
        return self.template.format(value)


FIGURES = (
    Figure("hard_missed", "hard missed", "Hard SLAs missed", "{:,.0f}"),
    Figure("soft_missed", "soft missed", "Soft SLAs missed", "{:,.0f}"),
    Figure("weighted_tardiness", "weighted late s", "Mean lateness in seconds, weighted by priority", "{:,.1f}"),
    Figure("mean_wait", "mean wait s", "Mean wait in seconds", "{:,.1f}"),
    Figure("p99_wait", "p99 wait s", "Seconds that 99 % of the jobs waited at most", "{:,.0f}"),
    Figure("longest_wait", "longest wait s", "Longest wait in seconds", "{:,.0f}"),
    Figure("starved", "starved", "Jobs that waited longer than the starvation timeout", "{:,.0f}"),
    Figure("makespan", "makespan s", "Seconds from the first arrival to the last end", "{:,.0f}"),
    Figure("utilisation", "busy", "Utilisation of the busiest executor", "{:.1%}", more_is_better=True),
)
