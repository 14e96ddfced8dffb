"""`draw`: a picture of a DAG."""

from __future__ import annotations

import click

from marie_celery.authoring.dag import DAGS
from marie_celery.cli.arguments import parse_arguments
from marie_celery.cli.context import find_marie
from marie_celery.cli.errors import described
from marie_celery.drawing import Picture
from marie_celery.errors import MarieError

FORMATS = {"text": Picture.text, "mermaid": Picture.mermaid, "svg": Picture.svg}

# More than that nobody can look at: then one shape stands for all jobs of a task in a layer.
MOST_SHAPES = {"text": 40, "mermaid": 200, "svg": 400}


@click.command()
@click.argument("dag")
@click.argument("arguments", nargs=-1)
@click.option(
    "-f", "--format", "kind", type=click.Choice(list(FORMATS)), default="text", show_default=True, help="What to print."
)
@click.pass_context
def draw(ctx: click.Context, /, dag: str, arguments: tuple[str, ...], kind: str) -> None:
    """Draw a DAG as it would be submitted.

    ARGUMENTS are those of `submit`; no server is needed:

    marie -A yourmodule draw invoice scan.pdf --format svg > invoice.svg
    """
    find_marie(ctx)
    if dag not in DAGS:
        raise click.ClickException(f"there is no dag '{dag}'; there are {', '.join(sorted(DAGS)) or 'none'}")
    args, kwargs = parse_arguments(arguments)
    try:
        picture = DAGS[dag].draw(*args, **kwargs)
    except MarieError:
        raise
    except Exception as error:
        raise click.ClickException(f"dag '{dag}' cannot be drawn: {described(error)}") from None
    click.echo(FORMATS[kind](picture.at_most(MOST_SHAPES[kind])), nl=False)
