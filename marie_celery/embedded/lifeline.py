"""Pipes that only the process which opened them holds open, even when it forks without exec."""

from __future__ import annotations

import os
import threading

_open: set[int] = set()
_lock = threading.RLock()


def open_lifeline() -> tuple[int, int]:
    """The reading and the writing end; no child of this process ever keeps the writing end."""
    # Under the lock no fork can come between the pipe and the note of it.
    with _lock:
        reading, writing = os.pipe()
        _open.add(writing)
    return reading, writing


def close_lifeline(writing: int) -> None:
    with _lock:
        if writing in _open:
            _open.remove(writing)
            os.close(writing)


def _close_all_in_the_child() -> None:
    for writing in _open:
        os.close(writing)
    _open.clear()
    _lock.release()


# Close-on-exec covers programs that we start; this covers a prefork pool, whose children never call exec.
os.register_at_fork(
    before=_lock.acquire,
    after_in_parent=_lock.release,
    after_in_child=_close_all_in_the_child,
)
