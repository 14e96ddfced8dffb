"""Who works how much: `target`, `drain`, `tenants`. Orders are kept in Redis and outlive restarts."""

from __future__ import annotations

from dataclasses import asdict

import click
from rich.markup import escape

from marie_celery.cli.context import console, json_option, operator_name, print_json, reach, table_of
from marie_celery.store.store import Store

MOST_SLOTS = 1_000_000


@click.command()
@click.argument("executor")
@click.argument("slots", metavar="N|none")
@json_option
@click.pass_context
def target(ctx: click.Context, executor: str, slots: str, as_json: bool) -> None:
    """Set how many slots an executor has.

    Whatever its workers report; `none` = what they report. What runs is left in peace.
    """
    chosen = None if slots == "none" else _slots(slots)
    reach(ctx).operations.set_target(executor, chosen)
    if as_json:
        print_json({"executor": executor, "target": chosen})
    else:
        click.echo(f"{executor}: {'what its workers report' if chosen is None else f'{chosen} slots'}")


def _slots(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and int(text) <= MOST_SLOTS):
        raise click.UsageError(f"'{text}' is neither a number of slots from 0 to {MOST_SLOTS} nor none")
    return int(text)


@click.command()
@click.argument("worker", required=False)
@click.option("--undo", is_flag=True, help="Take it back into service.")
@json_option
@click.pass_context
def drain(ctx: click.Context, worker: str | None, undo: bool, as_json: bool) -> None:
    """Take a worker out of service.

    Its slots go and what runs is finished. It holds until `--undo`, also if the worker restarts under its name.
    Without a WORKER: those that are out of service.
    """
    if worker is None:
        if undo:
            raise click.UsageError("name the worker to take back")
        _list_drained(reach(ctx).store, as_json)
        return
    store = reach(ctx).store
    order = store.take_back if undo else store.drain
    order(worker, by=operator_name())
    if as_json:
        print_json({"worker": worker, "draining": not undo})
    else:
        click.echo(f"{worker} is back in service" if undo else f"{worker} finishes what it has and gets nothing more")


def _list_drained(store: Store, as_json: bool) -> None:
    found = store.drained()
    if as_json:
        print_json([asdict(each) for each in found])
        return
    if not found:
        click.echo("no worker is drained")
        return
    table = table_of("worker", "still runs", "state")
    for each in found:
        table.add_row(escape(each.name), str(each.jobs), "alive" if each.is_alive else "gone")
    console().print(table)


@click.command()
@click.argument("name", required=False)
@click.option("--weight", type=click.FloatRange(0.001, 1_000_000), help="Its weight beside the others; 1 by default.")
@json_option
@click.pass_context
def tenants(ctx: click.Context, name: str | None, weight: float | None, as_json: bool) -> None:
    """Show how tenants share executors, or weigh one.

    `marie tenants acme --weight 3`: three times the slot time of one that weighs 1, while both have work.
    """
    if (name is None) != (weight is None):
        raise click.UsageError("give a tenant and its --weight, or neither")
    marie = reach(ctx)
    if name is not None and weight is not None:
        marie.operations.set_weight(name, weight)
        if as_json:
            print_json({"tenant": name, "weight": weight})
        else:
            click.echo(f"{name} weighs {weight:g}")
        return
    _show_shares(marie.store, as_json)


def _show_shares(store: Store, as_json: bool) -> None:
    shares, weights = store.shares(), store.weights()
    if as_json:
        print_json({"weights": weights, "shares": [asdict(share) for share in shares]})
        return
    if not shares and not weights:
        click.echo("no tenants yet: nobody has named one")
        return
    table = table_of("executor", "tenant", "weight", "share", "at work", "waiting", "behind")
    for share in shares:
        cells = (share.executor, share.tenant or "(none)", f"{share.weight:g}", f"{share.share:.0%}")
        numbers = (str(share.at_work), str(share.waiting), f"{share.lag_seconds:.3g} s")
        table.add_row(*map(escape, (*cells, *numbers)))
    for tenant in sorted(weights.keys() - {share.tenant for share in shares}):
        table.add_row("", escape(tenant), f"{weights[tenant]:g}")
    console().print(table)
