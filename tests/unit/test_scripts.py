"""The Lua scripts as text, and their arithmetic against the models they mirror."""

from __future__ import annotations

import itertools
import re

import fakeredis
import pytest

from marie_celery.model.joins import JoinRule, Parents, verdict
from marie_celery.model.retry import RetryPolicy
from marie_celery.model.states import TRANSITIONS
from marie_celery.store.codes import Code
from marie_celery.store.scripts import FOLDER, script_names, source

NAMES = script_names()


def evaluate(text: str, *arguments: object) -> object:
    with fakeredis.FakeRedis(server=fakeredis.FakeServer(), decode_responses=True) as client:
        return client.eval(text, 1, "p:", "0", "10", *arguments)


def include(name: str) -> str:
    return (FOLDER / "include" / f"{name}.lua").read_text()


@pytest.mark.parametrize("name", NAMES)
def test_the_header_tells_what_the_script_takes_and_returns(name: str) -> None:
    text = (FOLDER / f"{name}.lua").read_text()
    header = "".join(itertools.takewhile(lambda line: line.startswith("--"), text.splitlines(keepends=True)))
    assert "-- Returns {" in header
    own = {int(number) for number in re.findall(r"ARGV\[(\d+)\]", text.removeprefix(header))}
    told = {int(number) for number in re.findall(r"ARGV\[(\d+)\]", header)}
    assert own <= told


def test_the_common_arguments_are_told_once() -> None:
    header = include("base").partition("local ")[0]
    assert all(argument in header for argument in ("KEYS[1]", "ARGV[1]", "ARGV[2]", "ARGV[3]"))


@pytest.mark.parametrize("name", NAMES)
def test_no_script_walks_the_keyspace(name: str) -> None:
    commands = set(re.findall(r"redis\.p?call\('(\w+)'", source(name)))
    assert commands
    assert not commands & {"KEYS", "SCAN", "FLUSHALL", "FLUSHDB", "RANDOMKEY"}


@pytest.mark.parametrize("name", NAMES)
def test_every_include_is_there_once(name: str) -> None:
    text = source(name)
    assert "-- @include" not in text
    assert "-- @generate" not in text
    assert text.count("local P = KEYS[1]") == 1
    functions = re.findall(r"^local function (\w+)", text, re.MULTILINE)
    assert len(functions) == len(set(functions))


def test_the_codes_are_those_of_the_enum() -> None:
    (line,) = (line for line in source("finish").splitlines() if line.startswith("local OK,"))
    names, numbers = line.removeprefix("local ").split(" = ")
    found = dict(zip(names.split(", "), map(int, numbers.split(", ")), strict=True))
    assert found == {code.name: int(code) for code in Code}


def test_the_transitions_are_those_of_the_table() -> None:
    (line,) = (line for line in source("finish").splitlines() if line.startswith("local TRANSITIONS"))
    loop = """
    local out = {}
    for from, targets in pairs(TRANSITIONS) do
      for to in pairs(targets) do out[#out + 1] = from .. ' ' .. to end
    end
    return out"""
    found = evaluate(line + loop)
    assert isinstance(found, list)
    assert sorted(found) == sorted(f"{a} {b}" for a, to in TRANSITIONS.items() for b in to)


def test_joins_decide_as_the_model_does() -> None:
    cases = [
        (rule, Parents(total, total - completed - skipped - failed, skipped, failed))
        for rule in JoinRule
        for total in range(5)
        for completed, skipped, failed in itertools.product(range(total + 1), repeat=3)
        if completed + skipped + failed <= total
    ]
    flat = [part for rule, p in cases for part in (rule.value, p.total, p.left, p.skipped, p.failed)]
    loop = """
    local out = {}
    for i = 3, #ARGV, 5 do
      out[#out + 1] = join_verdict(ARGV[i], tonumber(ARGV[i + 1]), tonumber(ARGV[i + 2]),
        tonumber(ARGV[i + 3]), tonumber(ARGV[i + 4]))
    end
    return out"""
    assert evaluate(include("join") + loop, *flat) == [verdict(*case).value for case in cases]


@pytest.mark.parametrize("backoff", [True, False])
@pytest.mark.parametrize("jitter", [0.0, 0.5])
def test_delays_are_those_of_the_model(backoff: bool, jitter: float) -> None:
    policy = RetryPolicy(retry_delay=1.5, retry_backoff=backoff, retry_max_delay=900_000, retry_jitter=jitter)
    cases = [(count, roll) for count in (1, 2, 3, 10, 17, 18, 40) for roll in (0.0, 0.25, 1.0)]
    text = source("fail")
    body = text[text.index("local function retry_delay") : text.index("-- give_up: the error itself")]
    loop = """
    local out = {}
    for i = 4, #ARGV, 2 do
      local delay = retry_delay(cjson.decode(ARGV[3]), tonumber(ARGV[i]), tonumber(ARGV[i + 1]))
      out[#out + 1] = string.format('%.3f', delay)
    end
    return out"""
    flat = [part for case in cases for part in case]
    found = evaluate(body + loop, policy.model_dump_json(), *flat)
    assert found == [f"{policy.delay(count, roll) * 1000:.3f}" for count, roll in cases]
