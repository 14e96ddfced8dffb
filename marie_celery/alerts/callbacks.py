"""`@on_alert`: functions that a scheduler process calls with each alert."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from marie_celery.alerts.alert import Alert

F = TypeVar("F", bound=Callable[[Alert], object])

#: In the order of registration.
CALLBACKS: list[Callable[[Alert], object]] = []


def on_alert(function: F) -> F:
    """Call this function with each alert, in a thread of the scheduler. If it raises, it is called twice more."""
    if function not in CALLBACKS:
        CALLBACKS.append(function)
    return function
