"""Commands about runs: `submit`, `runs`, `show`, `cancel`."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import datetime
from typing import Any

import click
from rich.table import Table

from marie_celery.authoring.dag import DAGS
from marie_celery.cli.context import console, find_marie, json_option, print_json
from marie_celery.errors import UnknownRun
from marie_celery.model.states import RunState
from marie_celery.store.keys import RUN_ID_LENGTH
from marie_celery.store.records import RunView

_COLOURS = {
    "completed": "green",
    "failed": "red",
    "expired": "red",
    "cancelled": "yellow",
    "active": "cyan",
}


@click.command()
@click.argument("dag")
@click.argument("arguments", nargs=-1)
@click.option("-p", "--priority", help="0–999 or background, low, normal, high, critical.")
@click.option("--soft-sla", help='For example "10m".')
@click.option("--hard-sla", help='For example "1h".')
@click.option("--key", help="Refuse a second run with the same key.")
@click.option("--wait", is_flag=True, help="Wait for the end; exit code 1 unless completed.")
@json_option
@click.pass_context
def submit(
    ctx: click.Context, /, dag: str, arguments: tuple[str, ...], wait: bool, as_json: bool, **options: Any
) -> None:
    """Submit a DAG. Arguments are JSON, or text if they are not: 5 '["a"]' path=scan.pdf"""
    marie = find_marie(ctx)
    if dag not in DAGS:
        raise click.ClickException(f"there is no dag '{dag}'; there are {', '.join(sorted(DAGS)) or 'none'}")
    args = [_value(text) for text in arguments if not _is_named(text)]
    kwargs = {name: _value(value) for name, _, value in (t.partition("=") for t in arguments if _is_named(t))}
    given = {name: value for name, value in options.items() if value is not None}
    run = marie.submit(DAGS[dag].options(**given), *args, **kwargs)
    if not wait:
        print_json({"run": run.id}) if as_json else click.echo(run.id)
        return
    state = run.wait()
    result = run.result() if state is RunState.COMPLETED else None
    if as_json:
        print_json({"run": run.id, "state": state, "result": result})
    else:
        click.echo(f"{run.id} {state}" + ("" if result is None else f": {result}"))
    if state is not RunState.COMPLETED:
        ctx.exit(1)


def _is_named(text: str) -> bool:
    return text.partition("=")[0].isidentifier() and "=" in text


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text


@click.command()
@click.option("-n", "--limit", default=20, show_default=True, type=click.IntRange(1))
@json_option
@click.pass_context
def runs(ctx: click.Context, limit: int, as_json: bool) -> None:
    """List the newest runs."""
    found = find_marie(ctx).reader.runs(limit)
    if as_json:
        print_json([asdict(run) for run in found])
        return
    if not found:
        click.echo("no runs yet")
        return
    console().print(runs_table(found))


def runs_table(found: list[RunView]) -> Table:
    table = Table(box=None, pad_edge=False)
    for column in ("run", "dag", "state", "jobs", "submitted", "took", "SLA"):
        table.add_column(column)
    for run in found:
        table.add_row(
            run.run_id,
            run.dag,
            coloured(run.state),
            f"{run.done}/{run.jobs}",
            f"{datetime.fromtimestamp(run.created_ms / 1000):%H:%M:%S}",
            "" if run.ended_ms is None else f"{(run.ended_ms - run.created_ms) / 1000:.2f} s",
            sla_note(run),
        )
    return table


def coloured(state: str) -> str:
    colour = _COLOURS.get(state)
    return f"[{colour}]{state}[/{colour}]" if colour else str(state)


def sla_note(run: RunView) -> str:
    """kept or missed, for a run that has ended."""
    if run.soft_ms is None and run.hard_ms is None:
        return "–"
    if run.ended_ms is None:
        return "open"
    if run.hard_ms is not None and run.ended_ms > run.hard_ms:
        return "[red]hard missed[/red]"
    if run.soft_ms is not None and run.ended_ms > run.soft_ms:
        return "[yellow]soft missed[/yellow]"
    return "[green]kept[/green]"


@click.command()
@click.argument("id")
@json_option
@click.pass_context
def show(ctx: click.Context, id: str, as_json: bool) -> None:
    """Show a run with its jobs, or one job."""
    reader = find_marie(ctx).reader
    if len(id) > RUN_ID_LENGTH:
        job = reader.job(id)
        inputs = reader.inputs(id)
        if as_json:
            print_json({**asdict(job), "inputs": inputs})
            return
        for name, value in asdict(job).items():
            if value not in (None, "") and name != "error":
                click.echo(f"{name:<11} {value}")
        click.echo(f"{'inputs':<11} {(inputs or '').replace(chr(10), ' ')}")
        if job.error:
            click.echo(job.error.get("traceback") or f"{job.error['type']}: {job.error['message']}")
        return
    run, jobs = reader.run(id), list(reader.jobs(id))
    if as_json:
        print_json({**asdict(run), "jobs": [asdict(job) for job in jobs]})
        return
    table = Table(box=None, pad_edge=False)
    for column in ("job", "name", "executor", "state", "attempt", "worker", "why"):
        table.add_column(column)
    for job in jobs:
        why = f"{job.error['type']}: {job.error['message']}" if job.error else job.reason
        attempt = str(job.attempt or "")
        table.add_row(job.job_id, job.name, job.executor, coloured(job.state), attempt, job.worker, why[:60])
    console().print(runs_table([run]), "", table)


@click.command()
@click.argument("id")
@click.option("--why", default="cancelled", show_default=True)
@json_option
@click.pass_context
def cancel(ctx: click.Context, id: str, why: str, as_json: bool) -> None:
    """Cancel a run or a job."""
    store = find_marie(ctx).store
    if not id:
        raise UnknownRun(id)
    done = store.cancel_job(id, why, "cli") if len(id) > RUN_ID_LENGTH else store.cancel_run(id, why, "cli")
    if as_json:
        print_json({"id": id, "cancelled": done})
    else:
        click.echo(f"{id} cancelled" if done else f"{id} had ended already")
