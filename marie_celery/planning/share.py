"""The share of new runs: active runs come first, but not every time.

The planner puts new runs behind active ones, so that what was begun gets finished. Alone, that would let a
steady stream of active work keep new runs out for ever. So while both wait, a fixed share of the choices
goes to the best of the new ones. The rule spreads them evenly and needs one counter: every such choice adds
the share to a credit, and a full credit buys one choice for a new run.

The credit counts thousandths, because ten times 0.3 is not 3 in floating point.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple, TypeVar

from marie_celery.errors import ConfigError

FULL = 1000

Item = TypeVar("Item")


class Choice(NamedTuple):
    take_new: bool
    credit: int


def share_in_thousandths(share: float) -> int:
    if not 0 <= share <= 1:
        raise ConfigError(f"new_dag_share must be between 0 and 1, not {share!r}")
    return round(share * FULL)


def choose(credit: int, share: int, *, active_waits: bool, new_waits: bool) -> Choice:
    """Whether the next choice goes to a new run, and the credit to remember.

    A choice that is none, because only one kind waits, costs and earns nothing.
    """
    if not (active_waits and new_waits):
        return Choice(new_waits, credit)
    credit += share
    return Choice(True, credit - FULL) if credit >= FULL else Choice(False, credit)


def interleave(active: Iterable[Item], new: Iterable[Item], share: int, credit: int = 0) -> Iterator[Item]:
    """Two ordered lists in the order in which their items would be chosen."""
    rest_active, rest_new = list(active)[::-1], list(new)[::-1]
    while rest_active or rest_new:
        take_new, credit = choose(credit, share, active_waits=bool(rest_active), new_waits=bool(rest_new))
        yield (rest_new if take_new else rest_active).pop()
