"""A comparison as a table for the terminal."""

from __future__ import annotations

from rich.markup import escape
from rich.table import Table

from marie_celery.simulation.figures import FIGURES
from marie_celery.simulation.report import Comparison


def render_table(comparison: Comparison) -> Table:
    """One line per planner; the best of each column is bold."""
    table = Table(title=escape(comparison.headline), title_justify="left")
    table.add_column("planner")
    for figure in FIGURES:
        table.add_column(figure.column, justify="right", max_width=8)
    for result in comparison.results:
        cells = []
        for figure in FIGURES:
            value = result.value(figure)
            text = figure.text(value)
            cells.append(f"[bold]{text}[/bold]" if value == comparison.best(figure) else text)
        table.add_row(escape(result.planner), *cells)
    return table
