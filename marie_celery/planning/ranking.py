"""The arithmetic of ranks: how the place of a job fits into the score of a Redis sorted set.

A score is a double, so it holds whole numbers below 2**53 exactly. A planner is a row of fields, the most
important first; each is a whole number of a fixed width in which smaller means sooner, and the score is
their bits in a row. Equal scores are ordered by the set itself: by member, and job ids sort in the order of
submission.

    field              bits  content
    new_dag               1  1 for a job of a run that is not active yet
    level                17  131071 − depth, or 131071 − path_step of the remaining path
    priority             21  1999999 − combined priority (SLA score and effective user priority)
    user_priority        10  999 − user priority
    estimated_runtime    12  runtime_step; 4095 is unknown
    response_ratio       12  4095 − ratio_step
    latest_start         42  latest_start − 100 ms for every point of user priority
    burst                 1  0 for a job of a run activated a moment ago

    global    new_dag level priority estimated_runtime burst    52 bits
    classic   level priority new_dag estimated_runtime burst    52 bits
    hrrn      response_ratio level priority                     50 bits
    sjfs      estimated_runtime priority level                  50 bits
    slack     latest_start user_priority                        52 bits

A script computes the same numbers with doubles: every intermediate value stays below 2**53, all divisions
are floors of quotients of such numbers (exact then), and the doublings in `log_step` are the exponent that
`math.frexp` gives, less one. Nothing is rounded, so there is nothing to disagree about.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

SCORE_BITS = 53

FLAG_BITS = 1
LEVEL_BITS = 17
PRIORITY_BITS = 21
USER_PRIORITY_BITS = 10
RUNTIME_BITS = 12
RATIO_BITS = 12
MOMENT_BITS = 42

LEVEL_LAST = (1 << LEVEL_BITS) - 1
RUNTIME_UNKNOWN = (1 << RUNTIME_BITS) - 1
RATIO_LAST = (1 << RATIO_BITS) - 1
MOMENT_LAST = (1 << MOMENT_BITS) - 1

# Steps per doubling: 0.8 % apart for runtimes and 0.05 % for paths. Ratios move while a job waits, so their
# steps are a compromise between exactness (12 %) and how often a waiting job changes its place.
RUNTIME_STEPS = 128
PATH_STEPS = 2048
RATIO_STEPS = 8
RATIO_TICK_MS = 1000

POINT_MS = 100
NO_PATIENCE_FROM = 100


class Rank(NamedTuple):
    """A place in the sorted set of an executor, lowest first.

    It is right at every moment before `valid_until_ms`, and for good if that is None.
    """

    score: float
    valid_until_ms: int | None


class LatestStart(NamedTuple):
    ms: int
    until_ms: int | None


def log_step(numerator: int, denominator: int, steps: int) -> int:
    """Where a ratio ≥ 1 stands on a scale that has `steps` equal parts in every doubling."""
    doublings = (numerator // denominator).bit_length() - 1
    base = denominator << doublings
    return steps * doublings + (numerator - base) * steps // base


def runtime_step(runtime_ms: int | None) -> int:
    if runtime_ms is None:
        return RUNTIME_UNKNOWN
    return min(RUNTIME_UNKNOWN - 1, log_step(runtime_ms + 1, 1, RUNTIME_STEPS))


def path_step(path_ms: int | None) -> int:
    if path_ms is None:
        return LEVEL_LAST
    return min(LEVEL_LAST, log_step(path_ms + 1, 1, PATH_STEPS))


def ratio_step(wait_ms: int, runtime_ms: int | None) -> int:
    """The response ratio (wait + runtime) / runtime, the wait in whole seconds.

    An unknown runtime counts as +inf: its ratio is 1 for ever, the lowest.
    """
    if runtime_ms is None:
        return 0
    runtime_ms = max(1, runtime_ms)
    return min(RATIO_LAST, log_step(_ticks(wait_ms) + runtime_ms, runtime_ms, RATIO_STEPS))


def ratio_next_change(wait_ms: int, runtime_ms: int | None) -> int | None:
    """The shortest longer wait that has another `ratio_step`; None if there is none."""
    if runtime_ms is None:
        return None
    step = ratio_step(wait_ms, runtime_ms)
    if step >= RATIO_LAST:
        return None
    runtime_ms = max(1, runtime_ms)
    doublings, part = divmod(step + 1, RATIO_STEPS)
    base = runtime_ms << doublings
    needed = base + _ceil_div(base * part, RATIO_STEPS) - runtime_ms
    return _ceil_div(needed, RATIO_TICK_MS) * RATIO_TICK_MS


def last_resort_ms(submitted_ms: int, priority: int, patience_ms: int) -> int:
    """The deadline of a job that has no other: the more important, the sooner; at once if critical."""
    impatience = min(NO_PATIENCE_FROM, priority)
    return submitted_ms + patience_ms * (NO_PATIENCE_FROM - impatience) // NO_PATIENCE_FROM


def latest_start(
    now_ms: int, path_ms: int | None, soft_ms: int | None, hard_ms: int | None, resort_ms: int
) -> LatestStart:
    """By when the job has to start, and when that changes because a deadline gets out of reach.

    An unknown path counts as nothing: with +inf every deadline would be out of reach from the beginning.
    """
    path_ms = path_ms or 0
    latest_ms = resort_ms - path_ms
    changes_ms = None
    for due_ms in (soft_ms, hard_ms):
        if due_ms is not None and now_ms <= due_ms - path_ms < latest_ms:
            latest_ms = due_ms - path_ms
            changes_ms = latest_ms + 1
    return LatestStart(latest_ms, changes_ms)


def start_place(latest_ms: int, priority: int) -> int:
    return min(MOMENT_LAST, max(0, latest_ms - priority * POINT_MS))


def unpack(score: float, widths: Sequence[int]) -> list[int]:
    """The fields again, for people who want to know why a job has its place."""
    rest = int(score)
    values = []
    for bits in reversed(widths):
        rest, value = divmod(rest, 1 << bits)
        values.append(value)
    return values[::-1]


def _ticks(wait_ms: int) -> int:
    return max(0, wait_ms) // RATIO_TICK_MS * RATIO_TICK_MS


def _ceil_div(numerator: int, denominator: int) -> int:
    return -(-numerator // denominator)
