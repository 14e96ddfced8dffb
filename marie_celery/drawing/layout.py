"""Where the shapes of a layered picture stand.

Layers come from the graph: everything stands below all that it waits for. An edge over several layers gets a place of
its own in each, so that it passes between the shapes. Then two things are improved, each by looking at the layers above
and below in turn: the order within a layer (few crossings) and the places (straight edges).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

SWEEPS = 6


@dataclass(frozen=True, slots=True)
class Place:
    layer: int
    x: float
    """Of its middle."""


@dataclass(frozen=True, slots=True)
class Layout:
    places: Sequence[Place]
    edges: Sequence[Sequence[Place]]
    """For each edge its way from shape to shape, with a place in every layer between."""
    width: float
    layers: int


def lay_out(
    levels: Sequence[int],
    edges: Sequence[tuple[int, int]],
    width_of: Callable[[int], float],
    gap: float,
    step: float = 0,
) -> Layout:
    """The shapes are numbered; `levels` has the layer of each. With a `step`, middles are whole multiples of it."""
    made = _Layering(levels, edges, width_of, gap)
    made.improve_order()
    made.improve_places()
    return made.result(step)


class _Layering:
    def __init__(
        self, levels: Sequence[int], edges: Sequence[tuple[int, int]], width_of: Callable[[int], float], gap: float
    ) -> None:
        self.levels = list(levels)
        self.widths = [width_of(number) for number in range(len(levels))]
        self.real = len(levels)
        self.gap = gap
        self.paths = [self._path(source, target) for source, target in edges]
        self.above: list[list[int]] = [[] for _ in self.levels]
        self.below: list[list[int]] = [[] for _ in self.levels]
        for path in self.paths:
            for upper, lower in pairwise(path):
                self.below[upper].append(lower)
                self.above[lower].append(upper)
        self.layers: list[list[int]] = [[] for _ in range(max(self.levels, default=-1) + 1)]
        for number, level in enumerate(self.levels):
            self.layers[level].append(number)
        self.x = [0.0] * len(self.levels)
        for layer in self.layers:
            self._settle(layer, [float(place) for place in range(len(layer))])

    def _path(self, source: int, target: int) -> list[int]:
        path = [source]
        for level in range(self.levels[source] + 1, self.levels[target]):
            path.append(len(self.levels))
            self.levels.append(level)
            self.widths.append(0)
        return [*path, target]

    def improve_order(self) -> None:
        place = {number: float(at) for layer in self.layers for at, number in enumerate(layer)}
        for sweep in range(SWEEPS):
            for layer, neighbours in self._sweep(sweep):
                layer.sort(key=lambda number, known=neighbours: _mean(known[number], place, place[number]))  # type: ignore[misc]
                place.update({number: float(at) for at, number in enumerate(layer)})

    def improve_places(self) -> None:
        for sweep in range(SWEEPS):
            for layer, neighbours in self._sweep(sweep):
                places = dict(enumerate(self.x))
                self._settle(layer, [_mean(neighbours[number], places, self.x[number]) for number in layer])

    def _sweep(self, number: int) -> list[tuple[list[int], list[list[int]]]]:
        """Down by what stands above, then up by what stands below."""
        if number % 2 == 0:
            return [(layer, self.above) for layer in self.layers[1:]]
        return [(layer, self.below) for layer in reversed(self.layers[:-1])]

    def _settle(self, layer: list[int], wanted: list[float]) -> None:
        """As near to the wanted places as the widths allow: midway between all pushed right and all pushed left."""
        right, left = list(wanted), list(wanted)
        for at in range(1, len(layer)):
            right[at] = max(right[at], right[at - 1] + self._apart(layer[at - 1], layer[at]))
        for at in range(len(layer) - 2, -1, -1):
            left[at] = min(left[at], left[at + 1] - self._apart(layer[at], layer[at + 1]))
        for at, number in enumerate(layer):
            self.x[number] = (right[at] + left[at]) / 2

    def _apart(self, one: int, other: int) -> float:
        return (self.widths[one] + self.widths[other]) / 2 + self.gap

    def result(self, step: float) -> Layout:
        edge = min((self.x[number] - self.widths[number] / 2 for number in range(len(self.x))), default=0)
        places = [Place(level, x - edge) for level, x in zip(self.levels, self.x, strict=True)]
        if step:
            self._align(places, step)
        width = max((place.x + self.widths[number] / 2 for number, place in enumerate(places)), default=0)
        ways = [[places[number] for number in path] for path in self.paths]
        return Layout(places[: self.real], ways, width, len(self.layers))

    def _align(self, places: list[Place], step: float) -> None:
        """Rounded to the right: nothing that was apart comes together."""
        for layer in self.layers:
            least = float("-inf")
            for at, number in enumerate(layer):
                if at:
                    least = places[layer[at - 1]].x + self._apart(layer[at - 1], number)
                x = max(places[number].x, least)
                places[number] = Place(places[number].layer, -(-x // step) * step)


def _mean(numbers: Sequence[int], known: dict[int, float], otherwise: float) -> float:
    return sum(known[number] for number in numbers) / len(numbers) if numbers else otherwise
