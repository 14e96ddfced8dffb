"""Commands about who is next: `why`, `planner`, `reprioritise`, `estimates`.

Orders go straight to Redis and hold for all schedulers at once; none has to be running.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import click

from marie_celery.cli.context import console, job_or_run, json_option, operator_name, print_json, reach, table_of
from marie_celery.config import Settings
from marie_celery.errors import ConfigError
from marie_celery.model.priority import parse_priority
from marie_celery.model.sla import parse_sla
from marie_celery.planning import PLANNERS
from marie_celery.planning.registry import needs_import
from marie_celery.scheduler.policy import BY_SETTINGS, policy_of
from marie_celery.store.steering import Moment
from marie_celery.store.why import Why


@click.command()
@click.argument("id")
@click.argument("name", required=False)
@json_option
@click.pass_context
def why(ctx: click.Context, id: str, name: str | None, as_json: bool) -> None:
    """Tell why a job does not run, or what a run waits for.

    ID is a run or a job; a run and the NAME of one of its jobs will do as well.
    """
    marie = reach(ctx)
    answer = marie.why(job_or_run(id)) if name is None else marie.run(id).why(name)
    if as_json:
        print_json(asdict(answer))
    else:
        _tell(answer)


def _tell(answer: Why) -> None:
    click.echo(f"{answer.id} {answer.name}: {answer.state}")
    for reason in answer.reasons:
        click.echo(f"  {reason.text}")
        click.echo(f"    next: {reason.next}")


@click.command()
@click.argument("name", required=False)
@click.option("--reset", is_flag=True, help="Back to the planner of the settings.")
@json_option
@click.pass_context
def planner(ctx: click.Context, name: str | None, reset: bool, as_json: bool) -> None:
    """Show the planner in force, or put NAME in force.

    NAME is a planner, a row of sort keys such as "priority, estimated_runtime", or one that the settings name.
    """
    if name is not None and reset:
        raise click.UsageError("give NAME or --reset, not both")
    marie = reach(ctx)
    store, settings = marie.store, marie.settings
    if name is None and not reset:
        _show_planner(store.policy(), settings, as_json)
        return
    chosen = settings.planner if name is None else name
    if needs_import(chosen) and chosen not in _named_by(settings):
        raise ConfigError(f"the setting 'planners' does not name '{chosen}', so no scheduler would import it")
    ranked = store.replan(policy_of(chosen, settings, BY_SETTINGS if reset else operator_name()), operator_name())
    if as_json:
        print_json({"planner": chosen, "ranked": ranked})
    else:
        click.echo(f"planner {chosen}: {ranked} ready job{'' if ranked == 1 else 's'} ranked anew")


def _show_planner(policy: dict[str, str], settings: Settings, as_json: bool) -> None:
    in_force, by = policy.get("name", settings.planner), policy.get("by", "nobody yet")
    known = [*PLANNERS, *(each for each in _named_by(settings) if each not in PLANNERS)]
    if as_json:
        print_json({"planner": in_force, "by": by, "settings": settings.planner, "policy": policy, "planners": known})
        return
    click.echo(f"in force  {in_force}, set by {by}")
    if in_force != settings.planner:
        click.echo(f"settings  {settings.planner} (marie planner --reset)")
    click.echo(f"ranks by  {policy.get('rank_keys') or 'order of submission'}")
    click.echo(f"there are {', '.join(known)}")


def _named_by(settings: Settings) -> list[str]:
    return list(dict.fromkeys((settings.planner, *settings.planners)))


@click.command()
@click.argument("id")
@click.option("-p", "--priority", help="0–999 or background, low, normal, high, critical.")
@click.option("--soft-sla", help='From now, as "10m", or a moment with its zone; "none" takes it away.')
@click.option("--hard-sla", help="The same.")
@json_option
@click.pass_context
def reprioritise(
    ctx: click.Context, id: str, priority: str | None, soft_sla: str | None, hard_sla: str | None, as_json: bool
) -> None:
    """Change the priority or the SLAs of a run or a job."""
    if priority is None and soft_sla is None and hard_sla is None:
        raise click.UsageError("say what to change: --priority, --soft-sla or --hard-sla")
    given: dict[str, Any] = {
        "priority": None if priority is None else parse_priority(priority),
        "soft": _moment(soft_sla, "soft_sla"),
        "hard": _moment(hard_sla, "hard_sla"),
    }
    done = reach(ctx).store.reprioritise(job_or_run(id), by=operator_name(), **given)
    if as_json:
        print_json({"id": id, "reprioritised": done})
    else:
        click.echo(f"{id} reprioritised" if done else f"{id} had ended already")


@click.command()
@json_option
@click.pass_context
def estimates(ctx: click.Context, as_json: bool) -> None:
    """Show how long tasks take, as learned from their runs."""
    found = reach(ctx).reader.estimates()
    if as_json:
        print_json({task: {"seconds": seen.seconds, "count": seen.count} for task, seen in found.items()})
        return
    if not found:
        click.echo("nothing learned yet")
        return
    table = table_of("task", "seconds", "runs seen", narrow=["task"])
    for task, seen in found.items():
        table.add_row(task, f"{seen.seconds:.3f}", str(seen.count))
    console().print(table)


def _moment(text: str | None, name: str) -> Moment:
    if text is None:
        return None
    return "none" if text == "none" else parse_sla(text, name)
