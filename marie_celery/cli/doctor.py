"""`doctor`: what is wrong with the cluster, if anything."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from marie_celery.cli.context import console, find_marie, json_option, print_json, table_of
from marie_celery.errors import MarieError
from marie_celery.extension import Marie
from marie_celery.scheduler.inspection import inspect_schedulers
from marie_celery.store.connection import hide_password


@click.command()
@click.option("--graph", is_flag=True, help="Show the graph of each scheduler: turns, rates, depths.")
@json_option
@click.pass_context
def doctor(ctx: click.Context, graph: bool, as_json: bool) -> None:
    """Check Redis, the broker, the schedulers and the workers. Exit code 1 if something is broken."""
    marie = find_marie(ctx)
    checks: list[dict[str, str]] = []

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
        for finding in inspect_schedulers(marie.store, marie.settings):
            note("scheduler", finding.state, finding.text)
        _check_workers(marie, note)
    broken = any(check["state"] == "error" for check in checks)
    graphs = {view.id: view.graph for view in marie.store.schedulers()} if graph and not broken else {}
    if as_json:
        print_json({"ok": not broken, "checks": checks, **({"graphs": graphs} if graph else {})})
    else:
        for check in checks:
            mark = {"ok": "✓", "warning": "!", "error": "✗"}[check["state"]]
            click.echo(f"{mark} {check['check']}: {check['text']}")
        for scheduler, drawn in graphs.items():
            _draw(scheduler, drawn)
    if broken:
        ctx.exit(1)


def _draw(scheduler: str, graph: dict[str, Any]) -> None:
    nodes = table_of("node", "turns", "messages", "errors", "seconds", "longest")
    for name, node in sorted(graph.get("nodes", {}).items(), key=lambda item: -item[1]["seconds"]):
        numbers = (node["turns"], node["messages"], node["errors"], node["seconds"])
        nodes.add_row(name, *map(str, numbers), f"{node['longest_turn_ms']} ms")
    edges = table_of("edge", "depth", "policy", "band", "messages", "per second")
    for name, edge in graph.get("edges", {}).items():
        depth = f"{edge['depth']}/{edge['capacity']}"
        edges.add_row(name, depth, *(str(edge[fact]) for fact in ("policy", "band", "accepted", "rate")))
    up, busy = graph.get("uptime_s", 0), graph.get("busy_s", 0)
    console().print(f"\n{scheduler}, up {up} s, busy {busy} s", nodes, "", edges)


def _check_workers(marie: Marie, note: Callable[[str, str, str], None]) -> None:
    served = {view.name: view for view in marie.store.capacity()}
    for executor in sorted(marie.executors() | set(served)):
        view = served.get(executor)
        if view is None or not view.workers:
            note("workers", "warning", f"no live worker for '{executor}'")
        else:
            workers = f"{len(view.workers)} worker{'' if len(view.workers) == 1 else 's'}"
            text = f"{executor}: {workers}, {view.capacity} slots, {view.ready} waiting"
            note("workers", "ok", text)
