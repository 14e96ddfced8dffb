"""The Celery app under chaos. Every result carries the token that made it; a ledger beside Redis has every start."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager

from celery import Celery

from marie_celery import Marie, Skip, current_job, dag, task

LEDGER = "CHAOS_LEDGER"
BROKEN = "broken on purpose"

app = Celery("chaos", broker=os.environ.get("CELERY_BROKER_URL", "redis://localhost:1/0"))
app.conf.update(accept_content=["json"], broker_connection_retry_on_startup=True, worker_hijack_root_logger=False)
marie = Marie(app)

Made = dict[str, int]
START: Made = {"value": 0, "token": 0}
# Faults are not the jobs' fault: only what is wrong with a job itself may end it.
PATIENT = {
    "crash_limit": 1000,
    "timeout_retry_limit": 1000,
    "retry_limit": 1000,
    "retry_delay": 0.05,
    "retry_backoff": False,
}


def note(what: str) -> None:
    """One system call a line: a killed process leaves whole lines. All processes share this clock, skewed or not."""
    job = current_job()
    line = f"{what} {job.job_id} {job.token} {os.getpid()} {time.monotonic():.6f}\n"
    ledger = os.open(os.environ[LEDGER], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    try:
        os.write(ledger, line.encode())
    finally:
        os.close(ledger)


@contextmanager
def noted() -> Iterator[int]:
    note("start")
    try:
        yield current_job().token
    except BaseException:
        note("error")
        raise
    note("end")


@task(executor="left", **PATIENT)
def step(x: Made, seconds: float = 0.0) -> Made:
    with noted() as token:
        time.sleep(seconds)
        return {"value": x["value"] + 1, "token": token}


@task(executor="right", **PATIENT)
def gather(xs: list[Made]) -> Made:
    with noted() as token:
        return {"value": sum(x["value"] for x in xs), "token": token}


@task(executor="right", **PATIENT)
def third_time(x: Made) -> Made:
    with noted() as token:
        if token < 3:
            raise RuntimeError(f"attempt {token} fails")
        return {"value": x["value"] + 1, "token": token}


@task(executor="left", time_limit=1, **PATIENT)
def hangs_at_first(x: Made) -> Made:
    with noted() as token:
        if token == 1:
            time.sleep(3600)
        return {"value": x["value"] + 1, "token": token}


@task(executor="left", **{**PATIENT, "retry_limit": 1})
def breaks(x: Made) -> Made:
    with noted():
        raise ValueError(BROKEN)


@task(executor="right", **PATIENT)
def skips(x: Made) -> Made:
    with noted():
        raise Skip("on purpose")


@task(executor="right", join="none_failed", **PATIENT)
def rest(xs: list[Made | None]) -> Made:
    with noted() as token:
        return {"value": sum(x["value"] for x in xs if x), "token": token}


@dag
def layered(layers: int, width: int) -> Made:
    x = START
    for _ in range(layers):
        x = gather([step(x, 0.03) for _ in range(width)])
    return x


@dag
def chain(length: int, seconds: float) -> Made:
    x = START
    for _ in range(length):
        x = step(x, seconds)
    return x


@dag
def retrying(width: int) -> Made:
    return gather([third_time(step(START)) for _ in range(width)])


@dag
def hanging() -> Made:
    return step(hangs_at_first(START))


@dag
def failing(width: int) -> Made:
    return gather([breaks(step(START)), *[step(START) for _ in range(width)]])


@dag
def skipping(width: int) -> Made:
    return rest([step(skips(START)), *[step(START) for _ in range(width)]])
