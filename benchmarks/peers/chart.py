"""A bar chart as SVG, drawn by hand: it needs nothing, and reads on light and on dark pages."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from benchmarks.peers.figures import number

WIDTH, LABEL, VALUE, ROW, BAR, HEAD = 720, 190, 110, 26, 16, 40
OURS, THEIRS, INK = "#d9480f", "#868e96", "#868e96"


def bar_chart(title: str, rows: Sequence[tuple[str, float, bool]]) -> str:
    """Rows are (name, value, is it ours); the longest bar is the largest value, and zero has no length."""
    most = max(value for _, value, _ in rows)
    room = WIDTH - LABEL - VALUE
    height = HEAD + ROW * len(rows) + 8
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
        f'font-family="system-ui, sans-serif" font-size="13" fill="{INK}">',
        f"<title>{escape(title)}</title>",
        f'<text x="8" y="22" font-size="15" font-weight="600">{escape(title)}</text>',
    ]
    for place, (name, value, is_ours) in enumerate(rows):
        top = HEAD + place * ROW
        long = round(room * value / most, 1)
        middle = top + BAR - 3
        parts += [
            f'<text x="{LABEL - 8}" y="{middle}" text-anchor="end">{escape(name)}</text>',
            f'<rect x="{LABEL}" y="{top}" width="{long}" height="{BAR}" rx="2" fill="{OURS if is_ours else THEIRS}"/>',
            f'<text x="{LABEL + long + 6:.1f}" y="{middle}">{number(value)}</text>',
        ]
    return "\n".join([*parts, "</svg>", ""])
