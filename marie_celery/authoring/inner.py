"""Mapping a dag: its function runs once, and the graph that it draws is made for each item when the list is known."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from marie_celery.authoring.builder import Builder, building
from marie_celery.authoring.control import control_task
from marie_celery.authoring.nodes import GatherNode, MapNode, Node
from marie_celery.authoring.options import JobOptions
from marie_celery.authoring.reference import Ref
from marie_celery.model.control import Control

_NOTHING = JobOptions(executor="control")


def _take(*item: Any) -> None:
    """What the item is."""


def _return(*results: Any) -> None:
    """What the dag returns for it."""


_ITEM, _GATHER = control_task(Control.ITEM, _take), control_task(Control.GATHER, _return)


def map_dag(
    builder: Builder, name: str, function: Callable[..., Any], lists: tuple[Any, ...], same: Mapping[str, Any]
) -> Ref:
    inspect.signature(function).bind(*lists, **same)  # raises TypeError
    with building(name, builder) as inner:
        item = Ref(inner.make(Node, _ITEM, (), {}, _NOTHING, control=Control.ITEM))
        output = function(*(item[place] for place in range(len(lists))), **same)
        inner.make(GatherNode, _GATHER, (output,), {}, _NOTHING, control=Control.GATHER, output=output)
    builder.problems += inner.problems
    task = control_task(Control.MAP, _take, name)
    return Ref(builder.make(MapNode, task, lists, {}, _NOTHING, control=Control.MAP, inner=inner))
