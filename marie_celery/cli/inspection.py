"""Commands that look at the cluster: `capacity`, `doctor`."""

from __future__ import annotations

from typing import Any

import click
from rich.table import Table

from marie_celery.capacity import capacity_report
from marie_celery.cli.context import console, find_marie, json_option, print_json
from marie_celery.errors import MarieError
from marie_celery.store.connection import hide_password


@click.command()
@json_option
@click.pass_context
def capacity(ctx: click.Context, as_json: bool) -> None:
    """Slots by executor."""
    report = capacity_report(find_marie(ctx).store.capacity())
    if as_json:
        print_json(report)
        return
    table = Table(box=None, pad_edge=False)
    for column in ("executor", "slots", "used", "holders", "notes"):
        table.add_column(column)
    for slot in report["result"]["slots"]:
        picture = "■" * slot["used"] + "□" * max(0, slot["available"])
        used = f"{slot['used']}/{slot['capacity']}"
        table.add_row(slot["name"], picture, used, ", ".join(slot["holders"]), slot["notes"])
    totals = report["result"]["totals"]
    table.add_row("all", "", f"{totals['used']}/{totals['capacity']}", "", "")
    console().print(table)


@click.command()
@json_option
@click.pass_context
def doctor(ctx: click.Context, as_json: bool) -> None:
    """Check Redis, the broker and the workers. Exit code 1 if something is broken."""
    marie = find_marie(ctx)
    checks: list[dict[str, Any]] = []

    def note(name: str, state: str, text: str) -> None:
        checks.append({"check": name, "state": state, "text": text})

    try:
        warnings = marie.check()
        server = marie.store.client.info("server")
        note("redis", "ok", f"{hide_password(marie.url)}, version {server['redis_version']}")
        for warning in warnings:
            note("redis", "warning", warning)
    except MarieError as error:
        note("redis", "error", str(error))
    try:
        with marie.app.connection_for_write() as connection:
            connection.ensure_connection(max_retries=1, timeout=5)
        note("broker", "ok", hide_password(marie.app.conf.broker_url or ""))
    except Exception as error:
        note("broker", "error", f"cannot reach the broker: {error}")
    if not any(check["state"] == "error" for check in checks):
        _check_workers(marie, note)
    broken = any(check["state"] == "error" for check in checks)
    if as_json:
        print_json({"ok": not broken, "checks": checks})
    else:
        for check in checks:
            mark = {"ok": "✓", "warning": "!", "error": "✗"}[check["state"]]
            click.echo(f"{mark} {check['check']}: {check['text']}")
    if broken:
        ctx.exit(1)


def _check_workers(marie: Any, note: Any) -> None:
    served = {view.name: view for view in marie.store.capacity()}
    for executor in sorted(marie.executors() | set(served)):
        view = served.get(executor)
        if view is None or not view.workers:
            note("workers", "warning", f"no live worker for '{executor}'")
        else:
            text = f"{executor}: {len(view.workers)} workers, {view.capacity} slots, {view.ready} waiting"
            note("workers", "ok", text)
