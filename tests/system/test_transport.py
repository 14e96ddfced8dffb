"""What our dispatch pushes is what Celery itself would have pushed, and other brokers serve as well."""

from __future__ import annotations

import json
import os
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import redis
from celery import Celery
from waiting import eventually

from marie_celery import Marie, RunState
from marie_celery.cluster import Cluster
from marie_celery.embedded import EmbeddedServer
from marie_celery.scheduler.process import SchedulerProcess

# All that may differ between our message and Celery's own, and how often it is there: ids of the message and of who
# sent it, and what is shown to people. (Celery puts reprs that it is given into headers and properties both.)
MAY_DIFFER = {
    "correlation_id": 1,
    "reply_to": 1,
    "delivery_tag": 1,
    "id": 1,
    "root_id": 1,
    "origin": 1,
    "argsrepr": 2,
    "kwargsrepr": 2,
}

TRANSPORT_OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "prefixed": {"global_keyprefix": "tenant-7:"},
    "prioritised": {"queue_order_strategy": "priority"},
    "prioritised with steps and a separator": {"priority_steps": [0, 3, 6, 9], "sep": ":"},
    "prefixed and prioritised": {"global_keyprefix": "tenant-7:", "priority_steps": [0, 5], "sep": "/"},
}


@pytest.fixture(scope="module")
def server() -> Iterator[EmbeddedServer]:
    with EmbeddedServer() as running:
        yield running


@pytest.fixture
def raw(server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[redis.Redis]:
    """The server, empty, read as bytes; and the only one that this process knows."""
    monkeypatch.setenv("MARIE_REDIS_URL", server.url)
    # Celery prefers it to the broker that an app names.
    monkeypatch.delenv("CELERY_BROKER_URL", raising=False)
    with redis.Redis.from_url(server.url) as client:
        client.flushall()
        yield client


def make_app(server: EmbeddedServer, **conf: Any) -> tuple[Celery, Marie]:
    app = Celery("transport", broker=server.url, set_as_current=False)
    app.conf.update(conf)
    return app, Marie(app)


@contextmanager
def scheduling(marie: Marie) -> Iterator[None]:
    """A scheduler, and the word of a worker that it has room; nobody takes the messages away."""
    process = SchedulerProcess(marie)
    thread = threading.Thread(target=process.run)
    marie.store.renew("nobody@here", {"host": "here"}, dict.fromkeys(marie.executors(), 10))
    thread.start()
    try:
        yield
    finally:
        process.stop()
        thread.join(timeout=30)
        assert not thread.is_alive()


def lists(raw: redis.Redis) -> set[bytes]:
    """The queues that hold messages: all lists that are not ours."""
    found: Any = raw.keys("*")
    return {key for key in found if raw.type(key) == b"list" and not key.startswith(b"marie:")}


def only_message(raw: redis.Redis) -> tuple[bytes, str]:
    """The one message on the server, and the key of its queue; takes it away."""
    (queue,) = eventually(lambda: lists(raw))
    elements: Any = raw.lrange(queue, 0, -1)
    (text,) = elements
    raw.delete(queue)
    return queue, text.decode()


def without_ids(text: str) -> str:
    for name, times in MAY_DIFFER.items():
        text, found = re.subn(rf'("{name}": )"(?:[^"\\]|\\.)*"', r"\1…", text)
        assert found == times, f"{name} is there {found} times"
    return text


def ours_and_celerys(
    raw: redis.Redis, marie: Marie, made: Any, *, queue: str, arguments: tuple[Any, ...] = (), **options: Any
) -> tuple[tuple[bytes, str], tuple[bytes, str]]:
    """The queue and the message of a job, and of a plain call of the same task."""

    @marie.dag(name=f"transport of {made.name}")
    def single() -> Any:
        return made(*arguments)

    with scheduling(marie):
        single.submit()
        ours = only_message(raw)
    made.celery_task.apply_async(queue=queue, ignore_result=True, argsrepr="()", kwargsrepr="{}", **options)
    return ours, only_message(raw)


def assert_alike(ours: tuple[bytes, str], celerys: tuple[bytes, str]) -> None:
    assert without_ids(ours[1]) == without_ids(celerys[1])
    assert ours[0] == celerys[0]


@pytest.mark.parametrize("options", TRANSPORT_OPTIONS.values(), ids=TRANSPORT_OPTIONS)
@pytest.mark.parametrize("priority", [None, 4])
def test_the_message_is_the_one_that_celery_would_have_pushed(
    server: EmbeddedServer, raw: redis.Redis, options: dict[str, Any], priority: int | None
) -> None:
    _, marie = make_app(server, broker_transport_options=options, task_default_priority=priority)

    @marie.task(executor="main")
    def work(x: int = 0) -> int:
        return x

    assert_alike(*ours_and_celerys(raw, marie, work, queue="main"))


def test_a_priority_that_is_not_the_lowest_has_a_list_of_its_own(server: EmbeddedServer, raw: redis.Redis) -> None:
    """So the test above compares keys that differ."""
    _, marie = make_app(server, broker_transport_options={"sep": ":"}, task_default_priority=7)

    @marie.task(executor="main")
    def work() -> int:
        return 1

    ours, celerys = ours_and_celerys(raw, marie, work, queue="main")
    assert ours[0] == celerys[0] == b"main:6"


@pytest.mark.parametrize(
    "limits", [{"time_limit": 30}, {"soft_time_limit": 10}, {"time_limit": 30.5, "soft_time_limit": 9}]
)
def test_time_limits_of_a_task_travel_as_celerys_own(
    server: EmbeddedServer, raw: redis.Redis, limits: dict[str, float]
) -> None:
    _, marie = make_app(server)

    @marie.task(executor="main", **limits)
    def work() -> int:
        return 1

    seconds = {name: float(limit) for name, limit in limits.items()}
    ours, celerys = ours_and_celerys(raw, marie, work, queue="main", **seconds)
    assert_alike(ours, celerys)
    assert '"timelimit": [null, null]' not in ours[1]


def test_time_limits_of_an_executor_travel_too(server: EmbeddedServer, raw: redis.Redis) -> None:
    _, marie = make_app(server, marie_executors={"main": {"time_limit": 60, "soft_time_limit": 45}})

    @marie.task(executor="main")
    def work() -> int:
        return 1

    limits = {"time_limit": 60.0, "soft_time_limit": 45.0}
    assert_alike(*ours_and_celerys(raw, marie, work, queue="main", **limits))


def test_an_executor_with_a_queue_of_another_name_sends_to_that_queue(
    server: EmbeddedServer, raw: redis.Redis
) -> None:
    _, marie = make_app(server, marie_executors={"main": {"queue": "the-fast-ones"}})

    @marie.task(executor="main")
    def work() -> int:
        return 1

    ours, celerys = ours_and_celerys(raw, marie, work, queue="the-fast-ones")
    assert_alike(ours, celerys)
    assert ours[0] == b"the-fast-ones"


@pytest.mark.parametrize("options", [{"compression": "gzip"}, {"serializer": "yaml"}], ids=lambda given: str(*given))
def test_options_of_the_task_that_are_celerys_count(
    server: EmbeddedServer, raw: redis.Redis, options: dict[str, Any]
) -> None:
    _, marie = make_app(server, accept_content=["json", "yaml"])

    @marie.task(executor="main", **options)
    def work() -> int:
        return 1

    assert_alike(*ours_and_celerys(raw, marie, work, queue="main"))


def test_settings_of_the_app_about_messages_count(server: EmbeddedServer, raw: redis.Redis) -> None:
    routes = {"*.work": {"priority": 5, "routing_key": "elsewhere"}}
    _, marie = make_app(server, task_compression="zlib", task_routes=routes, task_default_delivery_mode="transient")

    @marie.task(executor="main", name="routed.work")
    def work() -> int:
        return 1

    assert_alike(*ours_and_celerys(raw, marie, work, queue="main"))


def test_the_message_shows_the_inputs_but_does_not_carry_them(server: EmbeddedServer, raw: redis.Redis) -> None:
    _, marie = make_app(server)

    @marie.task(executor="main")
    def work(text: str = "") -> str:
        return text

    awkward = 'a/b "quoted" \\ é 漢 "@attempt@" "@run@" %1'
    ours, celerys = ours_and_celerys(raw, marie, work, queue="main", arguments=(awkward,))
    assert_alike(ours, celerys)
    headers = json.loads(ours[1])["headers"]
    assert json.loads(headers["argsrepr"]) == [awkward]
    assert headers["kwargsrepr"] == "{}"


APP = """
import os

from celery import Celery

from marie_celery import Marie

app = Celery("brokers", broker=os.environ["CELERY_BROKER_URL"])
app.conf.update(
    broker_connection_retry_on_startup=True,
    worker_hijack_root_logger=False,
    broker_transport_options={options!r},
    task_default_priority={priority!r},
    marie_executors={{"main": {{"queue": "the-fast-ones"}}}},
)
marie = Marie(app)


@marie.task(executor="main")
def add(x, y=1):
    return x + y


@marie.dag(name="brokers of {name}")
def chain(length):
    x = 0
    for _ in range(length):
        x = add(x)
    return x
"""

StartCluster = Callable[..., tuple[Cluster, Any]]


@pytest.fixture
def start_cluster(
    server: EmbeddedServer, raw: redis.Redis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[StartCluster]:
    """A scheduler and a worker of an app on a broker of its own; answers with the app's module too."""
    made: list[Cluster] = []

    def start(name: str, broker: str, options: dict[str, Any], priority: int | None = None) -> tuple[Cluster, Any]:
        (tmp_path / f"{name}.py").write_text(APP.format(options=options, priority=priority, name=name))
        environment = {
            "CELERY_BROKER_URL": broker,
            "MARIE_REDIS_URL": server.url,
            "MARIE_CONFIG": "",
            "PYTHONPATH": os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])]),
        }
        monkeypatch.syspath_prepend(str(tmp_path))
        for key, value in environment.items():
            monkeypatch.setenv(key, value)
        cluster = Cluster(name, server=server, environment=environment, log=tmp_path / "logs")
        made.append(cluster)
        cluster.start_scheduler()
        cluster.start_worker("main", options=["-l", "warning"])
        return cluster, __import__(name)

    yield start
    for cluster in made:
        for process in cluster.processes.values():
            process.terminate()
        for process in cluster.processes.values():
            process.wait(timeout=30)


def assert_a_run_completes(module: Any) -> None:
    run = module.chain.submit(5)
    assert run.wait(timeout=60) is RunState.COMPLETED
    assert run.result() == 5
    assert [job.attempt for job in run.jobs()] == [1] * 5, "each was delivered once"


def announced(tmp_path: Path) -> str:
    log = tmp_path / "logs" / "scheduler.log"
    return eventually(lambda: "".join(re.findall("hand-over (\\w+)", log.read_text())))


def test_a_prefix_priorities_and_another_queue_name_work_end_to_end(
    server: EmbeddedServer, start_cluster: StartCluster, tmp_path: Path
) -> None:
    options = {"global_keyprefix": "tenant-7:", "priority_steps": [0, 3, 6, 9], "queue_order_strategy": "priority"}
    _, module = start_cluster("prefixed_app", server.url, options, priority=6)
    assert_a_run_completes(module)
    assert announced(tmp_path) == "atomic"


def test_a_broker_on_another_server_gets_its_messages_published(start_cluster: StartCluster, tmp_path: Path) -> None:
    with EmbeddedServer() as broker:
        cluster, module = start_cluster("other_server_app", broker.url, {})
        assert_a_run_completes(module)
        assert announced(tmp_path) == "publish"
        for process in cluster.processes.values():
            process.terminate()
            process.wait(timeout=30)


def test_a_broker_in_another_database_gets_its_messages_published(
    server: EmbeddedServer, start_cluster: StartCluster, tmp_path: Path
) -> None:
    _, module = start_cluster("other_database_app", f"redis://127.0.0.1:{server.port}/1", {})
    assert_a_run_completes(module)
    assert announced(tmp_path) == "publish"
