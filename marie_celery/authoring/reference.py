"""References: what a task returns while a DAG is being written."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from marie_celery.authoring.nodes import Node


@dataclass(slots=True, eq=False)
class Ref:
    """Stands for the result of a node. Passing it to another task makes an edge.

    `ref["total"]` and `ref[0]` refer to a part of the result; a part of a result that is not there is None.
    Never changed; it is not frozen because there is one for each job, and those take three times as long to make.
    """

    node: Node
    path: tuple[str | int, ...] = ()
    is_optional: bool = False

    def __getitem__(self, part: str | int) -> Ref:
        if not isinstance(part, str | int):
            raise TypeError(f"a reference takes a key or an index, not {part!r}")
        return replace(self, path=(*self.path, part))

    def __iter__(self) -> Iterator[Any]:
        raise TypeError(
            f"the result of '{self.node.name}' is not known while the dag is written: it has no items; "
            "task.map(…) makes a job for each"
        )

    def __bool__(self) -> bool:
        raise TypeError(
            f"the result of '{self.node.name}' is not known while the dag is written: it has no truth; "
            "branch(…) decides when it is known"
        )

    def after(self, *others: Any) -> Ref:
        """Let this node wait for others without taking their results."""
        for other in others:
            if not isinstance(other, Ref):
                raise TypeError(f"after() takes what a task returned in this dag, not {other!r}")
            self.node.after.append(other)
        return self

    def __repr__(self) -> str:
        return f"<{self.node.name}{''.join(f'[{part!r}]' for part in self.path)}>"


def optional(reference: Any) -> Any:
    """The child runs even if this parent fails or is skipped, and gets None: `report(text, optional(summary))`."""
    if not isinstance(reference, Ref):
        raise TypeError(f"optional() takes what a task returned in this dag, not {reference!r}")
    return replace(reference, is_optional=True)
