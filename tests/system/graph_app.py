"""Dags with maps, branches, gates and last jobs, for the app of the system tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from system_app import add, fail, total

from marie_celery import Skip, Wait, branch, choose, current_job, dag, optional, switch, task


@task(executor="main")
def numbers(count: int) -> list[int]:
    return list(range(count))


@task(executor="main", retry_limit=0)
def odd(x: int, skips: int = -1, fails: int = -1) -> bool:
    if x == skips:
        raise Skip("as told")
    if x == fails:
        raise ValueError(f"{x} fails")
    return x % 2 == 1


@task(executor="main")
def take(*given: Any) -> list[Any]:
    return list(given)


@task(executor="main")
def is_there(path: str = "") -> bool:
    """Asks for the file that the run's key names."""
    return Path(_marker()).exists()


@task(executor="main")
def is_there_or_waits() -> bool:
    if not Path(_marker()).exists():
        raise Wait("the file is not there", seconds=0.05)
    return True


@task(executor="main")
def note() -> str:
    """Leaves a line in the file that the run's key names."""
    job = current_job()
    with Path(_marker()).open("a") as file:
        file.write(f"{job.name} {job.run_id}\n")
    return job.run_id


def _marker() -> str:
    from system_app import marie

    return marie.reader.run(current_job().run_id).key


@dag
def mapped(count: int, batch: int | None = None) -> int:
    return total(add.map(numbers(count), batch=batch))


@dag
def odds(count: int, skips: int = -1, fails: int = -1, join: str = "all_success") -> list[bool]:
    return odd.options(join=join).map(numbers(count), skips=skips, fails=fails)


@dag
def triangle(count: int) -> list[list[int]]:
    return numbers.map(numbers(count))


@dag
def row(count: int, more: int = 0) -> dict[str, Any]:
    found = numbers(count)
    return {"sum": total(add.map(found, y=more)), "odd": branch(odd(count), lambda: "yes", lambda: "no")}


@dag
def rows(count: int) -> list[dict[str, Any]]:
    return row.map(numbers(count), more=add(1))


@dag
def both(count: int) -> list[Any]:
    return [row(count), row(count, more=add(4))]


@dag
def either(x: int) -> Any:
    way = branch(odd(x), lambda: add(x, 100), lambda: add(x, 200))
    return {"way": way, "after": take(way)}


@dag
def by_name(name: Any) -> Any:
    given = take(name)[0]
    return {
        "switch": switch(given, {"a": lambda: add(1), "b": lambda: add(2)}, default=lambda: add(3)),
        "choose": choose(take(given), {"a": lambda: add(1), "b": lambda: {"of": add(2)}}),
    }


@dag
def without(text: str) -> Any:
    return take(optional(fail(text)), add(1))


@dag(gate=is_there, gate_every=0.05)
def gated() -> int:
    return add(1)


@dag(gate=is_there_or_waits)
def gated_by_wait() -> int:
    return add(1)


@dag(on_failure=note.options(name="bad"), finally_=note.options(name="last"))
def with_ends(fails: bool) -> Any:
    return fail("on purpose") if fails else add(1)
