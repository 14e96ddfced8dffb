"""Comparisons as one HTML page with SVG bars: no script, no font, no file beside it."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from marie_celery.simulation.figures import FIGURES, Figure
from marie_celery.simulation.report import Comparison

TITLE = "Planners compared"

LETTER_WIDTH = 7
BAR_WIDTH = 200
VALUE_WIDTH = 80
ROW_HEIGHT = 24
BAR_HEIGHT = 16

STYLE = """
:root { color-scheme: light dark; --ink: #1c2430; --paper: #ffffff; --bar: #9db2cc; --best: #1f6feb; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #dde4ee; --paper: #11161d; --bar: #46566b; --best: #58a6ff; }
}
body { font: 14px/1.4 system-ui, sans-serif; color: var(--ink); background: var(--paper); margin: 2rem; }
h1 { font-size: 1.3rem; } h2 { font-size: 1.05rem; margin: 2rem 0 0; }
p { margin: .2rem 0 1rem; opacity: .75; }
.charts { display: flex; flex-wrap: wrap; gap: 1.5rem 2.5rem; }
figure { margin: 0; } figcaption { font-weight: 600; margin-bottom: .3rem; }
text { fill: var(--ink); font-size: 12px; } rect { fill: var(--bar); } .best { fill: var(--best); }
"""


def render_chart(comparisons: Iterable[Comparison], title: str = TITLE) -> str:
    sections = "\n".join(_section(comparison) for comparison in comparisons)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n"
        f"<body>\n<h1>{escape(title)}</h1>\n{sections}\n</body>\n</html>\n"
    )


def _section(comparison: Comparison) -> str:
    charts = "".join(_bars(comparison, figure) for figure in FIGURES)
    return (
        f"<h2>{escape(comparison.headline)}</h2>\n<p>The best of each figure is in colour.</p>\n"
        f'<div class="charts">\n{charts}</div>'
    )


def _bars(comparison: Comparison, figure: Figure) -> str:
    label_width = LETTER_WIDTH * max((len(result.planner) for result in comparison.results), default=0) + 8
    width = label_width + BAR_WIDTH + VALUE_WIDTH
    height = ROW_HEIGHT * len(comparison.results)
    best = comparison.best(figure)
    longest = max(result.value(figure) for result in comparison.results) or 1.0
    rows = []
    for number, result in enumerate(comparison.results):
        value = result.value(figure)
        top = number * ROW_HEIGHT
        baseline = top + BAR_HEIGHT - 3
        length = BAR_WIDTH * value / longest
        mark = ' class="best"' if value == best else ""
        rows.append(
            f'<text x="{label_width - 8}" y="{baseline}" text-anchor="end">{escape(result.planner)}</text>'
            f'<rect{mark} x="{label_width}" y="{top}" width="{max(1.0, length):.1f}" height="{BAR_HEIGHT}"/>'
            f'<text x="{label_width + length + 6:.1f}" y="{baseline}">{escape(figure.text(value))}</text>\n'
        )
    return (
        f"<figure><figcaption>{escape(figure.title)}</figcaption>\n"
        f'<svg role="img" aria-label="{escape(figure.title)}" width="{width}" height="{height}">\n'
        f"{''.join(rows)}</svg></figure>\n"
    )
