"""Lists of job numbers as short text: `[1, 2, 3, 7]` ↔ `"1-3 7"`.

Children and parents of a job are mostly runs of neighbours, so a fan-out of 100 000 fits into a few bytes and
stays readable in `redis-cli`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator


def pack(numbers: Iterable[int]) -> str:
    """Keeps the order given; neighbours that count up by one are joined."""
    if isinstance(numbers, list) and len(numbers) == 1:  # most lists are of one
        return str(numbers[0])
    parts: list[str] = []
    first = last = -2
    for number in numbers:
        if number == last + 1 and first >= 0:
            last = number
            continue
        if first >= 0:
            parts.append(f"{first}-{last}" if last > first else str(first))
        first = last = number
    if first >= 0:
        parts.append(f"{first}-{last}" if last > first else str(first))
    return " ".join(parts)


def unpack(text: str) -> Iterator[int]:
    for part in text.split():
        first, _, last = part.partition("-")
        yield from range(int(first), int(last or first) + 1)
