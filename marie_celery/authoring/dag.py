"""`@dag`: a function that wires tasks."""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, Self, TypeVar, overload

from celery import Celery, current_app

from marie_celery.authoring.builder import Builder, building, current_builder
from marie_celery.authoring.ends import add_gate_and_ends
from marie_celery.authoring.inner import map_dag
from marie_celery.authoring.options import RunOptions
from marie_celery.authoring.picture import picture_of
from marie_celery.drawing import Picture
from marie_celery.errors import ConfigError, DagError, MarieError

if TYPE_CHECKING:
    from marie_celery.clock import Clock
    from marie_celery.local.run import LocalRun
    from marie_celery.local.scheduler import GlobalScheduler
    from marie_celery.run import Run

P = ParamSpec("P")
R = TypeVar("R")

#: Every dag by name, for `marie submit` and schedules. Filled by the decorator, never from a message.
DAGS: dict[str, Dag[..., Any]] = {}


_OF_A_RUN = ("gate", "on_failure", "finally_")


class Dag(Generic[P, R]):
    def __init__(self, function: Callable[P, R], name: str, options: RunOptions, app: Celery | None = None) -> None:
        self.function = function
        self.name = name
        self.run_options = options
        self._app = app
        self._own_options: set[str] = set()
        """Those given by `options()`, for one call."""
        update_wrapper(self, function)

    def options(self, **changes: Any) -> Self:
        """The same dag with other options: `invoice.options(priority="critical", key="scan-17").submit(…)`."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other.run_options = self.run_options.but(**changes)
        other._own_options = {*self._own_options, *changes}
        return other

    def build(self, *args: P.args, **kwargs: P.kwargs) -> tuple[Builder, R]:
        """Run the function once to collect its nodes. Returns them and what the function returned."""
        with building(self.name) as builder:
            try:
                output = self.function(*args, **kwargs)
            except MarieError:
                raise
            except TypeError as error:
                raise DagError(self.name, [str(error)]) from error
            except RecursionError:
                raise DagError(self.name, ["it calls itself without end"]) from None
            add_gate_and_ends(builder, self.run_options)
        return builder, output

    @property
    def app(self) -> Celery:
        return self._app or current_app._get_current_object()

    def submit(self, *args: P.args, **kwargs: P.kwargs) -> Run:
        """Hand a run to the schedulers and return at once."""
        from marie_celery.extension import Marie

        return Marie.of(self.app).submit(self, *args, **kwargs)

    def run_local(
        self, *args: Any, max_concurrency: int | None = None, clock: Clock | None = None, **kwargs: Any
    ) -> LocalRun:
        """Run it in this process, without Redis or workers, and return when it has ended.

        A parameter of the dag that is called like an option here is given by its place.
        """
        from marie_celery.local.start import run_local

        return run_local(self, args, kwargs, max_concurrency=max_concurrency, clock=clock)

    async def run_local_async(
        self,
        *args: Any,
        max_concurrency: int | None = None,
        scheduler: GlobalScheduler | None = None,
        clock: Clock | None = None,
        **kwargs: Any,
    ) -> LocalRun:
        """The same for asyncio; `scheduler` lets several runs and other work share its slots."""
        from marie_celery.local.start import run_local_async

        how: Any = {"max_concurrency": max_concurrency, "scheduler": scheduler, "clock": clock}
        return await run_local_async(self, args, kwargs, **how)

    def draw(self, *args: P.args, **kwargs: P.kwargs) -> Picture:
        """A picture of what would be submitted: `print(invoice.draw("scan.pdf"))` is Mermaid, `.svg()` an SVG."""
        builder, _ = self.build(*args, **kwargs)
        return picture_of(builder)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Inside another dag: its nodes become part of that one, under its name. Options are those of the run."""
        builder = current_builder()
        if builder is None:
            raise TypeError(f"dag '{self.name}' is not called: use {self.name}.submit(…) or {self.name}.run_local(…)")
        builder.problems += self._problems_inside()
        with builder.inside(self.name):
            return self.function(*args, **kwargs)

    def map(self, *lists: Any, **same: Any) -> Any:
        """This dag for each item of a list, or of lists taken item by item together; like `map` of a task."""
        builder = current_builder()
        if builder is None:
            raise TypeError(f"{self.name}.map(…) makes jobs of a run: call it inside a @dag function")
        builder.problems += self._problems_inside()
        return map_dag(builder, self.name, self.function, lists, same)

    def _problems_inside(self) -> list[str]:
        """What was said for this call means nothing inside, and what keeps a run in order must not be lost silently."""
        given = self._own_options | {name for name in _OF_A_RUN if getattr(self.run_options, name) is not None}
        return [f"{self.name}: {name} is an option of a run; a dag inside a dag has none" for name in sorted(given)]

    def __repr__(self) -> str:
        return f"<marie dag {self.name}>"


@overload
def dag(function: Callable[P, R], /) -> Dag[P, R]: ...


@overload
def dag(
    *, name: str | None = None, app: Celery | None = None, **options: Any
) -> Callable[[Callable[P, R]], Dag[P, R]]: ...


def dag(
    function: Callable[P, R] | None = None,
    /,
    *,
    name: str | None = None,
    app: Celery | None = None,
    **options: Any,
) -> Any:
    """Turn a function that calls tasks into a DAG. Options: see `RunOptions`."""

    def decorate(function: Callable[P, R]) -> Dag[P, R]:
        made = Dag(function, name or function.__name__, RunOptions().but(**options), app)
        known = DAGS.get(made.name)
        if known is not None and known.function.__module__ != function.__module__:
            raise ConfigError(
                f"two dags are called '{made.name}': in {known.function.__module__} and {function.__module__}; "
                "give one a name: @dag(name=\"…\")"
            )
        DAGS[made.name] = made
        return made

    return decorate if function is None else decorate(function)
