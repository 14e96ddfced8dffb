"""Which jobs of an ended run to run again, and what each has to wait for then. `Steering.replay` carries it out."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from marie_celery.model.states import WorkState

_ENDED_BADLY = (WorkState.FAILED, WorkState.CANCELLED, WorkState.EXPIRED)


@dataclass(frozen=True, slots=True)
class Node:
    """A job of the run as it ended."""

    state: WorkState
    reason: str
    children: Sequence[int]

    @property
    def failed(self) -> bool:
        """As its children see it."""
        return self.state in _ENDED_BADLY or (self.state is WorkState.SKIPPED and self.reason == "upstream_failed")


def descendants(nodes: Mapping[int, Node], numbers: Iterable[int]) -> set[int]:
    found: set[int] = set()
    left = list(numbers)
    while left:
        number = left.pop()
        if number not in found:
            found.add(number)
            left.extend(nodes[number].children)
    return found


def unfinished(nodes: Mapping[int, Node]) -> set[int]:
    """What a resumed run still has to do: all that did not end well."""
    return {number for number, node in nodes.items() if node.failed}


def instructions(nodes: Mapping[int, Node], chosen: Collection[int]) -> list[str]:
    """`number, parents left, skipped, failed` of every job to run again; those that can run at once come last."""
    waiting = dict.fromkeys(chosen, 0)
    skipped = dict.fromkeys(chosen, 0)
    failed = dict.fromkeys(chosen, 0)
    for number, node in nodes.items():
        for child in node.children:
            if child not in waiting:
                continue
            if number in waiting:
                waiting[child] += 1
            elif node.failed:
                failed[child] += 1
            elif node.state is WorkState.SKIPPED:
                skipped[child] += 1
    order = sorted(chosen, key=lambda number: (waiting[number] == 0, number))
    return [f"{number} {waiting[number]} {skipped[number]} {failed[number]}" for number in order]
