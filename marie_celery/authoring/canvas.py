"""Celery's canvas as a DAG: chains, groups, chords, maps and their callbacks become nodes and references.

A canvas is read as Celery runs it: what a step yields stands before the arguments of the next one, a group yields a
list, and whatever follows a group gets that list (so a chord is nothing special here). Its oddities are kept as well:
a group in a group is flattened, inside a chain a group of one is its only member and an empty one is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from celery import Celery
from celery.canvas import Signature, _basemap, _chain, _chord, chunks, group, maybe_signature

from marie_celery.authoring.builder import Builder
from marie_celery.authoring.canvas_options import Options, executor_of, read_options
from marie_celery.authoring.options import RunOptions
from marie_celery.authoring.reference import Ref
from marie_celery.authoring.task import Task
from marie_celery.config import Settings
from marie_celery.errors import ConfigError, DagError
from marie_celery.model.joins import JoinRule

ERRBACK = "marie.errback"
"""The task that calls an error callback; see `worker/errback.py`."""


@dataclass(frozen=True, slots=True)
class Given:
    """What a step gets from before it: arguments that stand first, more named ones, options of what it is part of."""

    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] | None = None
    options: Options = field(default_factory=Options)


class CanvasReader:
    def __init__(self, app: Celery, settings: Settings, tasks: Mapping[str, Task[..., Any]]) -> None:
        self._app = app
        self._settings = settings
        self._tasks = tasks
        self._problems: list[str] = []

    def read(
        self, canvas: Signature, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> tuple[Builder, Any, RunOptions]:
        """The nodes of a canvas, what it yields, and what is said of the run as a whole."""
        self._builder = Builder(str(canvas.name).rpartition(".")[2])
        of_run, options = self._options(canvas, whole=True).split()
        output = self._add_with(options, canvas, Given(args, kwargs))
        if self._problems:
            raise DagError(self._builder.dag, self._problems)
        return self._builder, output, RunOptions().but(**of_run)

    def _add(self, canvas: Any, given: Given, header: range = range(0)) -> Any:
        """What the canvas yields: a reference, or a list of what its members yield.

        `header` is what stands before the body of a chord: its error callbacks are told of that as well.
        """
        canvas = _resolved(canvas, self._app)
        return self._add_with(self._options(canvas), canvas, given, header)

    def _add_with(self, options: Options, canvas: Any, given: Given, header: range = range(0)) -> Any:
        if canvas.immutable:
            given = Given(options=given.options)
        first = len(self._builder.nodes)
        value = self._read(canvas, replace(given, options=given.options.over(options)))
        own = range(first, len(self._builder.nodes))
        for callback in options.link:
            self._add(callback, Given((value,)))
        for callback in options.link_error:
            self._errback(callback, [*own, *header])
        return value

    def _read(self, canvas: Any, given: Given) -> Any:
        if isinstance(canvas, _chain):
            return self._chain(canvas, given)
        if isinstance(canvas, chunks):
            return self._group(canvas.group(), given)
        if isinstance(canvas, group):
            return self._group(canvas, given)
        if isinstance(canvas, _chord):
            return self._chord(canvas, given)
        if isinstance(canvas, _basemap):
            return self._map(canvas, given)
        return self._task(canvas, given)

    def _chain(self, canvas: Any, given: Given) -> Any:
        steps = list(_steps(canvas, self._app))
        full = [step for step in steps if not _is_empty_group(step)] or steps[:1]
        if not full:
            self._problems.append("it has an empty chain")
            return None
        value = None
        for number, step in enumerate(full):
            value = self._add(step, _merged(canvas, given) if number == 0 else Given((value,), options=given.options))
        return value

    def _group(self, canvas: Any, given: Given) -> Any:
        values = [self._add(member, _merged(canvas, given)) for member in _members(canvas.tasks, self._app)]
        return values[0] if len(values) == 1 and isinstance(values[0], list) else values

    def _chord(self, canvas: Any, given: Given) -> Any:
        if canvas.body is None:
            self._problems.append("it has a chord without a body")
            return None
        first = len(self._builder.nodes)
        merged = replace(_merged(canvas, given), kwargs={**canvas.kwargs.get("kwargs", {}), **(given.kwargs or {})})
        values = [self._add(member, merged) for member in _members(canvas.tasks, self._app)]
        header = range(first, len(self._builder.nodes))
        return self._add(canvas.body, Given((values,), options=given.options), header)

    def _map(self, canvas: Any, given: Given) -> Any:
        """One job, as in Celery. It runs where its task would."""
        inner = _resolved(canvas.kwargs["task"], self._app)
        arguments = {"task": dict(self._app.signature(inner.task)), "it": list(canvas.kwargs["it"])}
        return self._node(canvas.task, (), arguments, given.options, runs=inner.task)

    def _task(self, canvas: Any, given: Given) -> Any:
        merged = _merged(canvas, given)
        return self._node(canvas.task, merged.args, {**canvas.kwargs, **(merged.kwargs or {})}, given.options)

    def _errback(self, callback: Any, watched: list[int]) -> None:
        callback = _resolved(callback, self._app)
        if callback.subtask_type or callback.task not in self._tasks:
            self._problems.append(f"the error callback {callback!r} is not a task of the app")
            return
        plain = {"task": callback.task, "args": callback.args, "kwargs": callback.kwargs}
        args = ({**plain, "immutable": callback.immutable}, watched)
        ref = self._node(
            ERRBACK, args, {}, self._options(callback), runs=callback.task, join=JoinRule.ONE_FAILED, retry_limit=0
        )
        if isinstance(ref, Ref):
            ref.after(*(Ref(self._builder.nodes[number]) for number in watched))

    def _node(
        self,
        name: str,
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
        options: Options,
        runs: str = "",
        **more: Any,
    ) -> Any:
        """A node of the task of this name; `runs` is the task that it runs for another."""
        task, inner = self._tasks.get(name), self._tasks.get(runs or name)
        if task is None or inner is None:
            self._problems.append(f"the app has no task '{runs or name}': no worker could run it")
            return None
        if self._app.tasks[inner.name].rate_limit:
            self._problems.append(
                f"{inner.name} has a rate_limit, and a worker would sit on its jobs; use a resource of kind rate"
            )
        made = inner.job_options.but(**{**options.job, **more})
        if made.executor is None or options.route:
            made = made.but(executor=self._executor(inner.name, options))
        return self._builder.add(task, args, kwargs, made)

    def _executor(self, task: str, options: Options) -> str | None:
        try:
            return executor_of(self._app, self._settings, task, options.route)
        except ConfigError as error:
            self._problems.append(str(error))
            return None

    def _options(self, canvas: Any, whole: bool = False) -> Options:
        options = read_options(canvas.options)
        misplaced = [] if whole else [f"'{name}' can only be said of the whole canvas" for name in options.run]
        for problem in (*options.problems, *misplaced):
            text = f"{canvas.name}: {problem}"
            if text not in self._problems:
                self._problems.append(text)
        return options


def _resolved(canvas: Any, app: Celery) -> Any:
    """A signature that came as a dict, as one that was stored does, becomes one again."""
    return maybe_signature(canvas, app=app)


def _merged(canvas: Any, given: Given) -> Given:
    own = tuple(canvas.args or ())
    return replace(given, args=(*given.args, *own))


def _steps(canvas: Any, app: Celery) -> Iterator[Any]:
    for step in canvas.tasks:
        step = _resolved(step, app)
        while isinstance(step, group) and len(step.tasks) == 1:
            step = _resolved(step.tasks[0], app)
        if isinstance(step, _chain) and not step.options and not step.args:
            yield from _steps(step, app)
        else:
            yield step


def _members(tasks: Any, app: Celery) -> Iterator[Any]:
    for member in getattr(tasks, "tasks", tasks):
        member = _resolved(member, app)
        if isinstance(member, group):
            yield from _members(member.tasks, app)
        elif not (isinstance(member, _chain) and not member.tasks):
            yield member


def _is_empty_group(step: Any) -> bool:
    return isinstance(step, group) and not step.tasks
