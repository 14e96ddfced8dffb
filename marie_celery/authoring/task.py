"""`@task`: a plain function that can be a node of a DAG, and a Celery task all the same."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine, Mapping
from functools import cached_property, update_wrapper
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, Protocol, Self, TypeVar, overload

from celery import Celery, current_app
from celery._state import _get_active_apps, connect_on_app_finalize

from marie_celery.authoring.builder import current_builder
from marie_celery.authoring.nodes import MapNode
from marie_celery.authoring.options import JobOptions
from marie_celery.authoring.reference import Ref
from marie_celery.authoring.types import Signature
from marie_celery.errors import ConfigError
from marie_celery.model.control import Control

if TYPE_CHECKING:
    from celery.result import AsyncResult

P = ParamSpec("P")
R = TypeVar("R")


class Task(Generic[P, R]):
    """What `@task` returns.

    Called inside a `@dag` function it makes a node and returns a reference; called anywhere else it is the
    function. `delay`, `apply_async`, `s` and `si` are plain Celery.
    """

    def __init__(
        self,
        function: Callable[P, R],
        *,
        name: str,
        options: JobOptions,
        retry_on: tuple[type[BaseException], ...],
        give_up_on: tuple[type[BaseException], ...],
        celery_options: Mapping[str, Any],
        app: Celery | None = None,
    ) -> None:
        self.function = function
        self.name = name
        self.short_name = name.rpartition(".")[2]
        self.job_options = options
        self.retry_on = retry_on
        self.give_up_on = give_up_on
        self.celery_options = dict(celery_options)
        self._app = app
        update_wrapper(self, function)

    @property
    def executor(self) -> str:
        assert self.job_options.executor
        return self.job_options.executor

    @property
    def is_async(self) -> bool:
        return inspect.iscoroutinefunction(self.function)

    @cached_property
    def signature_of_function(self) -> Signature:
        return Signature(self.function, self.name)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        builder = current_builder()
        if builder is None:
            return self.function(*args, **kwargs)
        return builder.add(self, args, kwargs, self.job_options)  # type: ignore[return-value]

    def map(self, *lists: Any, batch: int | None = None, **same: Any) -> Any:
        """A job for each item of a list, or of lists taken item by item together: `read.map(split(path))`.

        Lists may be results that are not known yet. What is given by name is the same for every item. Returns a
        reference to the list of results, in order. With `batch`, one job does up to so many items in turn.
        """
        builder = current_builder()
        if builder is None:
            return [self.function(*items, **same) for items in zip(*lists, strict=True)]
        made = builder.make(MapNode, self, lists, same, self.job_options, control=Control.MAP, batch=batch)
        return Ref(made)

    def options(self, **changes: Any) -> Self:
        """The same task with other options for the calls made through what is returned."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other.job_options = self.job_options.but(**changes)
        return other

    def register(self, app: Celery) -> Any:
        """Make it a Celery task of this app."""
        from marie_celery.worker.task import MarieTask

        limits = {
            name: getattr(self.job_options, name)
            for name in ("time_limit", "soft_time_limit")
            if getattr(self.job_options, name) is not None
        }
        return app._task_from_fun(
            self.function, name=self.name, base=MarieTask, marie=self, **{**limits, **self.celery_options}
        )

    @property
    def celery_task(self) -> Any:
        return (self._app or current_app).tasks[self.name]

    def delay(self, *args: P.args, **kwargs: P.kwargs) -> AsyncResult[R]:
        result: AsyncResult[R] = self.celery_task.delay(*args, **kwargs)
        return result

    def apply_async(self, *args: Any, **options: Any) -> AsyncResult[R]:
        result: AsyncResult[R] = self.celery_task.apply_async(*args, **options)
        return result

    def s(self, *args: Any, **kwargs: Any) -> Any:
        return self.celery_task.s(*args, **kwargs)

    def si(self, *args: Any, **kwargs: Any) -> Any:
        return self.celery_task.si(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<marie task {self.name} on {self.executor}>"


class Decorator(Protocol):
    """For a type checker a task gives what its function does, and a coroutine what comes of it."""

    @overload
    def __call__(self, function: Callable[P, Coroutine[Any, Any, R]], /) -> Task[P, R]: ...

    @overload
    def __call__(self, function: Callable[P, R], /) -> Task[P, R]: ...


@overload
def task(function: Callable[P, R], /) -> Task[P, R]: ...


@overload
def task(
    *,
    executor: str,
    name: str | None = None,
    retry_on: tuple[type[BaseException], ...] = (),
    give_up_on: tuple[type[BaseException], ...] = (),
    app: Celery | None = None,
    **options: Any,
) -> Decorator: ...


def task(
    function: Callable[P, R] | None = None,
    /,
    *,
    executor: str = "",
    name: str | None = None,
    retry_on: tuple[type[BaseException], ...] = (),
    give_up_on: tuple[type[BaseException], ...] = (),
    app: Celery | None = None,
    **options: Any,
) -> Any:
    """Turn a function into a task of an executor.

    Options of jobs (priority, retry_limit, time_limit, estimated_runtime …, see `JobOptions`) are ours, all others
    go to Celery. Without `app` the task belongs to every app, like `shared_task`.
    """
    if function is not None or not executor:
        raise ConfigError("@task needs an executor: @task(executor=\"…\")")
    ours = {key: options.pop(key) for key in list(options) if key in JobOptions.__dataclass_fields__}

    def decorate(function: Callable[P, R]) -> Task[P, R]:
        if inspect.isasyncgenfunction(function):
            raise ConfigError(f"{function.__qualname__} is an async generator; a task returns its result once")
        made = Task(
            function,
            name=name or f"{function.__module__}.{function.__qualname__}",
            options=JobOptions(executor=executor, **ours),
            retry_on=retry_on,
            give_up_on=give_up_on,
            celery_options=options,
            app=app,
        )
        if app is not None:
            made.register(app)
        else:
            _register_everywhere(made)
        return made

    return decorate


def _register_everywhere(made: Task[..., Any]) -> None:
    """Like `shared_task`: with every app, those to come and those that are complete already."""
    connect_on_app_finalize(made.register)
    for app in _get_active_apps():
        if app.finalized:
            made.register(app)
