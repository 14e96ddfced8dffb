"""The scripts as one library of functions."""

from __future__ import annotations

import re

import pytest

from marie_celery.store.functions import library
from marie_celery.store.scripts import include, includes, script_names, source

TEXT = library().text


def test_every_script_is_a_function() -> None:
    registered = re.findall(r"redis\.register_function\('(\w+)'", TEXT)
    assert sorted(registered) == sorted(map(library().function, script_names()))
    assert TEXT.startswith(f"#!lua name=marie_{library().stamp}\n")


def test_what_all_have_is_there_once() -> None:
    assert TEXT.count("local function event(") == 1
    assert TEXT.count("  function facts_of(") == 1
    assert len(TEXT) < sum(len(source(name)) for name in script_names()) / 5


@pytest.mark.parametrize("name", script_names())
def test_a_call_begins_with_all_that_it_may_change_made_anew(name: str) -> None:
    function = TEXT.partition(f"redis.register_function('{library().function(name)}'")[2].partition("\nend)\n")[0]
    fresh = [each for part in includes(name) for each in re.findall(r"local (\w+).* -- @fresh\n", include(part))]
    assert sorted(re.findall(r"^  (\w+) = ", function, re.MULTILINE)) == sorted(fresh)
