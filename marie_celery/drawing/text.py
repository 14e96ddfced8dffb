"""A picture in characters: a row of shapes for each layer, and lines between the rows.

Between two rows each shape with something below has a line of its own: lines of different shapes may cross, and meet
where they arrive, but never run together on the way.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from marie_celery.drawing.layout import Layout, Place, lay_out
from marie_celery.drawing.picture import Picture, Shape

MARKS = {
    "completed": "✓",
    "failed": "✗",
    "expired": "✗",
    "cancelled": "✗",
    "skipped": "–",
    "active": "▶",
    "dispatched": "▷",
    "retry": "↻",
    "held": "‖",
    "ready": "·",
    "created": "·",
}

UP, DOWN, LEFT, RIGHT = 1, 2, 4, 8
_LINES = {
    UP: "│", DOWN: "│", LEFT: "─", RIGHT: "─",
    UP | DOWN: "│", LEFT | RIGHT: "─",
    UP | RIGHT: "╰", UP | LEFT: "╯", DOWN | RIGHT: "╭", DOWN | LEFT: "╮",
    UP | DOWN | RIGHT: "├", UP | DOWN | LEFT: "┤", LEFT | RIGHT | DOWN: "┬", LEFT | RIGHT | UP: "┴",
    UP | DOWN | LEFT | RIGHT: "┼",
}  # fmt: skip


def shown(shape: Shape) -> str:
    mark = MARKS.get(shape.state, "")
    words = " ".join(filter(None, [mark, shape.label, f"({shape.note})" if shape.note else ""]))
    return "".join(each if each.isprintable() else " " for each in words)


def text(picture: Picture) -> str:
    if not picture.shapes:
        return ""
    layout = lay_out(picture.levels, picture.edges, lambda number: _width(picture.shapes[number]), 3, step=2)
    rows: list[str] = []
    for layer in range(layout.layers):
        rows.append(_names(picture, layout, layer))
        rows += _between(layout, layer)
    return "\n".join(row.rstrip() for row in rows) + "\n"


def _width(shape: Shape) -> int:
    return len(shown(shape)) // 2 * 2 + 2


def _names(picture: Picture, layout: Layout, layer: int) -> str:
    row = [" "] * (round(layout.width) + 4)
    passing = {_column(place) for way in layout.edges for place in way[1:-1] if place.layer == layer}
    for column in passing:
        row[column] = "│"
    for shape, place in zip(picture.shapes, layout.places, strict=True):
        if place.layer == layer:
            words = shown(shape)
            first = max(0, round(place.x) - len(words) // 2)
            row[first : first + len(words)] = words
    return "".join(row)


def _column(place: Place) -> int:
    return round(place.x)


def _between(layout: Layout, layer: int) -> list[str]:
    """The lines from this layer to the next."""
    targets: dict[int, set[int]] = {}
    for way in layout.edges:
        for upper, lower in pairwise(way):
            if upper.layer == layer:
                targets.setdefault(_column(upper), set()).add(_column(lower))
    lines = [(_departure(column, targets), below) for column, below in sorted(targets.items())]
    tracks = _tracks(lines)
    grid = [[0] * (round(layout.width) + 4) for _ in range(max(tracks, default=-1) + 1)]
    for (column, below), track in zip(lines, tracks, strict=True):
        for target in below:
            _draw(grid, column, target, track)
    return ["".join(_LINES.get(cell, " ") for cell in row) for row in grid]


def _departure(column: int, targets: dict[int, set[int]]) -> int:
    """One column aside, if something else arrives right below."""
    taken = column not in targets[column] and any(column in below for below in targets.values())
    return column + 1 if taken else column


def _tracks(lines: Sequence[tuple[int, set[int]]]) -> list[int]:
    """The row in which each line runs: the first where it runs into no other."""
    rows: list[list[tuple[int, set[int]]]] = []
    tracks = []
    for column, below in lines:
        track = 0
        while track < len(rows) and any(_collide((column, below), other) for other in rows[track]):
            track += 1
        if track == len(rows):
            rows.append([])
        rows[track].append((column, below))
        tracks.append(track)
    return tracks


def _collide(one: tuple[int, set[int]], other: tuple[int, set[int]]) -> bool:
    """Two lines may share a row if they are apart, or if both arrive where they meet, and nowhere else."""
    (first, last), (start, end) = _span(one), _span(other)
    if last < start or end < first:
        return False
    meeting = max(first, start)
    return not (meeting == min(last, end) and one[1] == other[1] == {meeting})


def _span(line: tuple[int, set[int]]) -> tuple[int, int]:
    column, below = line
    return min(column, *below), max(column, *below)


def _draw(grid: list[list[int]], source: int, target: int, track: int) -> None:
    for row in range(len(grid)):
        if row < track or source == target:
            grid[row][source] |= UP | DOWN
        elif row > track:
            grid[row][target] |= UP | DOWN
    if source == target:
        return
    grid[track][source] |= UP
    grid[track][target] |= DOWN
    step = 1 if target > source else -1
    for column in range(source, target, step):
        grid[track][column] |= RIGHT if step > 0 else LEFT
        grid[track][column + step] |= LEFT if step > 0 else RIGHT
