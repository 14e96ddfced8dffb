"""Loads the Lua scripts: one file per transition, `-- @include name` once each, `-- @generate name` from Python.

Generated parts keep one source of truth: the transition table, the return codes and the
widths of the sort keys exist only in Python.
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
    """The whole text of a script, ready for Redis."""
    included: set[str] = set()

    def include(match: re.Match[str]) -> str:
        part = match[1]
        if part in included:
            return ""
        included.add(part)
        return expand((FOLDER / "include" / f"{part}.lua").read_text())

    def expand(text: str) -> str:
        return _GENERATE.sub(lambda match: _GENERATORS[match[1]](), _INCLUDE.sub(include, text))

    return expand((FOLDER / f"{name}.lua").read_text())


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
