"""A Celery app whose tasks share resources, for tests on real workers."""

from __future__ import annotations

import os
import time

from celery import Celery

from marie_celery import Marie, current_job, dag, task

app = Celery("resources", broker=os.environ.get("CELERY_BROKER_URL", "redis://localhost:1/0"))
app.conf.update(accept_content=["json"], broker_connection_retry_on_startup=True, worker_hijack_root_logger=False)
app.conf.marie_resources = {
    "memory": {"kind": "quantity", "quantity": 8},
    "gpu": {"kind": "discrete", "items": "g1,g2,g3"},
    "customer": {"kind": "concurrency", "limit": 2, "on_shortage": "skip"},
    "calls": {"kind": "rate", "rate": 400, "burst": 20},
    "mails": {"kind": "rate", "rate": 50, "burst": 1},
    "night": {"kind": "highlander"},
}
app.conf.marie_tenants = {"acme": 3, "zeta": 1}
app.conf.marie_executors = {name: {} for name in ("a", "b", "c")}
marie = Marie(app)

NAMES = ("MARIE_RM_DISCRETE_GPU_ITEMS", "JQM_RM_DISCRETE_GPU_ITEMS")


@task(executor="a", crash_limit=50)
def work(seconds: float) -> list[str]:
    time.sleep(seconds)
    return list(current_job().items.get("gpu", ()))


@task(executor="a", resources={"gpu": 2})
def look_around() -> dict[str, object]:
    return {"items": list(current_job().items["gpu"]), **{name: os.environ.get(name) for name in NAMES}}


@task(executor="a")
def environment() -> list[str]:
    return [name for name in NAMES if name in os.environ]


@task(executor="a", concurrency_key="customer")
def serve(customer: str, seconds: float) -> str:
    time.sleep(seconds)
    return customer


@task(executor="a", resources={"night": None})
def only_one(seconds: float) -> float:
    time.sleep(seconds)
    return seconds


@dag(name="resources.crowd")
def crowd(jobs: list[tuple[str, float, dict[str, object]]]) -> None:
    """Independent jobs: executor, seconds, resources."""
    for executor, seconds, resources in jobs:
        work.options(executor=executor, resources=resources)(seconds)


@dag(name="resources.one_of_each")
def one_of_each(customer: str) -> list[object]:
    return [look_around(), environment().after(look_around()), serve(customer, 0.0)]


@dag(name="resources.nightly", highlander=True)
def nightly(seconds: float) -> float:
    return only_one(seconds)
