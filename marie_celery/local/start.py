"""From a dag and its arguments to a run in this process."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any

from marie_celery.authoring.compile import Compiler
from marie_celery.clock import Clock, SystemClock
from marie_celery.config import Settings
from marie_celery.errors import ConfigError
from marie_celery.local.conductor import Conductor
from marie_celery.local.crew import Crew
from marie_celery.local.run import LocalRun
from marie_celery.local.scheduler import GlobalScheduler
from marie_celery.local.tickets import TicketDriver

if TYPE_CHECKING:
    from marie_celery.authoring.dag import Dag


def run_local(
    dag: Dag[..., Any],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    *,
    max_concurrency: int | None = None,
    clock: Clock | None = None,
) -> LocalRun:
    clock = clock or SystemClock()
    prepared = Prepared(dag, args, kwargs, clock)
    most = prepared.most(max_concurrency)
    conductor = prepared.conductor(bounded=most is not None)
    Crew(conductor, clock, most).run()
    return LocalRun(conductor)


async def run_local_async(
    dag: Dag[..., Any],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    *,
    max_concurrency: int | None = None,
    scheduler: GlobalScheduler | None = None,
    clock: Clock | None = None,
) -> LocalRun:
    if scheduler is not None and max_concurrency is not None:
        raise ConfigError("give max_concurrency to the scheduler, or no scheduler")
    clock = clock or SystemClock()
    prepared = Prepared(dag, args, kwargs, clock)
    async with AsyncExitStack() as stack:
        if scheduler is None:
            own = GlobalScheduler(prepared.most(max_concurrency), clock=clock)
            scheduler = await stack.enter_async_context(own)
        conductor = prepared.conductor(bounded=scheduler.max_concurrency is not None)
        await TicketDriver(conductor, scheduler, clock).run()
    return LocalRun(conductor)


class Prepared:
    """A dag that has passed the checks of a submit."""

    def __init__(self, dag: Dag[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any], clock: Clock) -> None:
        from marie_celery.extension import surroundings

        builder, output = dag.build(*args, **kwargs)
        around = surroundings(dag.app, builder, clock.epoch_us() // 1000)
        self._new = Compiler(builder, dag.run_options, around).compile(output)
        self._tasks = {node.task.name: node.task for node in builder.all_nodes()}
        self._clock = clock
        self.settings: Settings = around.settings

    def most(self, given: int | None) -> int | None:
        """How many jobs may be at work; None = all."""
        if given is None:
            return self.settings.scheduler_max_concurrency if self.settings.scheduler_enabled else None
        if given < 1:
            raise ConfigError(f"max_concurrency must be at least 1, not {given}")
        return given

    def conductor(self, *, bounded: bool) -> Conductor:
        return Conductor(self._new, self._tasks, self.settings, self._clock, bounded=bounded)
