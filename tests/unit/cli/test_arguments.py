from __future__ import annotations

from typing import Any

import click
import pytest

from marie_celery.cli.arguments import parse_arguments


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("5", 5),
        ("-5", -5),
        ('["a", 1]', ["a", 1]),
        ("true", True),
        ("null", None),
        ("scan.pdf", "scan.pdf"),
        ('"5"', "5"),
        ("NaN", "NaN"),
        ("Infinity", "Infinity"),
        ("[NaN]", "[NaN]"),
        ("", ""),
        ("a b=c", "a b=c"),
        ("=c", "=c"),
        ('"path=scan.pdf"', "path=scan.pdf"),
    ],
)
def test_an_argument_is_json_or_else_text(text: str, value: Any) -> None:
    assert parse_arguments([text]) == ([value], {})


def test_a_name_and_an_equals_sign_make_a_named_argument() -> None:
    assert parse_arguments(["1", "path=a=b", "n=2", "x"]) == ([1, "x"], {"path": "a=b", "n": 2})


def test_a_name_is_given_once() -> None:
    with pytest.raises(click.ClickException, match="'n' is given twice"):
        parse_arguments(["n=1", "n=1"])
