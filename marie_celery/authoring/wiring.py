"""The edges of a node: whose results it takes, whom it waits for, and its inputs as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from marie_celery.authoring.mapping import MapEncoder
from marie_celery.authoring.nodes import MapNode, Node
from marie_celery.authoring.payload import ArgumentEncoder
from marie_celery.authoring.reference import Ref
from marie_celery.authoring.type_check import TypeCheck
from marie_celery.errors import MarieError, PayloadError

if TYPE_CHECKING:
    from marie_celery.authoring.builder import Builder


class Wired(NamedTuple):
    inputs: str = ""
    refs: Sequence[int] = ()
    """Results that the worker fetches."""
    lists: Sequence[int] = ()
    """Results that tell the items of a map."""
    parents: Sequence[int] = ()
    optional: Sequence[int] = ()
    """Parents that may end as they like."""


class Wiring:
    def __init__(self, builder: Builder, problems: list[str]) -> None:
        self._builder = builder
        self._problems = problems
        self._types = TypeCheck()
        self.outside: list[Ref] = []
        """What the nodes take from the graphs around theirs."""

    def wire(self, node: Node, more: Sequence[Ref] = ()) -> Wired:
        """`more`: what it waits for beside its own references."""
        signature = node.task.signature_of_function
        encoder = MapEncoder(signature) if isinstance(node, MapNode) else ArgumentEncoder(signature)
        try:
            inputs = encoder.encode(node.args, node.kwargs)
            lists = encoder.lists if isinstance(encoder, MapEncoder) else []
            references = encoder.references
            given = [*lists, *references, *node.after, *more] if lists or node.after or more else references
            if not given:
                return Wired(inputs)
            is_own = self._builder.has
            own = [ref for ref in given if is_own(ref.node) or not self._is_outside(ref)]
            if references:
                self._problems += self._types.problems(node)
        except MarieError as error:
            self._problems.append(f"{node.name}: {error}")
            return Wired()
        refs = _numbers(references)
        parents = refs if own == references else _numbers(own)
        return Wired(inputs, refs, _numbers(lists), parents, _optional(own))

    def check(self, ref: Ref) -> None:
        if not self._builder.can_see(ref.node):
            raise PayloadError(f"the reference {ref!r} belongs to another dag")

    def _is_outside(self, ref: Ref) -> bool:
        """Of a graph around this one; what is of no graph that can be seen here is refused."""
        self.check(ref)
        self.outside.append(ref)
        return True


def _numbers(refs: Sequence[Ref]) -> Sequence[int]:
    if len(refs) < 2:
        return [ref.node.number for ref in refs]
    return sorted({ref.node.number for ref in refs})


def _optional(refs: Sequence[Ref]) -> Sequence[int]:
    """Those that no other reference needs."""
    found = {ref.node.number for ref in refs if ref.is_optional}
    return sorted(found - {ref.node.number for ref in refs if not ref.is_optional}) if found else ()
