"""The app that runs on every engine: small tasks that do what they are told."""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from celery import Celery
from pydantic import BaseModel

from marie_celery import (
    Marie,
    RetryAfter,
    Skip,
    Wait,
    branch,
    choose,
    current_job,
    dag,
    merge,
    optional,
    switch,
    task,
)

app = Celery("conformance", broker=os.environ.get("CELERY_BROKER_URL", "redis://localhost:1/0"))
app.conf.update(accept_content=["json"], broker_connection_retry_on_startup=True, worker_hijack_root_logger=False)
marie = Marie(app)


class Invoice(BaseModel):
    number: int
    due: datetime


@dataclass
class Line:
    text: str
    amount: float


class HopelessError(Exception):
    pass


@task(executor="main")
def say(value: Any = None, *rest: Any) -> Any:
    return [value, *rest] if rest else value


@task(executor="main")
def add(x: int, y: int = 1) -> int:
    return x + y


@task(executor="main")
def total(xs: list[int | None]) -> int:
    return sum(x or 0 for x in xs)


@task(executor="main", retry_limit=0)
def fail(text: str = "no luck", *_: Any) -> Any:
    raise ValueError(text)


@task(executor="main")
def skip(reason: str = "not needed", *_: Any) -> Any:
    raise Skip(reason)


@task(executor="main", retry_limit=2, retry_delay=0.01)
def succeed_on_attempt(number: int) -> int:
    if current_job().attempt < number:
        raise RuntimeError(f"attempt {current_job().attempt} fails")
    return current_job().attempt


@task(executor="main", retry_limit=1)
def again_later() -> int:
    if current_job().attempt == 1:
        raise RetryAfter(0.01)
    return current_job().attempt


@task(executor="main", retry_limit=5, retry_delay=0.01, give_up_on=(HopelessError,))
def give_up() -> None:
    raise HopelessError("there is no use")


@task(executor="main", retry_limit=5, retry_delay=0.01, retry_on=(RuntimeError,))
def fail_otherwise() -> None:
    raise ValueError("not what is tried again")


@task(executor="main", retry_limit=0)
def huge() -> str:
    return "x" * 2_000_000


@task(executor="main", retry_limit=0)
def unspeakable() -> Any:
    return object()


@task(executor="main")
def who() -> dict[str, Any]:
    job = current_job()
    return {"job": job.job_id, "run": job.run_id, "dag": job.dag, "name": job.name, "task": job.task,
            "executor": job.executor, "attempt": job.attempt, "token": job.token}  # fmt: skip


@task(executor="main")
def bill(invoice: Invoice, lines: list[Line]) -> Invoice:
    assert isinstance(invoice, Invoice)
    assert all(isinstance(line, Line) for line in lines)
    return Invoice(number=invoice.number + len(lines), due=invoice.due)


@task(executor="main")
def half(x: int) -> int:
    if x % 2:
        raise Skip("odd")
    return x // 2


@task(executor="main", retry_limit=0)
def only_small(x: int) -> int:
    if x > 2:
        raise ValueError(f"{x} is too large")
    return x


@task(executor="main", retry_limit=0)
def open_at_last() -> bool:
    """A gate that says no, then that it is too early, then yes."""
    if current_job().attempt == 2:
        raise Wait("almost")
    return current_job().attempt > 2


@task(executor="main")
def clean_up() -> str:
    return current_job().run_id


@task(executor="main")
def clean_up_quietly() -> None:
    """Says nothing that differs from run to run."""


@dag(name="conform-one")
def one(name: str, args: list[Any]) -> Any:
    """A single task by name."""
    return globals()[name](*args)


@dag(name="conform-joined")
def joined(parents: list[str], rule: str) -> Any:
    """A join of parents that complete, fail or skip."""
    kinds = {"completed": lambda: add(1), "failed": fail, "skipped": skip}
    return say.options(join=rule, name="join")("ran").after(*[kinds[kind]() for kind in parents])


@dag(name="conform-broken_branch")
def broken_branch() -> Any:
    broken = add(fail())
    clean = say.options(join="all_done", name="clean")("up").after(broken)
    return {"fine": add(1), "below": add(broken), "clean": clean}


@dag(name="conform-impatient", fail_fast=True)
def impatient() -> Any:
    first = fail()
    return [first, add(add(succeed_on_attempt.options(retry_delay=60, retry_limit=9)(99)))]


@dag(name="conform-billed")
def billed(number: int) -> Invoice:
    invoice = Invoice(number=number, due=datetime.fromisoformat("2026-11-18T12:00:00+00:00"))
    return bill(bill(invoice, [Line("a", 1.0)]), [Line("b", 2.0), Line("c", 3.0)])


@dag(name="conform-parts")
def parts() -> Any:
    whole = say({"a": [1, {"b": "deep"}], "$ref": 7})
    return {"literal": whole, "part": say(whole["a"][1]["b"]), "of nothing": say(skip()["a"])}


@dag(name="conform-merged")
def merged(width: int) -> Any:
    gate = merge(*[add(number) for number in range(width)])
    return total([add(1).after(gate) for _ in range(width)])


@dag(name="conform-layered")
def layered(layers: int, width: int) -> Any:
    x: Any = 0
    for _ in range(layers):
        x = total([add(x) for _ in range(width)])
    return x


@dag(name="conform-mapped")
def mapped(xs: list[int], name: str = "add", batch: int | None = None) -> Any:
    return total.options(join="none_failed")(globals()[name].map(say(xs), batch=batch))


@dag(name="conform-map_of_map")
def map_of_map(xs: list[int]) -> Any:
    return add.map(add.map(xs), y=10)


@dag(name="conform-two_lists")
def two_lists(xs: list[int], ys: list[int]) -> Any:
    return add.map(say(xs), say(ys))


@dag(name="conform-map_of_text")
def map_of_text() -> Any:
    return add.map(say("not a list"))


@dag(name="conform-inner")
def inner(x: int) -> Any:
    return {"sum": total(add.map(say([x, x]))), "sign": branch(x, lambda: say("some"), lambda: "none")}


@dag(name="conform-mapped_dag")
def mapped_dag(xs: list[int]) -> Any:
    return inner.map(say(xs))


@dag(name="conform-nested")
def nested(x: int) -> Any:
    return [inner(say(x)), inner(add(x))]


@dag(name="conform-branched")
def branched(value: Any) -> Any:
    taken = branch(say(value), lambda: add(1), lambda: say("other"))
    return {"branch": taken, "after": say(taken)}


@dag(name="conform-switched")
def switched(value: Any) -> Any:
    return switch(say(value), {"a": lambda: say("A"), 1: lambda: [add(1), 2]})


@dag(name="conform-switched_by_default")
def switched_by_default(value: Any) -> Any:
    return switch(say(value), {"a": lambda: say("A")}, default=lambda: say("D"))


@dag(name="conform-chosen")
def chosen(names: Any) -> Any:
    return choose(say(names), {"p": lambda: say("P"), "q": lambda: {"q": add(1)}, "r": fail})


@dag(name="conform-branch_in_branch")
def branch_in_branch(outer: bool, within: bool) -> Any:
    return branch(
        say(outer),
        lambda: branch(say(within), lambda: say("both"), lambda: say("outer only")),
        lambda: say("neither"),
    )


@dag(name="conform-with_optional")
def with_optional() -> Any:
    return say(add(1), optional(fail()), optional(skip()))


@dag(name="conform-with_ends", on_failure=clean_up, finally_=clean_up)
def with_ends(name: str) -> Any:
    return globals()[name]()


@dag(name="conform-gated", gate=open_at_last, gate_every=0.01)
def gated() -> Any:
    return add(add(1))


@dag(name="conform-shut", gate=fail)
def shut() -> Any:
    return say("nobody comes here")


@task(executor="main")
def weigh(*values: Any) -> int:
    """A small number that depends on all that it is given."""
    return sum((place + 2) * len(str(value)) for place, value in enumerate(values)) % 101


@task(executor="main", retry_limit=2, retry_delay=0.001)
def weigh_at_last(*values: Any) -> int:
    if current_job().attempt < 3:
        raise RuntimeError("not yet")
    return weigh(*values)


@task(executor="main")
def numbers(length: int, *values: Any) -> list[int]:
    return list(range(length))


@task(executor="main")
def letters(names: list[str], *values: Any) -> list[str]:
    return names


def draw(node: dict[str, Any], parents: list[Any]) -> Any:
    """What a node of a drawn dag is; see `drawing.py`."""
    size = node["size"]
    match node["kind"]:
        case "weigh":
            return weigh(*parents)
        case "retry":
            return weigh_at_last(*parents)
        case "fail":
            return fail("drawn", *parents)
        case "skip":
            return skip("drawn", *parents)
        case "after":
            return weigh.options(join=node["rule"])().after(*parents)
        case "join":
            return weigh.options(join=node["rule"])(*parents)
        case "merge":
            return merge(*parents, join=node["rule"])
        case "map":
            return weigh.map(numbers(size, *parents), batch=node["batch"])
        case "map that skips":
            return half.map(numbers(size, *parents), batch=node["batch"])
        case "map that fails":
            return only_small.map(numbers(size, *parents))
        case "map of a dag":
            return inner.map(numbers(min(size, 2), *parents))
        case "branch":
            return branch(numbers(size % 2, *parents), lambda: weigh(weigh(*parents)), lambda: fail("else"))
        case "choose":
            paths = {"a": weigh, "b": lambda: skip("b"), "c": lambda: weigh(*parents)}
            return choose(letters(node["names"], *parents), paths)
    raise AssertionError(node)


@dag(name="conform-drawn")
def drawn(plan: list[dict[str, Any]]) -> Any:
    made: list[Any] = []
    for node in plan:
        parents = [made[number] for number in node["parents"]]
        made.append(draw(node, [optional(parent) if node["optional"] else parent for parent in parents]))
    return made
