"""Running `async def` tasks: one event loop per thread that runs tasks, kept from job to job.

Kept, so that clients which belong to a loop (of HTTP, of databases) can be reused by the next job; one per thread, so
that a job in a pool of threads is as free of its neighbours as a plain one. What a coroutine leaves running is
cancelled when it ends, as `asyncio.run` does.

A soft time limit and an order to stop reach the coroutine as `CancelledError` where it awaits.
"""

from __future__ import annotations

import asyncio
import inspect
import os
import threading
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

from celery.exceptions import SoftTimeLimitExceeded

from marie_celery.errors import MarieError

_own = threading.local()
_running: dict[str, tuple[asyncio.AbstractEventLoop, asyncio.Task[Any]]] = {}


def call(function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any], message: str = "") -> Any:
    """What the function returns; if that is a coroutine, what comes of it. `message` is what Celery called it by."""
    value = function(*args, **kwargs)
    return run(value, message) if inspect.iscoroutine(value) else value


def run(coroutine: Coroutine[Any, Any, Any], message: str = "") -> Any:
    if _is_inside_a_loop():
        coroutine.close()
        raise MarieError("an event loop runs in this thread already: await the function itself, or call delay()")
    loop = _loop()
    task = loop.create_task(coroutine)
    limits: list[SoftTimeLimitExceeded] = []
    loop.set_exception_handler(lambda loop, context: _on_error(loop, context, task, limits))
    _running[message] = (loop, task)
    try:
        return _finish(loop, task, limits)
    finally:
        _running.pop(message, None)
        _cancel(loop, asyncio.all_tasks(loop))
        loop.set_exception_handler(None)


def _is_inside_a_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _finish(loop: asyncio.AbstractEventLoop, task: asyncio.Task[Any], limits: list[SoftTimeLimitExceeded]) -> Any:
    try:
        return loop.run_until_complete(task)
    except asyncio.CancelledError:
        # As a BaseException it would bring the worker down.
        raise (limits[0] if limits else MarieError("the coroutine was cancelled")) from None
    except SoftTimeLimitExceeded:
        # Raised by a signal: in the coroutine, where it is its own affair, or while the loop was waiting.
        if task.done():
            raise
        _cancel(loop, {task})
        if task.cancelled():
            raise
        return task.result()  # it has caught the cancellation and made the best of it


def stop(message: str) -> bool:
    """Cancel the coroutine that runs for a message; called from another thread. False if there is none here."""
    found = _running.get(message)
    if found is None:
        return False
    loop, task = found
    loop.call_soon_threadsafe(task.cancel)
    return True


def _on_error(
    loop: asyncio.AbstractEventLoop,
    context: dict[str, Any],
    task: asyncio.Task[Any],
    limits: list[SoftTimeLimitExceeded],
) -> None:
    """A signal may hit a callback of the loop, which would report the time limit and go on."""
    error = context.get("exception")
    if isinstance(error, SoftTimeLimitExceeded):
        limits.append(error)
        task.cancel()
    else:
        loop.default_exception_handler(context)


def _cancel(loop: asyncio.AbstractEventLoop, tasks: set[asyncio.Task[Any]]) -> None:
    for task in tasks:
        task.cancel()
    if tasks:
        loop.run_until_complete(asyncio.wait(tasks))


def _loop() -> asyncio.AbstractEventLoop:
    """A forked child never uses its parent's."""
    kept: _Kept | None = getattr(_own, "kept", None)
    if kept is None or kept.pid != os.getpid():
        kept = _own.kept = _Kept()
    return kept.loop


class _Kept:
    """Closes its loop when its thread has ended."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        self.loop = asyncio.new_event_loop()

    def __del__(self) -> None:
        if self.pid == os.getpid():
            self.loop.close()


def close_loop() -> None:
    """Of this thread; the next coroutine gets a new one."""
    _own.kept = None
