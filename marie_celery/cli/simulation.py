"""`simulate`: planners compared in virtual time. It needs no app and no Redis, except for the cluster's own runs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from marie_celery.cli.context import console, find_marie, json_option, print_json
from marie_celery.errors import ConfigError
from marie_celery.model.priority import PriorityMode
from marie_celery.planning.settings import LevelMode
from marie_celery.simulation import (
    SCENARIOS,
    Comparison,
    Workload,
    compare,
    from_records,
    from_text,
    generate,
    render_chart,
    render_table,
    resolve,
    to_text,
)
from marie_celery.simulation.arrivals import ARRIVALS
from marie_celery.simulation.options import changed_spec, parse_slots, planning_settings
from marie_celery.simulation.report import NEW_DAG_SHARE
from marie_celery.simulation.shapes import SHAPES
from marie_celery.store.recording import Recorder

STDIN = "-"
PLANNERS = ("fifo", "static", "hrrn", "sjfs", "global", "classic", "slack")

# What says how a workload is made, and so means nothing for one that has been recorded.
MAKING = ("scenario", "jobs", "load", "arrivals", "shape", "sla", "runtime_tail", "seed")
CHANGING = ("load", "arrivals", "shape", "sla", "runtime_tail", "slots")

# A pipe sets no limit, so a table may be as wide as it needs to be.
PIPE_WIDTH = 240

written = click.Path(dir_okay=False, writable=True, path_type=Path)


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, allow_dash=True), required=False)
@click.option(
    "-p",
    "--planner",
    multiple=True,
    default=PLANNERS,
    show_default=True,
    help="A name, a row of sort keys, or module:Class from here. Repeat it.",
)
@click.option(
    "-s",
    "--scenario",
    multiple=True,
    type=click.Choice(list(SCENARIOS)),
    default=tuple(SCENARIOS),
    show_default=True,
    help="A workload to generate. Repeat it.",
)
@click.option("-j", "--jobs", type=click.IntRange(1, 1_000_000), help="About how many jobs; 10000 if not said.")
@click.option("--load", type=float, help="Work for the busiest executor; 1 is all that it can do.")
@click.option("--arrivals", type=click.Choice(list(ARRIVALS)), help="How runs arrive.")
@click.option("--shape", multiple=True, metavar="NAME=WEIGHT", help=f"{', '.join(SHAPES)}. Repeat it.")
@click.option(
    "--sla",
    multiple=True,
    metavar="WEIGHT:SOFT:HARD[:PRIORITY]",
    help="A kind of customer, such as 30:6s:15s:high or 70:-:-. Repeat it.",
)
@click.option("--runtime-tail", type=float, help="Pareto exponent of the size of runs; 1.5 is a heavy tail.")
@click.option("--seed", type=int, default=1, show_default=True, help="The same seed makes the same workload.")
@click.option("--slots", multiple=True, metavar="EXECUTOR=N", help="Slots of an executor. Repeat it.")
@click.option("--recorded", is_flag=True, help="Replay finished runs of the app's cluster.")
@click.option("--last", type=click.IntRange(1), default=1000, show_default=True, help="How many of them.")
@click.option("--priority-mode", type=click.Choice([str(mode) for mode in PriorityMode]))
@click.option("--level-mode", type=click.Choice([str(mode) for mode in LevelMode]))
@click.option("--starvation-timeout", metavar="DURATION", help='For example "30m"; 0 turns ageing off.')
@click.option("--slack-patience", metavar="DURATION", help='For example "12h"; 0 for none.')
@click.option("--new-dag-share", type=click.FloatRange(0, 1), default=NEW_DAG_SHARE, show_default=True)
@click.option("--save", type=written, help="Write the workload as JSON lines, to simulate it again.")
@click.option("--html", type=written, help="Write charts as one HTML page.")
@click.option("--png", type=written, help="Write charts as a picture; needs Pillow.")
@json_option
@click.pass_context
def simulate(
    ctx: click.Context,
    /,
    file: str | None,
    planner: tuple[str, ...],
    slots: tuple[str, ...],
    recorded: bool,
    last: int,
    new_dag_share: float,
    save: Path | None,
    html: Path | None,
    png: Path | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Compare planners on a workload, in virtual time.

    The workload is generated, or read from FILE (JSON or JSON lines, - is standard input), or recorded from a cluster.
    """
    _check_outputs(save, html, png)
    settings = planning_settings(options)
    if not set(planner) <= set(PLANNERS):
        _import_from_here()
    for name in planner:
        resolve(name, settings)
    known = dict(map(parse_slots, slots))
    if file and recorded:
        raise click.UsageError("take the workload from FILE or from --recorded, not from both")
    if file or recorded:
        _refuse_making(ctx)
    if file:
        workloads = [from_text("standard input" if file == STDIN else file, _text(file), known)]
    elif recorded:
        workloads = [_recorded(ctx, last, known)]
    else:
        workloads = [
            _renamed(ctx, generate(changed_spec(SCENARIOS[name], known, options), options["seed"]))
            for name in options["scenario"]
        ]
    if save:
        if len(workloads) > 1:
            raise click.UsageError("--save writes one workload: choose one with --scenario")
        _write(save, to_text(workloads[0]).encode())
    with _progress(workloads, planner) as hear:
        comparisons = [
            compare(workload, planner, settings, new_dag_share=new_dag_share, on_progress=hear(workload))
            for workload in workloads
        ]
    _print(comparisons, as_json)
    if html:
        _write(html, render_chart(comparisons).encode())
    if png:
        from marie_celery.simulation.picture import render_png  # Pillow is optional

        _write(png, render_png(comparisons))


def _check_outputs(*paths: Path | None) -> None:
    """Before the work, not after it."""
    for path in paths:
        if path and not path.absolute().parent.is_dir():
            raise click.ClickException(f"cannot write '{path}': there is no folder '{path.absolute().parent}'")
    if paths[-1]:
        try:
            import PIL  # noqa: F401
        except ImportError:
            raise click.ClickException("--png needs Pillow: pip install pillow") from None


def _import_from_here() -> None:
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)  # as celery does


def _refuse_making(ctx: click.Context) -> None:
    for name in MAKING:
        if _is_given(ctx, name):
            flag = f"--{name.replace('_', '-')}"
            raise click.UsageError(f"{flag} makes a workload, and this one is recorded")


def _renamed(ctx: click.Context, workload: Workload) -> Workload:
    """A scenario that was changed is not to be mistaken for the one of that name."""
    changes = [f"{name} {_said(ctx.params[name])}" for name in CHANGING if _is_given(ctx, name)]
    return replace(workload, name=f"{workload.name} with {', '.join(changes)}") if changes else workload


def _said(value: Any) -> str:
    return " ".join(value) if isinstance(value, tuple) else str(value)


def _is_given(ctx: click.Context, name: str) -> bool:
    return ctx.get_parameter_source(name) is not ParameterSource.DEFAULT


def _text(file: str) -> str:
    try:
        content = sys.stdin.buffer.read() if file == STDIN else Path(file).read_bytes()
        return content.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise click.ClickException(f"cannot read '{file}': {error}") from None


def _recorded(ctx: click.Context, last: int, slots: Mapping[str, int]) -> Workload:
    store = find_marie(ctx).store
    recording = Recorder(store.client, store.keys).record(last)
    if recording.incomplete:
        click.echo(f"left out {recording.incomplete} runs that the event stream has lost a part of", err=True)
    if not recording.runs:
        raise ConfigError("there are no finished runs to replay")
    live = {view.name: view.capacity if view.target is None else view.target for view in store.capacity()}
    return from_records(f"recorded from {store.settings.namespace}", {**live, **slots}, recording.runs)


@contextmanager
def _progress(
    workloads: Sequence[Workload], planners: Sequence[str]
) -> Iterator[Callable[[Workload], Callable[[str, int], None]]]:
    """A bar on a terminal, nothing elsewhere."""
    terminal = Console(stderr=True)
    columns = TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    with Progress(*columns, console=terminal, transient=True, disable=not terminal.is_terminal) as bars:
        total = sum(workload.job_count for workload in workloads) * len(planners)
        bar = bars.add_task("simulating", total=total)

        def hear(workload: Workload) -> Callable[[str, int], None]:
            return lambda name, jobs: bars.update(bar, advance=jobs, description=f"{workload.name}: {name}")

        yield hear


def _print(comparisons: Sequence[Comparison], as_json: bool) -> None:
    if as_json:
        print_json([asdict(comparison) for comparison in comparisons])
        return
    output = console()
    if not output.is_terminal:
        output.width = PIPE_WIDTH
    for comparison in comparisons:
        output.print(render_table(comparison))


def _write(path: Path, content: bytes) -> None:
    try:
        path.write_bytes(content)
    except OSError as error:
        raise click.ClickException(f"cannot write '{path}': {error.strerror}") from None
    click.echo(f"wrote {path}", err=True)
