"""Control jobs: nodes without work. They need no worker and no slot, and are done the moment their parents let them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from marie_celery.authoring.builder import Builder, current_builder
from marie_celery.authoring.nodes import BranchNode, Node, PickNode
from marie_celery.authoring.options import JobOptions
from marie_celery.authoring.reference import Ref
from marie_celery.authoring.task import Task
from marie_celery.errors import ConfigError
from marie_celery.model.branching import DEFAULT, ELSE, THEN, name_of
from marie_celery.model.control import Control
from marie_celery.model.joins import JoinRule

Path = Callable[[], Any]
"""Calls tasks, or nothing at all, and returns what the path gives."""


def control_task(control: Control, function: Callable[..., Any], name: str = "") -> Task[..., Any]:
    return Task(
        function,
        name=f"marie.{control}.{name}" if name else f"marie.{control}",
        options=JobOptions(executor="control"),
        retry_on=(),
        give_up_on=(),
        celery_options={},
    )


def _wait() -> None:
    """What a merge does."""


def _decide(value: Any) -> None:
    """What a branch looks at."""


def _gather(**paths: Any) -> None:
    """What the paths of a branch give."""


_TASKS = {
    Control.MERGE: control_task(Control.MERGE, _wait),
    **{control: control_task(control, _decide) for control in (Control.BRANCH, Control.SWITCH, Control.CHOOSE)},
    Control.PICK: control_task(Control.PICK, _gather),
}


def merge(*references: Any, name: str | None = None, join: JoinRule | str = JoinRule.ALL_SUCCESS) -> Ref:
    """A node that only waits for others: `publish(report).after(merge(*pages))`. Its result is None."""
    builder = _builder("merge() joins nodes of a dag")
    node = builder.make(
        Node, _TASKS[Control.MERGE], (), {}, _options(name, join=join), control=Control.MERGE
    )
    return Ref(node).after(*references)


def branch(condition: Any, then: Path, otherwise: Path | None = None, *, name: str | None = None) -> Any:
    """One of two paths by the truth of a result: `branch(check(x), lambda: a(x), lambda: b(x))`.

    Returns a reference to what the path taken gives; None without `otherwise`. The other path is skipped.
    """
    paths = {THEN: then} if otherwise is None else {THEN: then, ELSE: otherwise}
    return _split(Control.BRANCH, condition, paths, name)


def switch(value: Any, cases: Mapping[Any, Path], default: Path | None = None, *, name: str | None = None) -> Any:
    """The path that a result names: `switch(kind(x), {"invoice": …, "letter": …}, default=…)`.

    Returns a reference to what it gives. A value without a path fails the job unless there is a default.
    """
    paths = _named(cases)
    if default is not None:
        if DEFAULT in paths:
            raise ConfigError("switch() has a case 'default' and a default= as well: rename the case")
        paths[DEFAULT] = default
    return _split(Control.SWITCH, value, paths, name)


def choose(names: Any, paths: Mapping[Any, Path], *, name: str | None = None) -> Any:
    """All paths that a result names, one name or a list: `choose(plan(x), {"text": …, "image": …})`.

    Returns a reference to a dict: name → what the path gives, of those taken.
    """
    return _split(Control.CHOOSE, names, _named(paths), name)


def _split(control: Control, value: Any, paths: Mapping[str, Path], name: str | None) -> Ref:
    builder = _builder(f"{control}() is for nodes of a dag")
    if not isinstance(value, Ref):
        raise TypeError(
            f"{control}() takes what a task returned in this dag, not {value!r}: what is known already needs no job"
        )
    split = builder.make(BranchNode, _TASKS[control], (value,), {}, _options(name), control=control)
    outputs = {}
    for path_name, path in paths.items():
        if not callable(path):
            raise TypeError(f"{control}() takes functions without arguments as paths, not {path!r}")
        first = builder.next_number
        with builder.on_path(split):
            outputs[path_name] = path()
        split.paths[path_name] = range(first, builder.next_number)
    picked = _options(f"{name}-pick" if name else None)
    pick = builder.make(PickNode, _TASKS[Control.PICK], (), outputs, picked, control=Control.PICK, branch=split)
    return Ref(pick).after(Ref(split))


def _named(paths: Mapping[Any, Path]) -> dict[str, Path]:
    """By the names that a result can have in JSON."""
    if not paths:
        raise ConfigError("a switch and a choice need paths")
    for key in paths:
        if not isinstance(key, str | int | float | None):
            raise TypeError(f"a path is named by text, a number, a truth value or None, not {key!r}")
    named = {name_of(key): path for key, path in paths.items()}
    if len(named) < len(paths):
        raise ConfigError(f"two paths have the same name in JSON: {', '.join(map(repr, paths))}")
    return named


def _builder(what: str) -> Builder:
    builder = current_builder()
    if builder is None:
        raise ConfigError(f"{what}: call it inside a @dag function")
    return builder


def _options(name: str | None, join: JoinRule | str = JoinRule.ALL_SUCCESS) -> JobOptions:
    return JobOptions(executor="control", name=name or None, join=join)
