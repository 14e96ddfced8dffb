"""`capacity`: the slots of every executor, drawn."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import click
from rich.console import Console, RenderableType
from rich.live import Live
from rich.text import Text

from marie_celery.capacity import ExecutorStatus, look, report
from marie_celery.cli.context import console, json_option, print_json, reach, table_of
from marie_celery.clock import Clock, SystemClock
from marie_celery.store.store import Store

MOST_BOXES = 40
EVERY_SECONDS = 1.0


@click.command()
@click.option("-w", "--watch", is_flag=True, help="Draw it again every second, until Ctrl-C.")
@click.option("--count", "frames", type=click.IntRange(1), help="With --watch: so many times, then end.")
@json_option
@click.pass_context
def capacity(ctx: click.Context, watch: bool, frames: int | None, as_json: bool) -> None:
    """Slots by executor."""
    if frames and not watch:
        raise click.UsageError("--count says how often to draw: it needs --watch")
    if as_json and watch:
        raise click.UsageError("--json prints once: use it without --watch")
    store = reach(ctx).store
    if as_json:
        print_json(report(look(store)))
    elif watch:
        watch_capacity(store, console(), frames)
    else:
        console().print(picture(look(store)))


def watch_capacity(store: Store, screen: Console, frames: int | None, clock: Clock | None = None) -> None:
    """On a terminal in place; elsewhere one picture after the other."""
    try:
        if not screen.is_terminal:
            for frame in _frames(store, frames, clock or SystemClock()):
                screen.print(frame)
            return
        with Live(console=screen, auto_refresh=False) as live:
            for frame in _frames(store, frames, clock or SystemClock()):
                live.update(frame, refresh=True)
    except KeyboardInterrupt:
        return  # that is how one stops watching


def _frames(store: Store, frames: int | None, clock: Clock) -> Iterator[RenderableType]:
    for number in count(1):
        yield picture(look(store))
        if number == frames:
            return
        clock.sleep(EVERY_SECONDS)


def picture(executors: list[ExecutorStatus]) -> RenderableType:
    if not executors:
        return Text("no executors yet: no worker has come and no run has named one")
    table = table_of("executor", "slots", "used", "holders", "notes", narrow=["slots", "holders", "notes"])
    for status in executors:
        used = f"{status.used}/{status.view.capacity}"
        cells = (status.view.name, boxes(status), used, ", ".join(status.holders), ", ".join(status.notes))
        table.add_row(*map(Text, cells))  # not markup: [■] would be a tag
    totals = report(executors)["result"]["totals"]
    table.add_row("all", "", f"{totals['used']}/{totals['capacity']}")
    return table


def boxes(status: ExecutorStatus) -> str:
    """[■] for a slot in use, [□] for a free one; of many, the first and how many more."""
    drawn = "[■]" * min(status.used, MOST_BOXES)
    drawn += "[□]" * min(status.available, MOST_BOXES - min(status.used, MOST_BOXES))
    more = status.used + status.available - MOST_BOXES
    return f"{drawn} +{more}" if more > 0 else drawn
