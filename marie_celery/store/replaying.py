"""Which jobs of an ended run to run again, and what each has to wait for then. `Steering.replay` carries it out."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from graphlib import TopologicalSorter

from marie_celery.model.control import Control
from marie_celery.model.ranges import unpack
from marie_celery.model.states import WorkState
from marie_celery.store.caller import Caller
from marie_celery.store.why.walking import walk

_ENDED_BADLY = (WorkState.FAILED, WorkState.CANCELLED, WorkState.EXPIRED)
_FIELDS = (
    *("state", "reason", "children", "optional", "gate", "paths", "final"),
    *("control", "numbers", "within", "items", "made"),
)


@dataclass(frozen=True, slots=True)
class Node:
    """A job of the run as it ended."""

    state: WorkState
    reason: str
    children: Sequence[int]
    optional: Collection[int] = ()
    """Parents that may end as they like."""
    gate: int | None = None
    members: Sequence[int] = ()
    """Those on whom it decides, as a branch or a gate."""
    is_last: bool = False
    is_map: bool = False
    items: AbstractSet[int] = frozenset()
    """The jobs of a map."""
    has_all_items: bool = True

    @property
    def failed(self) -> bool:
        """As its children see it."""
        return self.state in _ENDED_BADLY or (self.state is WorkState.SKIPPED and self.reason == "upstream_failed")


def nodes_of(store: Caller, run: str) -> dict[int, Node]:
    jobs = int(store.client.hget(store.keys.run(run), "jobs") or 0)
    return {number: _node(*values) for number, values in walk(store, run, range(jobs), *_FIELDS) if values[0]}


def _node(state: str | None, reason: str | None, *more: str | None) -> Node:
    children, optional, gate, paths, final, control, numbers, within, items, made = more
    return Node(
        WorkState(state or ""),
        reason or "",
        list(unpack(children or "")),
        set(unpack(optional or "")),
        None if gate is None else int(gate),
        [number for _, members in json.loads(paths or "[]") for number in unpack(members)],
        final is not None,
        control == Control.MAP,
        set(unpack(within or numbers or "")),
        items is not None and items == made,
    )


def descendants(nodes: Mapping[int, Node], numbers: Iterable[int]) -> set[int]:
    found: set[int] = set()
    left = list(numbers)
    while left:
        number = left.pop()
        if number not in found:
            found.add(number)
            left.extend(nodes[number].children)
            left.extend(nodes[number].members)
    return found


def unfinished(nodes: Mapping[int, Node]) -> set[int]:
    """What a resumed run still has to do: all that did not end well."""
    return {number for number, node in nodes.items() if node.failed}


def instructions(nodes: Mapping[int, Node], chosen: Collection[int]) -> list[str]:
    """What to do with every job, as `include/again.lua` reads it; those that can run at once come last."""
    chosen = {*chosen, *(number for number, node in nodes.items() if node.is_last)}
    anew = _made_anew(nodes, chosen)
    replaced = _all_items(nodes, anew)
    chosen -= replaced
    anew -= replaced
    waiting = dict.fromkeys(chosen, 0)
    skipped = dict.fromkeys(chosen, 0)
    failed = dict.fromkeys(chosen, 0)
    for number, node in nodes.items():
        for child in node.children if number not in replaced else ():
            if child not in waiting or _is_past(nodes[child], number, anew=child in anew):
                continue
            if number in waiting:
                waiting[child] += 1
            elif number in nodes[child].optional:
                continue
            elif node.failed:
                failed[child] += 1
            elif node.state is WorkState.SKIPPED:
                skipped[child] += 1
    orders = [f"{number} 0 0 0 replaced" for number in sorted(replaced)]
    at_once: list[str] = []
    for number in _children_first(nodes, chosen):
        node = nodes[number]
        words = [
            *(["gated"] if node.gate in chosen else []),
            *(["last"] if node.is_last else []),
            *(["anew" if number in anew else "join"] if node.is_map else []),
        ]
        order = " ".join([f"{number} {waiting[number]} {skipped[number]} {failed[number]}", *words])
        can_start = not (waiting[number] or node.gate in chosen or node.is_last)
        (at_once if can_start else orders).append(order)
    return orders + at_once


def _children_first(nodes: Mapping[int, Node], chosen: Collection[int]) -> Iterable[int]:
    """A job that is reset may be cancelled at once: what stands behind it must have been reset by then."""
    behind = {number: [child for child in nodes[number].children if child in chosen] for number in sorted(chosen)}
    return TopologicalSorter(behind).static_order()


def _made_anew(nodes: Mapping[int, Node], chosen: set[int]) -> set[int]:
    """Maps that make their items again: their list may have changed, or not all items were there, or none was meant."""
    maps = {number for number in chosen if nodes[number].is_map}
    with_new_lists = {
        child
        for number in chosen
        for child in nodes[number].children
        if child in maps and number not in nodes[child].items
    }
    return {
        number
        for number in maps
        if number in with_new_lists or not nodes[number].has_all_items or not chosen & nodes[number].items
    }


def _all_items(nodes: Mapping[int, Node], maps: Iterable[int]) -> set[int]:
    """With those of maps among them."""
    found: set[int] = set()
    left = list(maps)
    while left:
        items = nodes[left.pop()].items - found
        found |= items
        left.extend(items)
    return found


def _is_past(child: Node, parent: int, *, anew: bool) -> bool:
    """To a map that keeps its items, only they count."""
    return child.is_map and not anew and parent not in child.items
