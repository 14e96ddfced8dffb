"""A Celery app for system tests: small tasks that succeed, fail, hang and die on purpose."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from celery import Celery
from pydantic import BaseModel

from marie_celery import Marie, RetryAfter, Skip, current_job, dag, merge, task

app = Celery("system", broker=os.environ.get("CELERY_BROKER_URL", "redis://localhost:1/0"))
app.conf.update(accept_content=["json"], broker_connection_retry_on_startup=True, worker_hijack_root_logger=False)
marie = Marie(app)


class Invoice(BaseModel):
    number: int
    due: datetime


@dataclass
class Line:
    text: str
    amount: float


@task(executor="main")
def add(x: int, y: int = 1) -> int:
    return x + y


@task(executor="main")
def total(xs: list[int]) -> int:
    return sum(xs)


@task(executor="main")
def who() -> dict[str, object]:
    job = current_job()
    return {"job": job.job_id, "run": job.run_id, "attempt": job.attempt, "executor": job.executor, "dag": job.dag}


@task(executor="later")
async def add_later(x: int, y: int = 1) -> dict[str, object]:
    await asyncio.sleep(0)
    return {"sum": x + y, "job": current_job().name, "loop": id(asyncio.get_running_loop())}


@task(executor="later")
async def add_plainly(x: int) -> int:
    await asyncio.sleep(0)
    return x + 1


@task(executor="later", retry_limit=0, timeout_retry_limit=0)
async def wait_until_cancelled(marker: str) -> str:
    """Tells by a file that it runs, and by its end how that came."""
    path = Path(marker)
    path.write_text(current_job().job_id)
    try:
        await asyncio.sleep(3600)
    except asyncio.CancelledError:
        path.write_text("cancelled")
        raise
    return "ended"


@task(executor="pools")
def double(x: int) -> int:
    return x * 2


@task(executor="main")
def bill(invoice: Invoice, lines: list[Line]) -> Invoice:
    assert isinstance(invoice, Invoice)
    assert all(isinstance(line, Line) for line in lines)
    return Invoice(number=invoice.number + len(lines), due=invoice.due)


@task(executor="main", retry_limit=2, retry_delay=0.01)
def succeed_on_attempt(number: int) -> int:
    if current_job().attempt < number:
        raise RuntimeError(f"attempt {current_job().attempt} fails")
    return current_job().attempt


@task(executor="main", retry_limit=0)
def fail(text: str) -> int:
    raise ValueError(text)


@task(executor="main", retry_limit=1)
def again_later() -> int:
    if current_job().attempt == 1:
        raise RetryAfter(0.01)
    return current_job().attempt


@task(executor="main")
def skip(reason: str) -> int:
    raise Skip(reason)


@task(executor="main", join="all_done")
def clean_up(x: object) -> str:
    return "clean"


@task(executor="main", crash_limit=2)
def die() -> int:
    os.kill(os.getpid(), signal.SIGKILL)
    return 0


@task(executor="main", time_limit=1, timeout_retry_limit=0)
def hang() -> int:
    time.sleep(3600)
    return 0


@task(executor="main")
def tell_until(marker: str) -> str:
    """The same, and tells how far it is."""
    current_job().progress(0.4, "page 4 of 10")
    run_until.function(marker)
    current_job().progress(1, "all pages")
    return "told"


@task(executor="main")
def run_until(marker: str) -> str:
    """Tells that it runs by a file, then runs until the file is gone."""
    path = Path(marker)
    path.write_text(current_job().job_id)
    while path.exists():
        time.sleep(0.02)
    return "ended"


@task(executor="line")
def step(after: object = None) -> int:
    return 1


@task(executor="main", retry_limit=0)
def too_much() -> str:
    return "x" * 2_000_000


@dag
def layered(layers: int, width: int) -> int:
    x = 0
    for _ in range(layers):
        x = total([add(x) for _ in range(width)])
    return x


@dag
def chain(length: int) -> int:
    x = 0
    for _ in range(length):
        x = add(x)
    return x


@dag
def wide(width: int) -> int:
    return total([add(number) for number in range(width)])


@dag
def gathered(width: int) -> int:
    """Two layers with a merge in between: width + 1 edges each way instead of width²."""
    gate = merge(*[add(number) for number in range(width)])
    return total([add(1).after(gate) for _ in range(width)])


@dag
def doubled(numbers: list[int]) -> list[int]:
    return [double(number) for number in numbers]


@dag
def added_later(numbers: list[int]) -> list[object]:
    return [add_later(number) for number in numbers]


@dag
def waiting(marker: str, limit: float | None = None) -> str:
    return wait_until_cancelled.options(soft_time_limit=limit)(marker)


@dag
def single(name: str, args: list[object]) -> object:
    """One task by name, out of those in this module."""
    return marie.tasks()[f"system_app.{name}"](*args)


@dag
def billed(number: int) -> Invoice:
    invoice = Invoice(number=number, due=datetime.fromisoformat("2026-11-18T12:00:00+00:00"))
    return bill(bill(invoice, [Line("a", 1.0)]), [Line("b", 2.0), Line("c", 3.0)])


@dag
def gate(marker: str) -> str:
    """Takes the only slot of the executor `line` until the file is gone."""
    return run_until.options(executor="line")(marker)


@dag
def chains(given: list[list[dict[str, object]]]) -> list[object]:
    """Chains of steps side by side, with the options of each step."""
    ends = []
    for steps in given:
        x: object = None
        for options in steps:
            x = step.options(**options)(x)
        ends.append(x)
    return ends


@dag
def broken_branch() -> dict[str, object]:
    broken = add(fail("no luck"))
    return {"fine": add(1), "broken": broken, "clean": clean_up(broken)}


app.conf.imports = ["graph_app"]
