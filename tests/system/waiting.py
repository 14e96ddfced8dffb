"""Waiting for a condition that another process brings about."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def eventually(condition: Callable[[], T], seconds: float = 30.0) -> T:
    """The first true answer; fails with the last one after `seconds`."""
    end = time.monotonic() + seconds
    while True:
        answer = condition()
        if answer:
            return answer
        assert time.monotonic() < end, f"still {answer!r} after {seconds} s"
        time.sleep(0.02)
