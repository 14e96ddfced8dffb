"""The items of a job as environment variables, for programs that it starts."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from marie_celery.resources import item_variables


@contextmanager
def items_in_environment(items: Mapping[str, tuple[str, ...]]) -> Iterator[None]:
    """Only where a process has one job at a time: in pools of threads or greenlets the environment is everybody's, and
    `current_job().items` tells."""
    if not items or threading.current_thread() is not threading.main_thread():
        yield
        return
    ours = item_variables(items)
    before = {name: os.environ.get(name) for name in ours}
    os.environ.update(ours)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
