"""Loads the Lua scripts: one file per transition, `-- @include name` once each, `-- @generate name` from Python.

Generated parts keep one source of truth: the transition table, the return codes and the
widths of the sort keys exist only in Python.

A script is the same text in two forms. `source` is for EVAL, which every server knows; there all functions of a script
are made again with every call, and that is most of what a short call costs. `library` is for servers that keep
functions (Redis 7, Valkey): they are made once, and only what is marked `-- @fresh` is made anew for each call.
"""

from __future__ import annotations

import hashlib
import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

from marie_celery.model.states import TRANSITIONS
from marie_celery.planning import GlobalPriorityExecutionPlanner
from marie_celery.planning.keys import KEYS
from marie_celery.planning.policy import policy_fields
from marie_celery.store.codes import Code

FOLDER = Path(__file__).parent / "lua"

_INCLUDE = re.compile(r"^-- @include (\w+)\n", re.MULTILINE)
_GENERATE = re.compile(r"^-- @generate (\w+)\n", re.MULTILINE)
_FRESH = re.compile(r"^local (\w+)(?: = (.*))? -- @fresh\n", re.MULTILINE)


_UNPACK = "local unpack = unpack or table.unpack\n"


class Library(NamedTuple):
    function: str
    text: str


def script_names() -> list[str]:
    return sorted(path.stem for path in FOLDER.glob("*.lua"))


@cache
def source(name: str) -> str:
    """The whole text of a script, ready for EVAL."""
    made, body = _parts(name)
    return f"{made}local function run()\n{body}end\nlocal answer = run()\nsave()\nreturn answer\n"


@cache
def library(name: str) -> Library:
    """The script as a library of one function. Its name tells its text, so that versions can live side by side."""
    made, body = _parts(name)
    fresh = "".join(f"  {variable} = {value or 'nil'}\n" for variable, value in _FRESH.findall(made))
    function = f"marie_{name}_{hashlib.sha256((made + body).encode()).hexdigest()[:12]}"
    # A server that keeps functions has this one under its old name, and shows it only to a function that runs.
    kept = _FRESH.sub(r"local \1\n", made).replace(_UNPACK, "")
    return Library(
        function,
        f"#!lua name={function}\nlocal KEYS, ARGV\n{kept}\n"
        f"local function make_fresh()\n{fresh}end\n"
        f"local function run()\n{body}\nend\n"
        f"redis.register_function('{function}', function(keys, args)\n"
        "  KEYS, ARGV = keys, args\n  make_fresh()\n  local answer = run()\n  save()\n  return answer\nend)\n",
    )


@cache
def _parts(name: str) -> tuple[str, str]:
    """What a script includes, and after that what it does by itself."""
    included: set[str] = set()

    def include(match: re.Match[str]) -> str:
        part = match[1]
        if part in included:
            return ""
        included.add(part)
        return expand((FOLDER / "include" / f"{part}.lua").read_text())

    def expand(text: str) -> str:
        return _GENERATE.sub(lambda match: _GENERATORS[match[1]](), _INCLUDE.sub(include, text))

    text = (FOLDER / f"{name}.lua").read_text()
    marks = [*_INCLUDE.finditer(text), *_GENERATE.finditer(text)]
    head = max(mark.end() for mark in marks)
    return expand(text[:head]), text[head:]


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
