"""`resources`: what jobs share beside slots; `resize`: more or less of it."""

from __future__ import annotations

import click
from rich.markup import escape

from marie_celery.cli.context import console, json_option, operator_name, print_json, reach, table_of
from marie_celery.resources import Delta, ResourceSettings
from marie_celery.resources.rate import TOKEN, gain_of
from marie_celery.resources.settings import measures
from marie_celery.resources.stock import Stock

MOST_SHOWN = 100


@click.command()
@click.argument("name", required=False)
@json_option
@click.pass_context
def resources(ctx: click.Context, name: str | None, as_json: bool) -> None:
    """Show what jobs share beside slots.

    With a NAME: who has it, and who waits for it.
    """
    store = reach(ctx).store
    if name is None:
        found = store.stock()
        if as_json:
            print_json([stock.as_json() for stock in found])
        elif found:
            _print_all(found)
        else:
            click.echo("no resources yet: the setting 'resources' names them, and a scheduler declares them")
        return
    (stock,) = store.stock(name, MOST_SHOWN)
    if as_json:
        print_json(stock.details_as_json())
    else:
        _print_one(stock)


def _print_all(found: list[Stock]) -> None:
    table = table_of("resource", "kind", "size", "in use", "waiting", "on shortage", "notes", narrow=["notes"])
    for stock in found:
        manners = stock.current.on_shortage or ""
        cells = (stock.name, stock.current.kind, size_of(stock.current), _in_use(stock), str(stock.waiting), manners)
        table.add_row(*map(escape, (*cells, _notes(stock))))
    console().print(table)


def _print_one(stock: Stock) -> None:
    click.echo(f"{stock.name}: {stock.current.kind}, {size_of(stock.current)}, {_in_use(stock)} in use")
    if _notes(stock):
        click.echo(_notes(stock))
    if stock.holdings:
        table = table_of("holder", "amount", "key", "items", "worker", narrow=["items", "worker"])
        for holding in stock.holdings:
            cells = (holding.attempt, str(holding.amount), holding.key, ", ".join(holding.items), holding.worker)
            table.add_row(*map(escape, cells))
        console().print(table)
        _print_more(stock.holders - len(stock.holdings))
    for line in stock.lines:
        click.echo(f"{line.waiting} in line{f' for {line.key}' if line.key else ''}")
        table = table_of("job", "name", "executor", "asks for", narrow=["name"])
        for waiter in line.first:
            table.add_row(*map(escape, (waiter.job_id, waiter.name, waiter.executor, str(waiter.amount))))
        console().print(table)
        _print_more(line.waiting - len(line.first))


def _print_more(more: int) -> None:
    if more > 0:
        click.echo(f"and {more} more")


def size_of(settings: ResourceSettings) -> str:
    match settings.kind:
        case "quantity":
            return f"{settings.quantity} units"
        case "discrete":
            return ", ".join(settings.items) or "no items"
        case "rate":
            return f"{settings.rate:g} per second, burst {settings.burst}"
        case "concurrency":
            return f"{settings.limit} under each key"
        case "own":
            return f"as {settings.path} decides"
    return "1 under each key"


def _in_use(stock: Stock) -> str:
    if stock.nano_tokens is not None:
        return f"{stock.used:.3g} of {stock.size} tokens"
    if stock.current.kind == "own":
        return f"{stock.used:g}"
    if stock.current.kind in ("concurrency", "highlander"):
        keys = len(stock.used_by_key)
        return f"{stock.used:g} under {keys} key{'' if keys == 1 else 's'}"
    return f"{stock.used:g}/{stock.size}"


def _notes(stock: Stock) -> str:
    declared = [f"declared as {size_of(stock.declared)}"] if stock.is_resized else []
    leaving = [f"{', '.join(sorted(stock.leaving))} will leave when given back"] if stock.leaving else []
    return "; ".join((*declared, *leaving))


@click.command()
@click.argument("name")
@click.option("--by", "amount", type=int, default=0, help="Units, tokens of a burst, or the limit per key: +2 or -1.")
@click.option("--rate", type=float, default=0.0, help="Per second: +5 or -0.5.")
@click.option("--add", default="", help="Items that come: a,b.")
@click.option("--remove", default="", help="Items that go; those in use when they are given back.")
@json_option
@click.pass_context
def resize(ctx: click.Context, name: str, amount: int, rate: float, add: str, remove: str, as_json: bool) -> None:
    """Change the size of a resource by a difference.

    What is booked stays booked. It holds until it is changed again, also when schedulers restart.
    """
    delta = Delta(amount, _gain(rate), _items(add), _items(remove))
    if delta == Delta():
        raise click.UsageError("say what to change: --by, --rate, --add or --remove")
    done = reach(ctx).operations.resize(name, delta, operator_name())
    if as_json:
        print_json({"resource": name, "before": measures(done.before), "after": measures(done.after)})
    elif done.before == done.after:
        click.echo(f"{name}: {size_of(done.after)}, as before")
    else:
        click.echo(f"{name}: {size_of(done.before)} → {size_of(done.after)}")


def _gain(rate: float) -> int:
    if not abs(rate) * 1000 < TOKEN:
        raise click.UsageError(f"--rate {rate:g} is no change of a rate")
    return gain_of(rate)


def _items(text: str) -> tuple[str, ...]:
    return tuple(item.strip() for item in text.split(",") if item.strip())
