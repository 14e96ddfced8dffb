import inspect
import re
from pathlib import Path

import pytest

from marie_celery.model.states import TERMINAL, TRANSITIONS
from marie_celery.store.keys import Keys

DOCS = Path(__file__).parents[2] / "docs"
BUILDERS = sorted(
    name for name in vars(Keys) if not name.startswith("_") and name not in ("namespace", "prefix")
)


def documented_key(name):
    builder = getattr(Keys, name)
    if isinstance(builder, property):
        return getattr(Keys("marie"), name)
    (parameter,) = list(inspect.signature(builder).parameters)[1:]
    return builder(Keys("marie"), f"<{parameter}>")


def rows():
    lines = (DOCS / "redis-cli.md").read_text().splitlines()
    return {
        cells[0].strip("`"): cells[1:]
        for cells in ([cell.strip() for cell in line.strip("|").split(" | ")] for line in lines)
        if len(cells) == 4 and cells[0].startswith("`")
    }


class TestTheDiagramOfStates:
    arrows = re.findall(r"^ +(\S+) --> (\S+)$", (DOCS / "internals.md").read_text(), re.MULTILINE)

    def test_shows_exactly_the_transitions_of_the_table(self):
        shown = {(source, target) for source, target in self.arrows if "[*]" not in (source, target)}
        assert shown == {
            (source.value, target.value) for source in TRANSITIONS for target in TRANSITIONS[source]
        }

    def test_ends_in_exactly_the_terminal_states(self):
        assert {source for source, target in self.arrows if target == "[*]"} == {
            str(state) for state in TERMINAL
        }


@pytest.mark.parametrize("name", BUILDERS)
def test_each_key_is_documented_with_its_type_and_a_command_that_names_it(name):
    key = documented_key(name).removeprefix(Keys("marie").prefix)
    kind, _, command = rows()[key]
    builder = getattr(Keys, name)
    documentation = inspect.getdoc(builder.fget if isinstance(builder, property) else builder)
    assert documentation.startswith(f"{kind}:")
    assert command.startswith("`redis-cli ")
    assert f"'{documented_key(name)}'".replace("<executor>", "ocr") in command


def test_no_key_is_documented_that_does_not_exist():
    prefix = Keys("marie").prefix
    assert set(rows()) == {documented_key(name).removeprefix(prefix) for name in BUILDERS}


def test_every_dependency_has_its_reason():
    project = (DOCS.parent / "pyproject.toml").read_text()
    wanted = project[project.index("dependencies = [") : project.index("\n]\n")]
    text = (DOCS / "internals.md").read_text()
    table = text[text.index("## Dependencies") :]
    for name in re.findall(r'"([a-z-]+)', wanted):
        assert name in table
