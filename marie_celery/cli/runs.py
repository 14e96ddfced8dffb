"""Commands about runs: `submit`, `runs`, `show`, `cancel`."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import datetime
from typing import Any

import click
from redis import RedisError
from rich.markup import escape
from rich.table import Table

from marie_celery.authoring.dag import DAGS
from marie_celery.cli.arguments import parse_arguments
from marie_celery.cli.context import console, find_marie, job_or_run, json_option, print_json, reach, table_of
from marie_celery.cli.draw import MOST_SHAPES
from marie_celery.cli.errors import described
from marie_celery.cli.folding import first_of_each
from marie_celery.errors import MarieError
from marie_celery.model.states import RunState, WorkState
from marie_celery.run import Run
from marie_celery.store.keys import RUN_ID_LENGTH
from marie_celery.store.picture import picture_of
from marie_celery.store.reading import Reader
from marie_celery.store.records import JobView, RunView

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
    """Submit a DAG.

    ARGUMENTS are JSON, or text if they are not; name=value gives one by name. After -- they may begin with a dash:

    marie -A yourmodule submit invoice scan.pdf pages='[1, 2]' -- -5
    """
    marie = find_marie(ctx)
    if dag not in DAGS:
        raise click.ClickException(f"there is no dag '{dag}'; there are {', '.join(sorted(DAGS)) or 'none'}")
    args, kwargs = parse_arguments(arguments)
    given = {name: value for name, value in options.items() if value is not None}
    marie.check()
    try:
        run = marie.submit(DAGS[dag].options(**given), *args, **kwargs)
    except (MarieError, RedisError):
        raise
    except Exception as error:
        raise click.ClickException(f"dag '{dag}' was refused: {described(error)}") from None
    if wait:
        _wait(ctx, run, as_json)
    elif as_json:
        print_json({"run": run.id})
    else:
        click.echo(run.id)


def _wait(ctx: click.Context, run: Run, as_json: bool) -> None:
    state = run.wait()
    result = run.result() if state is RunState.COMPLETED else None
    errors = run.marie.reader.failed_jobs(run.id)
    if as_json:
        print_json({"run": run.id, "state": state, "result": result, "errors": errors})
    else:
        shown = "" if result is None else f": {json.dumps(result, ensure_ascii=False, default=str)}"
        click.echo(f"{run.id} {state}{shown}")
        for job, error in errors.items():
            click.echo(f"{job}: {error}", err=True)
    if state is not RunState.COMPLETED:
        ctx.exit(1)


@click.command()
@click.option("-n", "--limit", default=20, show_default=True, type=click.IntRange(1, 10_000), help="How many.")
@json_option
@click.pass_context
def runs(ctx: click.Context, limit: int, as_json: bool) -> None:
    """List the newest runs."""
    found = reach(ctx).reader.runs(limit)
    if as_json:
        print_json([asdict(run) for run in found])
        return
    if not found:
        click.echo("no runs yet")
        return
    console().print(runs_table(found))


def runs_table(found: list[RunView]) -> Table:
    table = table_of("run", "dag", "state", "jobs", "submitted", "took", "SLA", narrow=["dag"])
    for run in found:
        table.add_row(
            run.run_id,
            escape(run.dag),
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
    """kept or missed, once the run has ended; a run that failed in time has kept nothing."""
    if run.soft_ms is None and run.hard_ms is None:
        return "–"
    if run.ended_ms is None:
        return "open"
    if run.hard_ms is not None and run.ended_ms > run.hard_ms:
        return "[red]hard missed[/red]"
    if run.soft_ms is not None and run.ended_ms > run.soft_ms:
        return "[yellow]soft missed[/yellow]"
    return "[green]kept[/green]" if run.state is RunState.COMPLETED else "–"


@click.command()
@click.argument("id")
@click.option("--graph", is_flag=True, help="Draw the jobs of a run with their states.")
@json_option
@click.pass_context
def show(ctx: click.Context, id: str, graph: bool, as_json: bool) -> None:
    """Show a run with its jobs, or one job."""
    reader = reach(ctx).reader
    if graph and not as_json:
        run = job_or_run(id)[:RUN_ID_LENGTH]
        picture = picture_of(reader.run(run), reader.jobs(run)).at_most(MOST_SHAPES["text"])
        click.echo(picture.text(), nl=False)
    elif _is_run(id):
        _show_run(reader, id, as_json)
    else:
        _show_job(reader, job_or_run(id), as_json)


def _is_run(id: str) -> bool:
    return len(id) <= RUN_ID_LENGTH


def _show_job(reader: Reader, id: str, as_json: bool) -> None:
    job, inputs = reader.job(id), reader.inputs(id)
    if as_json:
        print_json({**asdict(job), "inputs": inputs})
        return
    for name, value in asdict(job).items():
        if value not in (None, "") and name != "error":
            click.echo(f"{name:<11} {value}")
    click.echo(f"{'inputs':<11} {(inputs or '').replace(chr(10), ' ')}")
    if job.error:
        click.echo(job.error.get("traceback") or f"{job.error['type']}: {job.error['message']}")


def _show_run(reader: Reader, id: str, as_json: bool) -> None:
    run, jobs = reader.run(id), list(reader.jobs(id))
    if as_json:
        print_json({**asdict(run), "jobs": [asdict(job) for job in jobs]})
        return
    narrow = ["name", "executor", "worker", "why"]
    table = table_of("job", "name", "executor", "state", "attempt", "worker", "why", narrow=narrow)
    few, left_out = first_of_each(jobs)
    for job in few:
        why = f"{job.error['type']}: {job.error['message']}" if job.error else job.reason
        attempt = str(job.attempt or "")
        shown = [job.job_id, escape(job.name), job.executor, coloured(job.state), attempt, job.worker]
        table.add_row(*shown, escape(progress_note(job) or why))
    console().print(runs_table([run]), "", table)
    for (name, state), number in left_out.items():
        console().print(f"and {number} more {escape(name)} {coloured(state)}")
    if run.labels:
        console().print("labels: " + escape(", ".join(f"{name}={value}" for name, value in run.labels.items())))


def progress_note(job: JobView) -> str:
    """While it runs; afterwards its state says all."""
    if job.state is not WorkState.ACTIVE or job.progress is None:
        return ""
    return f"{job.progress:.0%} {job.progress_note}".rstrip()


@click.command()
@click.argument("id")
@click.option("--why", default="cancelled", show_default=True, help="Kept with what is cancelled.")
@json_option
@click.pass_context
def cancel(ctx: click.Context, id: str, why: str, as_json: bool) -> None:
    """Cancel a run or a job."""
    store = reach(ctx).store
    done = store.cancel_run(id, why, "cli") if _is_run(id) else store.cancel_job(id, why, "cli")
    if as_json:
        print_json({"id": id, "cancelled": done})
    else:
        click.echo(f"{id} cancelled" if done else f"{id} had ended already")
