"""Arguments of a DAG as they are typed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NoReturn

import click


def parse_arguments(texts: Sequence[str]) -> tuple[list[Any], dict[str, Any]]:
    """`5 '["a"]' path=scan.pdf`: by place and by name."""
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not (equals and name.isidentifier()):
            args.append(_value(text))
        elif name in kwargs:
            raise click.ClickException(f"the argument '{name}' is given twice")
        else:
            kwargs[name] = _value(value)
    return args, kwargs


def _value(text: str) -> Any:
    """JSON if it is, else the text as it stands. NaN and Infinity are not JSON, whatever Python's reader says."""
    try:
        return json.loads(text, parse_constant=_refuse)
    except ValueError:
        return text


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)
