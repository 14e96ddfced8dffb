"""How the runtime waits when nothing is ready.

A waiter may block on anything: a queue of this process, a pipe, a list on a server. Whatever it blocks on, it
must end early when `wake` is called. One that learns something from its source hands it to the graph with
`Scheduler.inject`, which may be called inside `wait`.
"""

from __future__ import annotations

import queue
from typing import Protocol

from marie_celery.clock import Clock


class Waiter(Protocol):
    def wait(self, seconds: float) -> bool:
        """Blocks for at most `seconds`. True: something happened outside, look at the remote edges."""

    def wake(self) -> None:
        """Ends the present wait, or else the next one. From any thread, also from a signal handler."""


class ThreadWaiter:
    """Waits for a wake-up from this process.

    On a SimpleQueue and not on a threading.Event: a signal handler runs in the main thread, maybe while that
    thread is inside `wait` and holds the event's lock, and its `set` would never return. SimpleQueue.put is
    re-entrant.
    """

    def __init__(self) -> None:
        self._tokens: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._token_is_out = False

    def wait(self, seconds: float) -> bool:
        try:
            self._tokens.get(timeout=seconds)
        except queue.Empty:
            return False
        # Lowered before the caller looks at what happened: a wake-up from here on leaves a new token, and one
        # from before is about something that the caller will see.
        self._token_is_out = False
        return True

    def wake(self) -> None:
        if not self._token_is_out:
            self._token_is_out = True
            self._tokens.put(None)


class ClockWaiter:
    """Waits by sleeping on a clock: for a virtual clock, where waiting is what moves time."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._was_woken = False

    def wait(self, seconds: float) -> bool:
        if self._was_woken:
            self._was_woken = False
            return True
        self._clock.sleep(seconds)
        return False

    def wake(self) -> None:
        self._was_woken = True
