"""User priority, and how it is combined with the SLA score.

The two are separate fields of a job and never overwrite each other; they meet only here, at the moment of
choice. Higher is more urgent in both.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from marie_celery.errors import ConfigError

PRIORITIES: Final = {"background": 0, "low": 20, "normal": 50, "high": 80, "critical": 100}
CRITICAL: Final = PRIORITIES["critical"]
MAX_PRIORITY: Final = 999

# Above every SLA score (0–1999) and every user priority, so that one never spills into the other.
_SCORES: Final = 2_000
_PRIORITIES: Final = MAX_PRIORITY + 1
MAX_COMBINED: Final = _SCORES * _PRIORITIES - 1


class PriorityMode(StrEnum):
    SLA_FIRST = "sla_first"
    USER_FIRST = "user_first"
    SUM = "sum"
    MAX = "max"


def parse_priority(value: int | str) -> int:
    """The number of a priority given as 0–999, as text of such a number, or by name."""
    if isinstance(value, str):
        if value in PRIORITIES:
            return PRIORITIES[value]
        if value.isascii() and value.isdecimal():
            value = int(value)
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_PRIORITY:
        return value
    raise ConfigError(f"priority {value!r} is neither 0–{MAX_PRIORITY} nor one of {', '.join(PRIORITIES)}")


def combine(mode: PriorityMode, sla_score: int, user_priority: int) -> int:
    """One number of 0–MAX_COMBINED; numbers of different modes cannot be compared."""
    if mode is PriorityMode.SLA_FIRST:
        return sla_score * _PRIORITIES + user_priority
    if mode is PriorityMode.USER_FIRST:
        return user_priority * _SCORES + sla_score
    if mode is PriorityMode.SUM:
        return sla_score + user_priority
    return max(sla_score, user_priority)
