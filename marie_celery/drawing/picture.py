"""What is drawn: shapes and the edges between them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from marie_celery.model import graph

# The worst first: what a shape shows that stands for many jobs.
STATES = (
    *("failed", "expired", "cancelled", "active", "dispatched", "retry", "held", "ready", "created"),
    *("skipped", "completed"),
)


@dataclass(frozen=True, slots=True)
class Shape:
    label: str
    note: str = ""
    """What else is said of it, on a line of its own: the executor, how far it is."""
    state: str = ""
    kind: str = ""
    """Shapes of one kind and layer may be drawn as one; their task."""


@dataclass(frozen=True)
class Picture:
    """Printed, it is Mermaid; in a notebook it is an SVG."""

    title: str
    shapes: Sequence[Shape]
    edges: Sequence[tuple[int, int]]

    @cached_property
    def levels(self) -> Sequence[int]:
        parents: list[list[int]] = [[] for _ in self.shapes]
        for source, target in self.edges:
            parents[target].append(source)
        return graph.lay_out(parents).levels

    def at_most(self, number: int) -> Picture:
        """The same, or, if it has more shapes, with one for all of a kind in a layer."""
        if len(self.shapes) <= number:
            return self
        groups: dict[tuple[int, str], list[int]] = {}
        for place, shape in enumerate(self.shapes):
            groups.setdefault((self.levels[place], shape.kind or shape.label), []).append(place)
        group_of = {place: at for at, places in enumerate(groups.values()) for place in places}
        shapes = [_together([self.shapes[place] for place in places]) for places in groups.values()]
        edges = sorted({(group_of[source], group_of[target]) for source, target in self.edges})
        return Picture(self.title, shapes, edges)

    def mermaid(self) -> str:
        from marie_celery.drawing.mermaid import mermaid

        return mermaid(self)

    def svg(self) -> str:
        from marie_celery.drawing.svg import svg

        return svg(self)

    def text(self) -> str:
        """For a terminal of any width."""
        from marie_celery.drawing.text import text

        return text(self)

    def __str__(self) -> str:
        return self.mermaid()

    def _repr_svg_(self) -> str:
        return self.svg()


def _together(shapes: Sequence[Shape]) -> Shape:
    first = shapes[0]
    if len(shapes) == 1:
        return first
    counts = Counter(shape.state for shape in shapes if shape.state)
    worst = min(counts, key=STATES.index, default="")
    told = ", ".join(f"{counts[state]} {state}" for state in STATES if state in counts)
    return replace(first, label=f"{first.kind or first.label} ×{len(shapes)}", state=worst, note=told or first.note)
