"""Loads the Lua scripts: one file per transition, `-- @include name` once each, `-- @generate name` from Python.

Generated parts keep one source of truth: the transition table, the return codes and the
widths of the sort keys exist only in Python.

`source` is a script's whole text for EVAL, which every server knows; there all functions of a script are made again
with every call. `functions.py` has the form for servers that keep functions.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from marie_celery.model.states import TRANSITIONS
from marie_celery.planning import GlobalPriorityExecutionPlanner
from marie_celery.planning.keys import KEYS
from marie_celery.planning.policy import policy_fields
from marie_celery.store.codes import Code

FOLDER = Path(__file__).parent / "lua"

_INCLUDE = re.compile(r"^-- @include (\w+)\n", re.MULTILINE)
_GENERATE = re.compile(r"^-- @generate (\w+)\n", re.MULTILINE)


def script_names() -> list[str]:
    return sorted(path.stem for path in FOLDER.glob("*.lua"))


@cache
def source(name: str) -> str:
    """The whole text of a script, ready for EVAL."""
    made, body = parts(name)
    return f"{''.join(map(include, includes(name)))}{made}local function run()\n{body}end\n" + (
        "local answer = run()\nsave()\nreturn answer\n"
    )


@cache
def includes(name: str) -> tuple[str, ...]:
    """What a script includes, each after what it includes itself."""
    return _included((FOLDER / f"{name}.lua").read_text())


@cache
def needs(part: str) -> tuple[str, ...]:
    """What an include includes."""
    return _included(_text_of(part))


@cache
def include(part: str) -> str:
    """The text of an include, without what it includes."""
    return _made(_text_of(part))


@cache
def parts(name: str) -> tuple[str, str]:
    """What is generated for a script alone, and what it does by itself."""
    text = (FOLDER / f"{name}.lua").read_text()
    head = max(mark.end() for marks in (_INCLUDE, _GENERATE) for mark in marks.finditer(text))
    return _made(text[:head]), text[head:]


def _text_of(part: str) -> str:
    return (FOLDER / "include" / f"{part}.lua").read_text()


def _included(text: str) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for part in _INCLUDE.findall(text):
        found.update(dict.fromkeys((*needs(part), part)))
    return tuple(found)


def _made(text: str) -> str:
    return _GENERATE.sub(lambda match: _GENERATORS[match[1]](), _INCLUDE.sub("", text))


def _transitions() -> str:
    rows = ", ".join(
        f"{source} = {{ {', '.join(f'{target} = true' for target in sorted(targets))} }}"
        for source, targets in TRANSITIONS.items()
    )
    return f"local TRANSITIONS = {{ {rows} }}\n"


def _codes() -> str:
    return f"local {', '.join(code.name for code in Code)} = {', '.join(str(int(code)) for code in Code)}\n"


def _planner() -> str:
    bits = ", ".join(f"{key.name} = {key.bits}" for key in KEYS.values() if key.in_rank)
    policy = policy_fields(GlobalPriorityExecutionPlanner())
    names = ", ".join(f"'{name}'" for name in policy)
    values = ", ".join(f"{name} = '{value}'" for name, value in policy.items())
    return f"local BITS = {{ {bits} }}\nlocal PLANNER_FIELDS = {{ {names} }}\nlocal PLANNER = {{ {values} }}\n"


_GENERATORS = {"transitions": _transitions, "codes": _codes, "planner": _planner}
