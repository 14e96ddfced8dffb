from __future__ import annotations

import click
import pytest
from click.testing import CliRunner

from marie_celery.cli import main, marie
from tests.unit.cli.cli_kit import Command

ORDER = ["scheduler", "worker", "up", "submit", "runs", "show", "why", "cancel", "capacity", "doctor"]


def test_both_commands_have_the_same_verbs() -> None:
    assert main.commands == marie.commands


def test_verbs_are_listed_in_the_order_of_a_first_day(command: Command) -> None:
    text = command("", "--help").stdout
    listed = [line.split()[0] for line in text[text.index("Commands:") :].splitlines()[1:]]
    assert [verb for verb in listed if verb in ORDER] == ORDER


@pytest.mark.parametrize("verb", marie.commands)
def test_every_verb_is_explained(command: Command, verb: str) -> None:
    assert command("", verb, "--help").exit_code == 0
    assert marie.commands[verb].help


@pytest.mark.parametrize("verb", ORDER)
def test_every_option_is_explained(verb: str) -> None:
    for option in marie.commands[verb].params:
        if isinstance(option, click.Option):
            assert option.help, f"{verb} {option.opts[0]}"


def test_no_line_of_the_list_is_cut_short(command: Command) -> None:
    assert "..." not in command("", "--help").stdout.replace("[ARGS]...", "")


def test_help_does_not_need_the_app() -> None:
    assert CliRunner().invoke(main, ["-A", "nowhere", "runs", "--help"]).exit_code == 0
