"""Numbers, spans and lists as people say them."""

from __future__ import annotations

from collections.abc import Sequence

_UNITS = ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1_000, "s"))


def span(ms: int) -> str:
    for size, unit in _UNITS:
        if ms >= size:
            return f"{ms / size:.3g} {unit}"
    return f"{max(0, ms)} ms"


def ago(now_ms: int, then_ms: int) -> str:
    return f"{span(now_ms - then_ms)} ago"


def plural(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def listed(names: Sequence[str], total: int) -> str:
    """The names, and how many more there are."""
    more = total - len(names)
    return ", ".join(names) + (f" and {more} more" if names and more > 0 else "")
