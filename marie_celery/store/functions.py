"""The scripts as functions that a server keeps (Redis 7, Valkey): made once, not with every call.

All are in one library, where what several include stands once: with a library for each script the same functions are
there dozens of times, and Lua's collector walks through all of them again and again, in the midst of calls.

An include is put before those who need it, in a block of their own, because Lua allows 200 locals in sight at once;
what is needed on both sides of a fork stands on both. What is marked `-- @fresh` is made anew for each call, all else
is kept.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Collection, Iterator
from functools import cache
from typing import NamedTuple

from marie_celery.store.scripts import include, includes, needs, parts, script_names

_FRESH = re.compile(r"^local (\w+)(?: = (.*))? -- @fresh\n", re.MULTILINE)

# A server that keeps functions has this one under its old name, and shows it only to a function that runs.
_UNPACK = "local unpack = unpack or table.unpack\n"

_STAMP = "@stamp@"


class Library(NamedTuple):
    stamp: str
    """Tells its text, so that versions can live side by side."""
    text: str

    def function(self, script: str) -> str:
        return f"marie_{self.stamp}_{script}"


@cache
def library() -> Library:
    text = "local KEYS, ARGV\n" + "".join(_block(script_names(), ()))
    stamp = hashlib.sha256(text.encode()).hexdigest()[:12]
    return Library(stamp, f"#!lua name=marie_{stamp}\n" + text.replace(_STAMP, stamp))


def _block(scripts: Collection[str], known: tuple[str, ...]) -> Iterator[str]:
    """Functions that share what is known; what some need beside that makes a block of theirs."""
    waiting = {script: [part for part in includes(script) if part not in known] for script in scripts}
    for script in [script for script, missing in waiting.items() if not missing]:
        del waiting[script]
        yield _function(script, known)
    while waiting:
        wanted = Counter(part for missing in waiting.values() for part in missing if set(needs(part)) <= set(known))
        part = max(wanted, key=lambda part: (wanted[part], part))
        group = [script for script, missing in waiting.items() if part in missing]
        yield f"do\n{_kept(include(part))}"
        yield from _block(group, (*known, part))
        yield "end\n"
        for script in group:
            del waiting[script]


@cache
def _fresh(part: str) -> list[tuple[str, str]]:
    return _FRESH.findall(include(part))


def _kept(text: str) -> str:
    return _FRESH.sub(r"local \1\n", text).replace(_UNPACK, "")


def _function(script: str, known: tuple[str, ...]) -> str:
    made, body = parts(script)
    fresh = (pair for part in known for pair in _fresh(part))
    return (
        f"do\n{made}local function run()\n{body}\nend\n"
        f"redis.register_function('marie_{_STAMP}_{script}', function(keys, args)\n"
        "  KEYS, ARGV = keys, args\n"
        + "".join(f"  {name} = {value or 'nil'}\n" for name, value in fresh)
        + "  local answer = run()\n  save()\n  return answer\nend)\nend\n"
    )
