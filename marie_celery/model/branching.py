"""Which paths of a branch a value takes. Mirrored by `store/lua/include/branch.lua`; a test compares both."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from marie_celery.errors import BranchError
from marie_celery.model.control import Control

THEN, ELSE, DEFAULT = "then", "else", "default"


def name_of(value: Any) -> str:
    """Text names itself; numbers, truth values and None are named as JSON writes them."""
    if isinstance(value, list | dict):
        raise BranchError(f"{_shown(value)} is not a name")
    return value if isinstance(value, str) else json.dumps(value)


def paths_taken(control: Control, value: Any, names: Sequence[str]) -> list[str]:
    """In the order of `names`."""
    if control is Control.BRANCH:
        name = THEN if value else ELSE
        return [name] if name in names else []
    if control is Control.SWITCH:
        return [_known(name_of(value), names, DEFAULT)]
    wanted = {_known(name_of(each), names) for each in (value if isinstance(value, list) else [value])}
    return [name for name in names if name in wanted]


def _known(name: str, names: Sequence[str], default: str | None = None) -> str:
    if name in names:
        return name
    if default in names:
        return DEFAULT
    raise BranchError(f"there is no path '{name}'; there are {', '.join(names)}")


def _shown(value: Any) -> str:
    text = json.dumps(value, separators=(",", ":"))
    return text if len(text) <= 60 else text[:57] + "..."
