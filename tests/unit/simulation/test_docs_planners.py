"""docs/planners.md says what the code does."""

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from marie_celery.cli.simulation import simulate
from marie_celery.planning import PLANNERS
from marie_celery.planning.keys import FIFO, KEYS
from marie_celery.simulation import SCENARIOS, from_text

PAGE = (Path(__file__).parents[3] / "docs" / "planners.md").read_text()
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def section(title):
    return PAGE.split(f"## {title}\n")[1].split("\n## ")[0]


def first_cells(text):
    return re.findall(r"^\| `([^`]+)` \|", text, re.MULTILINE)


def printed_now(command):
    program, verb, *arguments = shlex.split(command)
    assert (program, verb) == ("marie", "simulate")
    done = CliRunner().invoke(simulate, arguments)
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.fixture(scope="module")
def table():
    """The command in the section, and what the page says that it prints."""
    ((_, block),) = [(kind, text) for kind, text in BLOCKS if kind == "console" and "┏" in text]
    command, _, output = block.partition("\n")
    return command.removeprefix("$ "), output


def test_the_documented_table_is_what_the_command_prints(table):
    command, documented = table
    lines = [line.rstrip() for line in printed_now(command).splitlines()]
    assert documented.splitlines() == lines


def test_in_the_documented_table_slack_misses_the_fewest_hard_slas_of_every_scenario(table):
    _, documented = table
    blocks = re.split(r"^(?=[a-z-]+: )", documented, flags=re.MULTILINE)[1:]
    assert [block.partition(":")[0] for block in blocks] == list(SCENARIOS)
    for block in blocks:
        cells = re.findall(r"^│ (\w+) +│ +([\d,]+) │", block, re.MULTILINE)
        missed = {name: int(hard.replace(",", "")) for name, hard in cells}
        slack = missed.pop("slack")
        # `tours` is `static` where no resources are shared.
        assert set(missed) == set(PLANNERS) - {"slack", "tours"}
        assert slack < min(missed.values())


def test_every_planner_is_explained():
    assert set(first_cells(PAGE.split("\n## ")[0])) == set(PLANNERS)


def test_every_sort_key_is_named():
    named = set(re.findall(r"`(\w+)`", PAGE.split("\n## ")[0]))
    assert {*KEYS, FIFO} <= named


def test_the_table_of_ranks_has_every_field_with_its_width():
    rows = re.findall(r"^\| `(\w+)` \| (\d+) \|", section("Ranks"), re.MULTILINE)
    assert {name: int(bits) for name, bits in rows} == {
        key.name: key.bits for key in KEYS.values() if key.in_rank
    }


def test_the_record_on_the_page_can_be_simulated():
    (record,) = [text for kind, text in BLOCKS if kind == "json"]
    (slots,) = re.findall(r'`(\{"slots": .*?\}\})`', PAGE)
    workload = from_text("page", f"{slots}\n{' '.join(record.split())}")
    assert (len(workload.runs), workload.job_count) == (1, 2)


def test_every_option_on_the_page_exists():
    known = {flag for parameter in simulate.params for flag in (*parameter.opts, *parameter.secondary_opts)}
    used = set(re.findall(r"(?<![\w-])(--[a-z][a-z-]*)", PAGE))
    assert used <= known
