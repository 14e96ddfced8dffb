"""The nodes of a DAG that is being written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from marie_celery.model.control import Control, Role

if TYPE_CHECKING:
    from marie_celery.authoring.builder import Builder
    from marie_celery.authoring.options import JobOptions
    from marie_celery.authoring.reference import Ref
    from marie_celery.authoring.task import Task


@dataclass(slots=True, eq=False)
class Node:
    number: int
    name: str
    task: Task[..., Any]
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    options: JobOptions
    after: list[Ref] = field(default_factory=list)
    control: Control | None = None
    role: Role | None = None
    gate: Node | None = None
    """The branch on whose path it stands, or the gate of the run: it decides whether this node may run at all."""


@dataclass(slots=True, eq=False)
class MapNode(Node):
    """`args` are lists, or references to lists, that are taken item by item together; `kwargs` go to every item."""

    batch: int | None = None
    """So many items are done by one job."""
    inner: Builder | None = None
    """The graph that is made for each item, if a dag is mapped. Its first node is the item, its last gathers."""


@dataclass(slots=True, eq=False)
class GatherNode(Node):
    """Its result is `output`, with the results in place. It waits for all of its graph that nobody else waits for."""

    output: Any = None


@dataclass(slots=True, eq=False)
class BranchNode(Node):
    """`args` is the value that decides."""

    paths: dict[str, range] = field(default_factory=dict)
    """Name → the nodes that were made on the path, those of branches on it too."""


@dataclass(slots=True, eq=False)
class PickNode(Node):
    """`kwargs` is what each path returned. The result is that of the path taken, or (choose) name → result."""

    branch: BranchNode | None = None
