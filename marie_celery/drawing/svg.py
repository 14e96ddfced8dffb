"""A picture as SVG, complete in itself."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from itertools import pairwise

from marie_celery.drawing.colours import COLOURS, PLAIN
from marie_celery.drawing.layout import Place, lay_out
from marie_celery.drawing.picture import Picture, Shape

LONGEST = 28
CHARACTER = 7.4
PADDING, HEIGHT, GAP, STEP, MARGIN = 14, 40, 24, 84, 16

_STYLE = (
    "text{font:13px system-ui,sans-serif;fill:#1c1c1c;text-anchor:middle}"
    ".note{font-size:10.5px;fill:#5c5c66}"
    ".edge{fill:none;stroke:#8a8a94;stroke-width:1.3}"
)
_ARROW = (
    '<marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
    '<path d="M0 0L8 4L0 8z" fill="#8a8a94"/></marker>'
)


def svg(picture: Picture) -> str:
    layout = lay_out(picture.levels, picture.edges, lambda number: _width(picture.shapes[number]), GAP)
    width = layout.width + 2 * MARGIN
    height = max(0, layout.layers - 1) * STEP + HEIGHT + 2 * MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'width="{width:.0f}" height="{height:.0f}" role="img">',
        f"<title>{escape(_clean(picture.title))}</title><style>{_STYLE}</style><defs>{_ARROW}</defs>",
        *(_edge(way) for way in layout.edges),
        *(_box(shape, place) for shape, place in zip(picture.shapes, layout.places, strict=True)),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _width(shape: Shape) -> float:
    return max(len(_cut(shape.label)) * CHARACTER, len(_cut(shape.note)) * CHARACTER * 0.8, 40) + 2 * PADDING


def _edge(way: Sequence[Place]) -> str:
    """Down from shape to shape, in soft curves through the gaps that are left for it."""
    x, y = way[0].x + MARGIN, _top(way[0]) + HEIGHT
    path = [f"M{x:.1f} {y:.1f}"]
    for before, place in pairwise(way):
        start, end = _top(before) + HEIGHT, _top(place)
        if place is not way[-1]:
            end += HEIGHT / 2
        if before is not way[0]:
            start -= HEIGHT / 2
        middle = (start + end) / 2
        there = place.x + MARGIN
        path.append(f"C{before.x + MARGIN:.1f} {middle:.1f} {there:.1f} {middle:.1f} {there:.1f} {end:.1f}")
    return f'<path class="edge" d="{"".join(path)}" marker-end="url(#arrow)"/>'


def _box(shape: Shape, place: Place) -> str:
    fill, line = COLOURS.get(shape.state, PLAIN)
    width, x, top = _width(shape), place.x + MARGIN, _top(place)
    told = " · ".join(filter(None, [shape.label, shape.state, shape.note]))
    label_y = top + (17 if shape.note else 25)
    texts = [f'<text x="{x:.1f}" y="{label_y:.0f}">{escape(_clean(_cut(shape.label)))}</text>']
    if shape.note:
        texts.append(f'<text class="note" x="{x:.1f}" y="{top + 32:.0f}">{escape(_clean(_cut(shape.note)))}</text>')
    return (
        f'<g><title>{escape(_clean(told))}</title><rect x="{x - width / 2:.1f}" y="{top:.0f}" width="{width:.1f}" '
        f'height="{HEIGHT}" rx="7" fill="{fill}" stroke="{line}"/>{"".join(texts)}</g>'
    )


def _top(place: Place) -> float:
    return MARGIN + place.layer * STEP


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def _clean(text: str) -> str:
    """XML has no place for control characters, not even by number."""
    return "".join(each if each.isprintable() else " " for each in text)
