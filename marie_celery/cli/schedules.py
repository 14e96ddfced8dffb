"""Commands about schedules: `schedules`, and `schedules add`, `pause`, `resume`, `remove`, `fire`, `next`, `reset`."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import click
from rich.markup import escape

from marie_celery.authoring.dag import DAGS
from marie_celery.cli.arguments import parse_arguments
from marie_celery.cli.context import console, find_marie, json_option, print_json, reach, table_of
from marie_celery.schedules.desk import Desk, Listed
from marie_celery.schedules.firing import Firing
from marie_celery.schedules.registry import check_arguments
from marie_celery.schedules.schedule import Catchup, Overlap, Schedule

BY = "cli"


@click.group(invoke_without_command=True)
@json_option
@click.pass_context
def schedules(ctx: click.Context, as_json: bool) -> None:
    """List the schedules; add, pause, fire one."""
    if ctx.invoked_subcommand is not None:
        return
    found = _desk(ctx).listing()
    if as_json:
        print_json([_plain(listed) for listed in found])
        return
    if not found:
        click.echo("no schedules yet")
        return
    table = table_of("schedule", "dag", "cron", "zone", "next", "last", "run", "state", narrow=["dag", "state"])
    for listed in found:
        entry, fields = listed.entry, listed.state.fields
        shown = ["", "", "", "", ""]
        if entry is not None:
            said = entry.definition
            times = [_shown(listed.state.number(name), said.timezone) for name in ("due", "last")]
            shown = [said.dag, said.cron, said.timezone, *times]
        unknown = ", no such dag here" if entry is not None and entry.definition.dag not in DAGS else ""
        state = escape(listed.condition + unknown)
        table.add_row(listed.name, *map(escape, shown), fields.get("run", ""), state)
    console().print(table)


@schedules.command()
@click.argument("name")
@click.argument("dag")
@click.argument("cron")
@click.argument("arguments", nargs=-1)
@click.option("-z", "--timezone", help="For example Europe/Berlin; UTC if not given.")
@click.option("--jitter", type=float, help="Fire up to so many seconds after the slot.")
@click.option("--catchup", type=click.Choice([each.value for each in Catchup]), help="What was missed.")
@click.option("--overlap", type=click.Choice([each.value for each in Overlap]), help="If the last run is still going.")
@click.option("--start", help="No slot before this, in ISO with its offset.")
@click.option("--end", help="No slot after this.")
@click.option("--paused", is_flag=True, help="Add it without firing it.")
@click.option("-p", "--priority", help="0–999 or background, low, normal, high, critical.")
@click.option("--soft-sla", help='For example "10m", from the firing.')
@click.option("--hard-sla", help='For example "1h", from the firing.')
@click.option("--replace", is_flag=True, help="There is one of this name already.")
@json_option
@click.pass_context
def add(
    ctx: click.Context,
    /,
    name: str,
    dag: str,
    cron: str,
    arguments: tuple[str, ...],
    replace: bool,
    as_json: bool,
    **given: Any,
) -> None:
    """Submit a DAG by the calendar.

    ARGUMENTS are JSON, or text if they are not; name=value gives one by name:

    marie -A yourmodule schedules add nightly invoice "0 2 * * *" inbox -z Europe/Berlin
    """
    find_marie(ctx)
    if dag not in DAGS:
        raise click.ClickException(f"there is no dag '{dag}'; there are {', '.join(sorted(DAGS)) or 'none'}")
    args, kwargs = parse_arguments(arguments)
    fields = {field: value for field, value in given.items() if value is not None}
    options = {field: fields.pop(field) for field in ("priority", "soft_sla", "hard_sla") if field in fields}
    schedule = Schedule.make(name=name, dag=dag, cron=cron, args=args, kwargs=kwargs, options=options, **fields)
    check_arguments(schedule, DAGS[dag])
    desk = _desk(ctx)
    desk.add(schedule, replace=replace, by=BY)
    _tell(desk, name, as_json, "added")


@schedules.command()
@click.argument("name")
@json_option
@click.pass_context
def pause(ctx: click.Context, name: str, as_json: bool) -> None:
    """Fire nothing until it is resumed; slots meanwhile are left out."""
    desk = _desk(ctx)
    _tell(desk, name, as_json, "paused" if desk.pause(name, BY) else "was paused already")


@schedules.command()
@click.argument("name")
@json_option
@click.pass_context
def resume(ctx: click.Context, name: str, as_json: bool) -> None:
    """Go on with the next slot."""
    desk = _desk(ctx)
    _tell(desk, name, as_json, "resumed" if desk.resume(name, BY) else "was not paused")


@schedules.command()
@click.argument("name")
@json_option
@click.pass_context
def reset(ctx: click.Context, name: str, as_json: bool) -> None:
    """Take what code says again."""
    desk = _desk(ctx)
    desk.reset(name, BY)
    _tell(desk, name, as_json, "is as code says")


@schedules.command()
@click.argument("name")
@json_option
@click.pass_context
def remove(ctx: click.Context, name: str, as_json: bool) -> None:
    """Forget a schedule. Its runs stay."""
    _desk(ctx).remove(name, BY)
    if as_json:
        print_json({"schedule": name, "removed": True})
    else:
        click.echo(f"{name} removed")


@schedules.command()
@click.argument("name")
@json_option
@click.pass_context
def fire(ctx: click.Context, name: str, as_json: bool) -> None:
    """Submit it now, also while it is paused."""
    marie = reach(ctx)
    store = marie.store
    schedule = Desk(store).entry(name).definition
    if schedule.dag not in DAGS:
        raise click.ClickException(f"there is no dag '{schedule.dag}'; there are {', '.join(sorted(DAGS)) or 'none'}")
    run = Firing(store, marie.submit).order(schedule, BY)
    if run == "":
        refused = next(listed for listed in Desk(store).listing() if listed.name == name)
        raise click.ClickException(f"{name} was refused: {refused.state.fields.get('error', 'see the events')}")
    if as_json:
        print_json({"schedule": name, "run": run, "waiting": run is None})
    else:
        click.echo(f"{name} waits for its last run to end" if run is None else run)


@schedules.command(name="next")
@click.argument("name")
@click.option("-n", "--count", default=5, show_default=True, type=click.IntRange(1, 1000), help="How many.")
@json_option
@click.pass_context
def upcoming(ctx: click.Context, name: str, count: int, as_json: bool) -> None:
    """The next firings, as if it were not paused."""
    store = reach(ctx).store
    schedule = Desk(store).entry(name).definition
    found: list[int] = []
    moment: int | None = store.look_at_schedules(0).now_ms
    while moment is not None and len(found) < count:
        moment = schedule.next_slot(moment)
        found += [] if moment is None else [moment]
    if as_json:
        print_json([{"slot": slot, "due": schedule.due_ms(slot)} for slot in found])
        return
    for slot in found:
        click.echo(_shown(schedule.due_ms(slot), schedule.timezone))


def _desk(ctx: click.Context) -> Desk:
    return Desk(reach(ctx).store)


def _tell(desk: Desk, name: str, as_json: bool, what: str) -> None:
    listed = next(listed for listed in desk.listing() if listed.name == name)
    if as_json:
        print_json(_plain(listed))
        return
    due = listed.state.number("due")
    zone = listed.entry.definition.timezone if listed.entry else "UTC"
    click.echo(f"{name} {what}" + (f", next at {_shown(due, zone)}" if due is not None else ""))


def _plain(listed: Listed) -> dict[str, Any]:
    entry, number = listed.entry, listed.state.number
    said = {} if entry is None else entry.model_dump(mode="json", exclude={"definition"})
    return {
        "name": listed.name,
        **({} if entry is None else entry.definition.model_dump(mode="json", exclude={"name", "paused"})),
        **said,
        "state": listed.condition,
        "next": number("next"),
        "due": number("due"),
        "last": number("last"),
        "run": listed.state.fields.get("run"),
        "waiting": listed.state.waiting,
    }


def _shown(moment_ms: int | None, zone: str) -> str:
    if moment_ms is None:
        return "–"
    return f"{datetime.fromtimestamp(moment_ms / 1000, ZoneInfo(zone)):%Y-%m-%d %H:%M:%S %Z}"
