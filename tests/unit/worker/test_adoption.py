"""Plain Celery tasks that can be jobs, and are otherwise what they were."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from celery import Celery
from celery import Task as CeleryTask
from celery.worker.request import Request

from marie_celery import Marie
from marie_celery.authoring.canvas_options import executor_of
from marie_celery.config import Settings
from marie_celery.errors import ConfigError
from marie_celery.worker.adoption import Adopted, adopt_plain_tasks

EXECUTORS = Settings(executors={"scans": {"queue": "heavy"}})


@pytest.fixture
def app() -> Iterator[Celery]:
    made = Celery("plain", broker="memory://", backend="cache+memory://", set_as_current=False)
    made.conf.task_routes = {"*.heavy": "heavy"}
    yield made
    made.close()


def adopted(app: Celery, task: Any) -> Any:
    app.finalize()
    adopt_plain_tasks(app, EXECUTORS)
    return app.tasks[task.name]


def test_it_is_called_and_applied_as_before(app: Celery) -> None:
    @app.task(name="add", shared=False)
    def add(x: int, y: int = 1) -> int:
        return x + y

    task = adopted(app, add)
    assert isinstance(task, Adopted)
    assert task(1, y=2) == 3
    assert task.apply((1,)).get() == 2
    assert task.marie.signature_of_function.shape == add.marie.signature_of_function.shape


def test_a_bound_task_still_gets_itself(app: Celery) -> None:
    @app.task(name="who", bind=True, shared=False)
    def who(self: Any, greeting: str) -> str:
        return f"{greeting} {self.name}"

    task = adopted(app, who)
    assert task.apply(("hello",)).get() == "hello who"
    assert list(task.marie.signature_of_function.shape.parameters) == ["greeting"]


def test_a_class_with_a_call_of_its_own_keeps_it(app: Celery) -> None:
    class Loud(CeleryTask):  # type: ignore[misc]
        def __call__(self, *args: Any, **kwargs: Any) -> Any:
            return super().__call__(*args, **kwargs).upper()

    @app.task(name="say", base=Loud, shared=False)
    def say(word: str) -> str:
        return word

    task = adopted(app, say)
    assert task("a") == "A"
    assert task.apply(("a",)).get() == "A"


def test_a_plain_retry_stays_celerys(app: Celery) -> None:
    tries = []

    @app.task(name="again", bind=True, max_retries=2, default_retry_delay=0, shared=False)
    def again(self: Any) -> int:
        tries.append(self.request.retries)
        if self.request.retries < 2:
            raise self.retry()
        return len(tries)

    assert adopted(app, again).apply().get() == 3
    assert tries == [0, 1, 2]


def test_the_request_class_is_ours_unless_the_user_has_one(app: Celery) -> None:
    class Own(Request):  # type: ignore[misc]
        pass

    @app.task(name="stock", shared=False)
    def stock() -> None: ...

    @app.task(name="own", Request=Own, shared=False)
    def own() -> None: ...

    assert adopted(app, stock).Request == "marie_celery.worker.request:MarieRequest"
    assert adopted(app, own).Request is Own


@pytest.mark.filterwarnings("ignore::celery.exceptions.CDeprecationWarning")
def test_its_executor_is_that_of_its_queue(app: Celery) -> None:
    @app.task(name="light", shared=False)
    def light() -> None: ...

    @app.task(name="very.heavy", shared=False)
    def heavy() -> None: ...

    @app.task(name="aside", queue="side", shared=False)
    def aside() -> None: ...

    executors = {task.name: adopted(app, task).marie.executor for task in (light, heavy, aside)}
    assert executors == {"light": "celery", "very.heavy": "scans", "aside": "side"}


def test_adopting_twice_changes_nothing(app: Celery) -> None:
    @app.task(name="once", shared=False)
    def once() -> None: ...

    task = adopted(app, once)
    before = type(task)
    adopt_plain_tasks(app, EXECUTORS)
    assert type(task) is before


def test_celerys_own_tasks_are_left_alone_but_for_maps(app: Celery) -> None:
    app.finalize()
    adopt_plain_tasks(app, EXECUTORS)
    ours = {name for name, task in app.tasks.items() if isinstance(task, Adopted) and name.startswith("celery.")}
    assert ours == {"celery.map", "celery.starmap"}
    assert app.tasks["celery.map"].marie.job_options.executor is None, "it is that of what it maps"


def test_a_task_that_is_routed_to_no_queue_of_the_app_cannot_be_a_job(app: Celery) -> None:
    app.conf.task_create_missing_queues = False

    @app.task(name="very.heavy", shared=False)
    def heavy() -> None: ...

    assert not isinstance(adopted(app, heavy), Adopted)
    with pytest.raises(ConfigError, match="Queue 'heavy' missing"):
        executor_of(app, EXECUTORS, "very.heavy", {})


def test_in_eager_mode_a_canvas_is_told_its_own_way(app: Celery) -> None:
    app.conf.task_always_eager = True

    @app.task(name="add", shared=False)
    def add(x: int) -> int:
        return x

    with pytest.raises(ConfigError, match=r"by its own apply\(\)"):
        Marie(app).submit(add.s(1))
