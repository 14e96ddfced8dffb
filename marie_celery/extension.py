"""`Marie(app)`: binds marie_celery to a Celery app."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from functools import cached_property, partial
from typing import Any
from weakref import WeakKeyDictionary

from celery import Celery
from celery.canvas import Signature

from marie_celery.alerts.callbacks import F, on_alert
from marie_celery.authoring.builder import Builder
from marie_celery.authoring.canvas import CanvasReader
from marie_celery.authoring.compile import Compiler, Surroundings
from marie_celery.authoring.dag import Dag, dag
from marie_celery.authoring.options import RunOptions
from marie_celery.authoring.task import Task, task
from marie_celery.config import Settings, load_settings
from marie_celery.errors import ConfigError, RunWaits
from marie_celery.local.start import run_local
from marie_celery.operations import Operations
from marie_celery.resources.settings import MOST, QuantitySettings
from marie_celery.run import Run
from marie_celery.store.connection import check_server, clear_errors, connect, is_redis_url
from marie_celery.store.reading import Reader
from marie_celery.store.sentinel import with_transport_options
from marie_celery.store.store import Store
from marie_celery.store.why import Why, why
from marie_celery.worker.adoption import adopt_plain_tasks
from marie_celery.worker.setup import install

log = logging.getLogger(__name__)

_bound: WeakKeyDictionary[Celery, Marie] = WeakKeyDictionary()


class Marie:
    def __init__(self, app: Celery) -> None:
        self.app = app
        self._stores: dict[int, Store] = {}
        _bound[app] = self
        install(self)

    @classmethod
    def of(cls, app: Celery) -> Marie:
        """The Marie of an app."""
        found = _bound.get(app)
        if found is None:
            raise ConfigError(f"the Celery app '{app.main}' is not bound: write Marie(app) beside it")
        return found

    @cached_property
    def settings(self) -> Settings:
        """Read once, when first needed: nothing happens at import time."""
        return load_settings(self.app.conf)

    def forget(self) -> None:
        """Read the settings and connect anew when next needed: what they come from has changed."""
        self.__dict__.pop("settings", None)
        self._stores.clear()

    @property
    def url(self) -> str:
        url = self.settings.redis_url or self.app.conf.broker_url or ""
        url = with_transport_options(url, self.app.conf.broker_transport_options)
        if not is_redis_url(url):
            raise ConfigError(
                f"set marie_redis_url: the state lives in Redis, and the broker ('{url.partition(':')[0]}') is not one"
            )
        return url

    @property
    def store(self) -> Store:
        """One per process: a forked child never uses its parent's connections."""
        store = self._stores.get(os.getpid())
        if store is None:
            self._stores.clear()
            with clear_errors(self.url):
                store = self._stores[os.getpid()] = Store(
                    connect(self.url, wait_seconds=self.settings.redis_wait_seconds), self.settings
                )
        return store

    @property
    def reader(self) -> Reader:
        store = self.store
        return Reader(store.client, store.keys)

    def check(self) -> list[str]:
        """Raises ServerError if Redis cannot serve; returns warnings."""
        return check_server(self.store.client, self.url)

    @property
    def task(self) -> Callable[..., Any]:
        """`@marie.task(executor=…)`: like `@task`, for this app only."""
        return partial(task, app=self.app)

    @property
    def dag(self) -> Callable[..., Any]:
        """`@marie.dag`: like `@dag`, for this app only."""
        return partial(dag, app=self.app)

    @property
    def on_alert(self) -> Callable[[F], F]:
        """`@marie.on_alert`: told of missed SLAs."""
        return on_alert

    def tasks(self) -> dict[str, Task[..., Any]]:
        found = ((name, getattr(item, "marie", None)) for name, item in self.app.tasks.items())
        return {name: made for name, made in found if made is not None}

    def executors(self) -> set[str]:
        """Those of the app's tasks and those that the settings name."""
        own = {made.job_options.executor for made in self.tasks().values()}
        return {name for name in own if name} | set(self.settings.executors)

    def submit(self, dag: Dag[..., Any] | Signature, *args: Any, **kwargs: Any) -> Run:
        """Hand a run of a dag, or of a Celery canvas, to the schedulers and return at once.

        In Celery's eager mode the run has ended, in this process, when it is returned.
        """
        if self.app.conf.task_always_eager:
            return self._run_eagerly(dag, args, kwargs)
        builder, output, options = self._build(dag, args, kwargs)
        with clear_errors(self.url):
            now_ms, estimates, declared = self.reader.surroundings(builder.task_names())
        resources = {**self.settings.resources, **declared}
        around = Surroundings(self.settings, self.executors(), self.tasks().keys(), now_ms, estimates, resources)
        new = Compiler(builder, options, around).compile(output)
        with clear_errors(self.url):
            try:
                return Run(self, self.store.submit(new), returns=new.returns())
            except RunWaits as other:
                return Run(self, other.run_id, is_new=False)

    def _build(
        self, dag: Dag[..., Any] | Signature, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Builder, Any, RunOptions]:
        if isinstance(dag, Signature):
            self.app.finalize()
            adopt_plain_tasks(self.app, self.settings)
            return CanvasReader(self.app, self.settings, self.tasks()).read(dag, args, kwargs)
        return *dag.build(*args, **kwargs), dag.run_options

    def _run_eagerly(self, dag: Dag[..., Any] | Signature, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Run:
        if isinstance(dag, Signature):
            raise ConfigError("task_always_eager is set: a canvas runs in this process by its own apply()")
        run = run_local(dag, args, kwargs)
        if self.app.conf.task_eager_propagates:
            run.result()
        return run

    @property
    def operations(self) -> Operations:
        """cancel, pause, resume, replay, dead letters, reconcile."""
        return Operations(self)

    def run(self, run_id: str) -> Run:
        """A run that was submitted before, maybe by another process."""
        self.reader.run_state(run_id)
        return Run(self, run_id)

    def why(self, id: str) -> Why:
        """Why a job does not run, or what a run waits for."""
        return why(self.store, id)


def surroundings(app: Celery, builder: Builder, now_ms: int) -> Surroundings:
    """What a run in this process is checked against: as at a submit, or only against itself if the app is not bound.

    A resource that the settings do not have may have been declared in Redis, where nobody looks now.
    """
    nodes = list(builder.all_nodes())
    declared = {name: QuantitySettings(quantity=MOST) for node in nodes for name in node.options.resources or ()}
    marie = _bound.get(app)
    if marie is None:
        executors = {node.options.executor or "" for node in nodes}
        return Surroundings(load_settings(), executors, now_ms=now_ms, resources=declared)
    resources = {**declared, **marie.settings.resources}
    return Surroundings(marie.settings, marie.executors(), marie.tasks().keys(), now_ms, resources=resources)
