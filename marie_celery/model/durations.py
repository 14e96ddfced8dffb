"""Spans of time as people write them: "45s", "90m", "1h30m", "2d", "1.5h"."""

from __future__ import annotations

import re
from decimal import Decimal

from marie_celery.errors import ConfigError

UNIT_MS = {"w": 604_800_000, "d": 86_400_000, "h": 3_600_000, "m": 60_000, "s": 1_000, "ms": 1}

# A hundred years: beyond it a typing error is likelier than a plan, and sums stay far below 2**53.
LONGEST_MS = 36_500 * UNIT_MS["d"]

# Each unit at most once and the large ones first, so "30m1h" and "1h1h" are questions, not answers.
_SPAN = re.compile(r"\s*".join(rf"(?:(?P<{unit}>[0-9]+(?:\.[0-9]+)?)\s*{unit})?" for unit in UNIT_MS))


def parse_duration(text: str, name: str = "duration") -> int:
    """Milliseconds in `text`; `name` is what the message calls it."""
    found = _SPAN.fullmatch(text.strip())
    parts = {unit: amount for unit, amount in found.groupdict().items() if amount} if found else {}
    if not parts:
        raise ConfigError(f"{name} {text!r} is no duration: write it like '45s', '90m', '1h30m' or '2d'")
    return check_duration(int(sum(Decimal(amount) * UNIT_MS[unit] for unit, amount in parts.items())), name)


def check_duration(ms: int, name: str = "duration") -> int:
    """`ms` itself, if it is a span that somebody can mean."""
    if ms <= 0:
        raise ConfigError(f"{name} must be longer than zero")
    if ms > LONGEST_MS:
        raise ConfigError(f"{name} is longer than a hundred years")
    return ms
