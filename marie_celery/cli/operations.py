"""Commands that steer what is there: `pause`, `resume`, `dead`, `replay`, `reconcile`.

Orders are kept in Redis: they hold for workers and schedulers that are away now.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import asdict
from datetime import datetime

import click
from rich.markup import escape

from marie_celery.cli.context import console, job_or_run, json_option, operator_name, print_json, reach, table_of
from marie_celery.errors import MarieError, UnknownJob, UnknownRun
from marie_celery.operations import DeadLetter
from marie_celery.store.keys import RUN_ID_LENGTH, run_of
from marie_celery.store.steering import Held

_KIND = click.Choice(["run", "job", "task", "executor"])
_ID = re.compile(r"[0-9a-f]{13}(-\d{6,})?")
_SHOWN_INPUTS = 60


@click.command()
@click.argument("kind", type=_KIND)
@click.argument("id")
@json_option
@click.pass_context
def pause(ctx: click.Context, kind: Held, id: str, as_json: bool) -> None:
    """Start nothing more of a run, job, task or executor.

    What runs is finished. It holds until `resume`, also for runs that are submitted later.
    """
    done = reach(ctx).operations.pause(kind, _named(kind, id), by=operator_name())
    if as_json:
        print_json({"kind": kind, "id": id, "paused": done})
    else:
        click.echo(f"{kind} {id} paused" if done else f"{kind} {id} had ended already")


@click.command()
@click.argument("kind", type=_KIND)
@click.argument("id")
@json_option
@click.pass_context
def resume(ctx: click.Context, kind: Held, id: str, as_json: bool) -> None:
    """Go on with what was paused, or with a cancelled run.

    A run that was cancelled or has expired does what it has not done.
    """
    done = reach(ctx).operations.resume(kind, _named(kind, id), by=operator_name())
    if as_json:
        print_json({"kind": kind, "id": id, "resumed": done})
    else:
        ended = f"{kind} {id} had ended already; marie replay {id} runs it again"
        click.echo(f"{kind} {id} resumed" if done else ended)


def _named(kind: Held, id: str) -> str:
    return job_or_run(id) if kind in ("run", "job") else id


@click.command()
@click.option("-n", "--limit", default=50, show_default=True, type=click.IntRange(1, 10_000), help="How many.")
@json_option
@click.pass_context
def dead(ctx: click.Context, limit: int, as_json: bool) -> None:
    """List jobs that failed for good, the newest first."""
    letters = reach(ctx).operations.dead(limit)
    if as_json:
        print_json([asdict(letter) for letter in letters])
        return
    if not letters:
        click.echo("no dead letters")
        return
    table = table_of("job", "task", "error", "when", "inputs", narrow=["task", "error", "inputs"])
    for letter in letters:
        when = f"{datetime.fromtimestamp(letter.died_ms / 1000):%Y-%m-%d %H:%M:%S}"
        table.add_row(letter.job.job_id, escape(letter.job.task), escape(_error(letter)), when, escape(_inputs(letter)))
    console().print(table)


def _error(letter: DeadLetter) -> str:
    error = letter.job.error or {}
    told = f"{error.get('type', 'Error')}: {error.get('message', '')}" if error else ""
    return f"{letter.job.reason}: {told}" if told else letter.job.reason


def _inputs(letter: DeadLetter) -> str:
    text = letter.inputs.replace("\n", " ")
    return text if len(text) <= _SHOWN_INPUTS else f"{text[:_SHOWN_INPUTS]}…"


@click.command()
@click.argument("ids", metavar="ID…", nargs=-1)
@click.option("--alone", is_flag=True, help="Only these jobs, not what depends on them.")
@click.option("--all-dead", is_flag=True, help="All dead letters of runs that have ended.")
@json_option
@click.pass_context
def replay(ctx: click.Context, ids: tuple[str, ...], alone: bool, all_dead: bool, as_json: bool) -> None:
    """Run jobs of ended runs again, with what depends on them.

    An ID is a job, or a run: then all of it that did not end well. Exit code 1 if one is refused; the others run.
    """
    if bool(ids) == all_dead:
        raise click.UsageError("give the IDs of jobs or runs, or --all-dead")
    marie = reach(ctx)
    chosen = marie.store.client.zrange(marie.store.keys.dead, 0, -1) if all_dead else _checked(ids)
    replayed, refused = 0, {}
    for run, of_run in _by_run(chosen).items():
        try:
            replayed += marie.operations.replay(of_run, with_descendants=not alone, by=operator_name())
        except MarieError as error:
            refused[run] = str(error)
    if as_json:
        print_json({"replayed": replayed, "refused": refused})
    else:
        click.echo(f"{_jobs(replayed)} to run again")
        for reason in refused.values():
            click.echo(f"refused: {reason}", err=True)
    if refused:
        ctx.exit(1)


def _checked(ids: Iterable[str]) -> list[str]:
    jobs_and_runs = [job_or_run(id) for id in ids]
    for id in jobs_and_runs:
        if not _ID.fullmatch(id):
            raise UnknownJob(id) if len(id) > RUN_ID_LENGTH else UnknownRun(id)
    return jobs_and_runs


def _by_run(ids: Iterable[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for id in ids:
        found.setdefault(run_of(id), []).append(id)
    return found


def _jobs(number: int) -> str:
    return "1 job" if number == 1 else f"{number} jobs"


@click.command()
@json_option
@click.pass_context
def reconcile(ctx: click.Context, as_json: bool) -> None:
    """Put right jobs that are not where they should be.

    Exit code 1 if there were any: that should never be.
    """
    healed = reach(ctx).operations.reconcile()
    if as_json:
        print_json({"healed": healed})
    else:
        for job, what in healed.items():
            click.echo(f"{job} was {what}: put right")
        click.echo(f"{_jobs(len(healed))} put right" if healed else "everything is where it should be")
    if healed:
        ctx.exit(1)

