"""`async def` tasks in a run of this process."""

from __future__ import annotations

import asyncio

from marie_celery import current_job, dag, task


@task(executor="later")
async def add_here(x: int) -> int:
    await asyncio.sleep(0)
    current_job().progress(0.5, "half of it")
    return x + 1


@dag
def added_here(numbers: list[int]) -> list[int]:
    return add_here.map([add_here(number) for number in numbers], batch=2)


def test_coroutines_run_in_this_process_too() -> None:
    assert added_here.run_local([1, 2, 3]).result() == [3, 4, 5]


def test_also_beside_a_running_loop() -> None:
    async def inside() -> list[int]:
        run = await added_here.run_local_async([1])
        found: list[int] = run.result()
        return found

    assert asyncio.run(inside()) == [3]
