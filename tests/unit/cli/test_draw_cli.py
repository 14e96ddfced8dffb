from __future__ import annotations

from tests.unit.cli.cli_kit import Command, WriteApp, assert_refused

BODY = """
@marie.dag
def doubled(number, times=2):
    for _ in range(times):
        number = add(number, number)
    return number

@marie.dag
def wide(width):
    return add([add(number) for number in range(width)])

@marie.dag
def broken():
    raise RuntimeError("no luck")
"""


def test_a_dag_is_drawn_without_a_server(write_app: WriteApp, command: Command) -> None:
    answer = command(write_app(BODY), "draw", "doubled", "1")
    assert answer.exit_code == 0, answer.stderr
    assert [line.strip() for line in answer.stdout.splitlines()] == ["add (main)", "│", "add-2 (main)"]


def test_it_is_drawn_as_mermaid_and_svg_too(write_app: WriteApp, command: Command) -> None:
    app = write_app(BODY)
    assert command(app, "draw", "doubled", "1", "times=3", "-f", "mermaid").stdout.startswith("flowchart TD\n")
    assert command(app, "draw", "doubled", "1", "--format", "svg").stdout.startswith("<svg ")


def test_a_wide_dag_is_drawn_by_task(write_app: WriteApp, command: Command) -> None:
    assert "add ×500 (main)" in command(write_app(BODY), "draw", "wide", "500").stdout


def test_what_cannot_be_drawn_is_refused(write_app: WriteApp, command: Command) -> None:
    app = write_app(BODY)
    assert_refused(command(app, "draw", "nobody"), "there is no dag 'nobody'; there are", "doubled")
    assert_refused(command(app, "draw", "doubled"), "dag 'doubled' was refused", "number")
    assert_refused(command(app, "draw", "broken"), "dag 'broken' cannot be drawn", "no luck")
