"""Comparisons as a PNG. The only module that needs Pillow: a plotting library would be a large guest for a few bars."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO

from PIL import Image, ImageDraw, ImageFont

from marie_celery.simulation.figures import FIGURES, Figure
from marie_celery.simulation.report import Comparison

CHARTS_PER_ROW = 3
MARGIN = 24
ROW_HEIGHT = 22
BAR_HEIGHT = 14
BAR_WIDTH = 180
VALUE_WIDTH = 80
LEAST_LABEL_WIDTH = 80

PAPER, INK, BAR, BEST = "#ffffff", "#1c2430", "#9db2cc", "#1f6feb"


def render_png(comparisons: Sequence[Comparison]) -> bytes:
    """One block of charts below the other, as on the page that `render_chart` makes."""
    sheet = _Sheet(comparisons)
    top = MARGIN
    for comparison in comparisons:
        top = sheet.draw_comparison(comparison, top)
    file = BytesIO()
    sheet.image.save(file, "PNG", optimize=True)
    return file.getvalue()


class _Sheet:
    def __init__(self, comparisons: Sequence[Comparison]) -> None:
        self.font = ImageFont.load_default(13)
        self.large = ImageFont.load_default(18)
        names = [result.planner for comparison in comparisons for result in comparison.results]
        widest = max(map(self.font.getlength, names), default=0)
        titles = max(self.font.getlength(figure.title) for figure in FIGURES)
        self.label_width = max(LEAST_LABEL_WIDTH, int(widest) + 10)
        self.chart_width = max(self.label_width + BAR_WIDTH + VALUE_WIDTH, int(titles)) + MARGIN
        headlines = [int(self.large.getlength(comparison.headline)) + MARGIN for comparison in comparisons]
        width = MARGIN + max(CHARTS_PER_ROW * self.chart_width, *headlines)
        height = MARGIN + sum(map(_height, comparisons))
        self.image = Image.new("RGB", (width, height), PAPER)
        self.pen = ImageDraw.Draw(self.image)

    def draw_comparison(self, comparison: Comparison, top: int) -> int:
        """Returns where the next one begins."""
        self.pen.text((MARGIN, top), comparison.headline, INK, self.large)
        for number, figure in enumerate(FIGURES):
            row, column = divmod(number, CHARTS_PER_ROW)
            left = MARGIN + column * self.chart_width
            self._draw_chart(comparison, figure, left, top + 2 * ROW_HEIGHT + row * _chart_height(comparison))
        return top + _height(comparison)

    def _draw_chart(self, comparison: Comparison, figure: Figure, left: int, top: int) -> None:
        self.pen.text((left, top), figure.title, INK, self.font)
        best = comparison.best(figure)
        longest = max(result.value(figure) for result in comparison.results) or 1.0
        bars = left + self.label_width
        for number, result in enumerate(comparison.results, start=1):
            line = top + number * ROW_HEIGHT
            value = result.value(figure)
            end = bars + max(1, int(BAR_WIDTH * value / longest))
            self.pen.text((bars - 8, line + BAR_HEIGHT // 2), result.planner, INK, self.font, anchor="rm")
            self.pen.rectangle((bars, line, end, line + BAR_HEIGHT), BEST if value == best else BAR)
            self.pen.text((end + 6, line + BAR_HEIGHT // 2), figure.text(value), INK, self.font, anchor="lm")


def _chart_height(comparison: Comparison) -> int:
    return (len(comparison.results) + 1) * ROW_HEIGHT + MARGIN


def _height(comparison: Comparison) -> int:
    rows = -(-len(FIGURES) // CHARTS_PER_ROW)
    return 2 * ROW_HEIGHT + rows * _chart_height(comparison) + MARGIN
