"""Which paths a value takes, in Python and in the scripts."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from marie_celery.errors import BranchError
from marie_celery.model.branching import paths_taken
from marie_celery.model.control import Control
from marie_celery.store.scripts import FOLDER
from marie_celery.store.store import Store

VALUES: list[Any] = [
    *(None, True, False, 0, 1, -1, 0.0, -0.0, 0.5, 1e300, 10**30, -(10**20)),
    *("", "a", "b c", "then", "null", "0", 'quo"te', "back\\slash", "é", "😀", "\ud800", "default"),
    *([], ["a"], ["a", "b c"], ["b c", "a", "a"], [""], [None], [1, True], ["x"], [[]], [{}], {}, {"a": 1}, [[1], "a"]),
    *("x" * 200, ["x" * 100], list(range(100))),
]
NAMES = ["a", "b c", "1", "true", "null", "é", "😀", 'quo"te', ""]
CASES = [
    *((Control.BRANCH, value, names) for value in VALUES for names in (["then"], ["then", "else"])),
    *((Control.SWITCH, value, names) for value in VALUES for names in (NAMES, [*NAMES, "default"])),
    *((Control.CHOOSE, value, NAMES) for value in VALUES),
]


def expected(control: Control, value: Any, names: list[str]) -> list[Any]:
    try:
        return [names.index(name) + 1 for name in paths_taken(control, value, names)]
    except BranchError as error:
        return [str(error)]


def test_the_scripts_decide_as_the_model_does(store: Store) -> None:
    body = "".join((FOLDER / "include" / f"{name}.lua").read_text() for name in ("json", "branch"))
    loop = """
    local out = {}
    for i = 1, #ARGV, 3 do
      local places, problem = TAKE[ARGV[i]](ARGV[i + 1], cjson.decode(ARGV[i + 2]))
      out[#out + 1] = problem and { problem } or places
    end
    return out"""
    flat = [part for control, value, names in CASES for part in (control.value, _text(value), json.dumps(names))]
    found = store.client.eval(body + loop, 0, *flat)
    assert isinstance(found, list)
    for (control, value, names), answer in zip(CASES, found, strict=True):
        told = expected(control, value, names)
        if "\\ud800" in _text(value) and told and isinstance(told[0], str):
            assert re.match("there is no path", answer[0])  # half a character, which Lua shows as it stands
        else:
            assert answer == told, (control, value)


@pytest.mark.parametrize(
    ("text", "parts", "part"),
    [
        ('{"a":{"b":[1,[],{}]}}', ["a", "b", 1], "[]"),
        ('{"a":{"b":[1,[],{}]}}', ["a", "b", -1], "{}"),
        ('{"a":{"b":[1,[],{}]}}', ["a", "b", -4], None),
        ('{"a":{"b":[1,[],{}]}}', ["a", "b", 3], None),
        ('{"a":{"b":[1,[],{}]}}', ["a", 0], None),
        ('{"a":{"b":[1,[],{}]}}', ["b"], None),
        ('{"a":"]}\\"\\\\","b":9007199254740993}', ["b"], "9007199254740993"),
        ('{"a":"]}\\"\\\\","b":1}', ["a"], '"]}\\"\\\\"'),
        ('{"\\u00e9":1}', ["é"], "1"),
        ('[1, [2, "x"] , {"k": null}]', [2, "k"], "null"),
        ('"abc"', [0], None),
        ("null", ["a", 1], "null"),
        ("5", [], "5"),
    ],
)
def test_parts_are_found_as_they_stand(store: Store, text: str, parts: list[Any], part: str | None) -> None:
    body = (FOLDER / "include" / "json.lua").read_text()
    found = store.client.eval(body + "return part_of(ARGV[1], cjson.decode(ARGV[2]), 1)", 0, text, json.dumps(parts))
    assert found == part


def _text(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))
