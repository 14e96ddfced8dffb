"""`web`: the API and the metrics as a process."""

from __future__ import annotations

import logging
import signal

import click

from marie_celery.cli.context import find_marie

HOST = "127.0.0.1"
PORT = 54322
LEVELS = ("debug", "info", "warning", "error", "critical")


@click.command()
@click.option("--host", default=HOST, show_default=True, help="Where to listen; beyond this machine with a token only.")
@click.option("--port", default=PORT, show_default=True, type=click.IntRange(0, 65535), help="0 = a free one.")
@click.option("--token", envvar="MARIE_WEB_TOKEN", default="", help="Ask for it; better set MARIE_WEB_TOKEN.")
@click.option("-l", "--loglevel", type=click.Choice(LEVELS, False), default="warning", help="How much is logged.")
@click.pass_context
def web(ctx: click.Context, host: str, port: int, token: str, loglevel: str) -> None:
    """Serve the API and the metrics."""
    try:
        from marie_celery.web import Address, Guard, create_app, serve
        from marie_celery.web.guard import is_loopback
        from marie_celery.web.serving import address_of
    except ModuleNotFoundError as error:
        raise click.ClickException(str(error)) from None
    logging.basicConfig(level=loglevel.upper(), format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    guard = Guard(token, loopback=is_loopback(host))
    app = create_app(find_marie(ctx), guard)
    address = Address(host, port)
    listening = address.listen()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: None)  # the server stops by itself and then passes the signal on to us
    click.echo(f"marie web on http://{address_of(listening, address)}/")
    serve(app, listening, loglevel.lower())
    click.echo("marie web stopped")
