"""References: what a task returns while a DAG is being written."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from marie_celery.authoring.builder import Node


@dataclass(frozen=True, slots=True, eq=False)
class Ref:
    """Stands for the result of a node. Passing it to another task makes an edge.

    `ref["total"]` and `ref[0]` refer to a part of the result.
    """

    node: Node
    path: tuple[str | int, ...] = field(default=())

    def __getitem__(self, part: str | int) -> Ref:
        if not isinstance(part, str | int):
            raise TypeError(f"a reference takes a key or an index, not {part!r}")
        return Ref(self.node, (*self.path, part))

    def __iter__(self) -> Iterator[Any]:
        raise TypeError(f"the result of '{self.node.name}' is not known while the dag is written: it has no items")

    def __bool__(self) -> bool:
        raise TypeError(f"the result of '{self.node.name}' is not known while the dag is written: it has no truth")

    def after(self, *others: Any) -> Ref:
        """Let this node wait for others without taking their results."""
        for other in others:
            if not isinstance(other, Ref):
                raise TypeError(f"after() takes what a task returned in this dag, not {other!r}")
            self.node.after.append(other.node)
        return self

    def __repr__(self) -> str:
        return f"<{self.node.name}{''.join(f'[{part!r}]' for part in self.path)}>"
