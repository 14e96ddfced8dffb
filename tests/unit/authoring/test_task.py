import asyncio

import pytest
from celery import Celery

from marie_celery.authoring.builder import building
from marie_celery.authoring.reference import Ref
from marie_celery.authoring.task import task
from marie_celery.errors import ConfigError


@task(executor="ocr", priority="high", retry_limit=4)
def read(page: str) -> str:
    return page.upper()


def test_called_outside_of_a_dag_it_is_the_function():
    assert read("a") == "A"
    assert read.__name__ == "read"


def test_called_inside_of_a_dag_it_makes_a_node_and_returns_a_reference():
    with building("letters") as builder:
        ref = read("a")
    assert isinstance(ref, Ref)
    assert [(node.name, node.args) for node in builder.nodes] == [("read", ("a",))]


def test_it_is_named_after_its_module():
    assert read.name == f"{__name__}.read"
    assert read.executor == "ocr"


def test_options_change_a_copy():
    other = read.options(priority="low", name="first")
    assert (other.job_options.priority, other.job_options.name) == ("low", "first")
    assert other.job_options.retry_limit == 4
    assert read.job_options.priority == "high"


def test_an_unknown_option_of_a_call_is_refused_with_the_known_ones():
    with pytest.raises(TypeError, match=r"unknown option colour; there are .*priority"):
        read.options(colour="red")


def test_without_an_executor_it_is_refused():
    with pytest.raises(ConfigError, match="needs an executor"):
        task(lambda: None)
    with pytest.raises(ConfigError, match="needs an executor"):
        task()


def test_a_coroutine_function_called_outside_of_a_dag_is_awaited_like_any_other():
    async def later(x: int) -> int:
        return x + 1

    made = task(executor="ocr")(later)
    assert made.is_async
    assert asyncio.run(made(1)) == 2


def test_an_async_generator_is_refused():
    async def several():
        yield 1

    with pytest.raises(ConfigError, match="several is an async generator"):
        task(executor="ocr")(several)


def test_without_an_app_it_is_a_task_of_every_app():
    app = Celery("every", set_as_current=False)
    assert app.tasks[read.name].marie is read


def test_with_an_app_it_is_a_task_of_that_app_only():
    mine, other = Celery("mine", set_as_current=False), Celery("other", set_as_current=False)

    @task(executor="ocr", app=mine)
    def private() -> None: ...

    assert private.name in mine.tasks
    assert private.name not in other.tasks


def test_options_that_are_not_ours_go_to_celery():
    app = Celery("options", set_as_current=False)

    @task(executor="ocr", app=app, time_limit=9, rate_limit="10/m")
    def limited() -> None: ...

    assert (limited.celery_task.time_limit, limited.celery_task.rate_limit) == (9, "10/m")


def test_delay_is_plain_celery():
    app = Celery("eager", set_as_current=False)
    app.conf.task_always_eager = True

    @task(executor="ocr", app=app)
    def double(number: int) -> int:
        return 2 * number

    assert double.delay(21).get() == 42
    assert double.s(1).task == double.name
