"""Drives a run with threads, as many as it turns out to need.

The calling thread runs one job after the other, which costs next to nothing per job and is all that short functions
need: the interpreter runs one thread at a time anyway. A job that waits for something outside leaves the others
standing, though. So a foreman looks every two milliseconds whether anything was begun since; if not, and jobs are
ready, he calls in as many hands as are busy already, up to the bound. A hand whose job was short, while others went on
too, goes home again. Functions that wait run side by side a few milliseconds after the first one stalled; short ones
never pay for threads.
"""

from __future__ import annotations

import contextvars
import threading
from queue import SimpleQueue

from marie_celery.clock import Clock, SystemClock
from marie_celery.flow.waiter import ThreadWaiter
from marie_celery.local.attempt import Attempt
from marie_celery.local.conductor import Conductor
from marie_celery.local.events import Report

TICK_SECONDS = 0.002
MOST_THREADS = 256
"""Of a run without a bound. More ready jobs than this wait for a thread."""

# Any time at all: whoever has news wakes the waiter.
LONG_SECONDS = 3600.0


class Crew:
    def __init__(self, conductor: Conductor, clock: Clock, max_concurrency: int | None) -> None:
        self._conductor = conductor
        self._clock = clock
        self._time_is_real = isinstance(clock, SystemClock)
        self._most = MOST_THREADS if max_concurrency is None else max_concurrency
        self._lock = threading.Lock()
        self._bell = ThreadWaiter()
        self._at_work = 0
        self._begun = 0
        self._ticks = 0
        self._idle_hands = 0
        self._calls: SimpleQueue[bool] = SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._foreman: threading.Thread | None = None
        self._look = threading.Event()
        self._closing = threading.Event()
        self._fatal: BaseException | None = None
        # A job sees the caller's variables in whichever thread it runs.
        self._context = contextvars.copy_context()

    def run(self) -> None:
        """Returns when the run is over and nothing of it runs any more."""
        try:
            self._lead()
        except BaseException:
            self.cancel("interrupted")
            raise
        finally:
            self._dismiss()
        if self._fatal is not None:
            raise self._fatal

    def cancel(self, reason: str = "cancelled") -> None:
        """From any thread. What runs is not stopped, but what it reports is too late."""
        with self._lock:
            self._conductor.cancel(reason)
        self._bell.wake()

    def _lead(self) -> None:
        while True:
            attempt = self._next(None)
            while attempt is not None:
                attempt = self._next(self._perform(attempt))
            with self._lock:
                if self._conductor.over:
                    return
                seconds = self._conductor.seconds_to_next()
                somebody_works = self._at_work > 0
            self._wait(seconds, somebody_works)

    def _wait(self, seconds: float | None, somebody_works: bool) -> None:
        assert somebody_works or seconds is not None, "nothing can happen any more, and the run is not over"
        if seconds is None or (somebody_works and not self._time_is_real):
            # A virtual clock stands still while something runs.
            self._bell.wait(LONG_SECONDS)
        elif self._time_is_real:
            self._bell.wait(seconds)
        else:
            self._clock.sleep(seconds)

    def _perform(self, attempt: Attempt) -> Report:
        try:
            return attempt.run()
        except BaseException:
            with self._lock:
                self._at_work -= 1
            raise

    def _next(self, report: Report | None, *, takes_more: bool = True) -> Attempt | None:
        """Hand in how the last one ended and take on another, in one go."""
        with self._lock:
            conductor = self._conductor
            if report is not None:
                self._at_work -= 1
                conductor.report(report)
            if self._at_work >= self._most or self._closing.is_set():
                return None
            attempt = conductor.take() if takes_more else None
            if attempt is not None:
                self._at_work += 1
                self._begun += 1
            if conductor.ready and self._at_work < self._most:
                self._call_the_foreman()
            return attempt

    def _call_the_foreman(self) -> None:
        if self._foreman is None:
            self._foreman = threading.Thread(target=self._watch, name="marie-foreman", daemon=True)
            self._foreman.start()
        if not self._look.is_set():
            self._look.set()

    def _watch(self) -> None:
        while True:
            self._look.wait()
            seen = self._begun
            self._closing.wait(TICK_SECONDS)
            with self._lock:
                self._ticks += 1
                wanted = min(self._conductor.ready, self._at_work, self._most - self._at_work)
                if self._closing.is_set():
                    return
                if wanted <= 0:
                    self._look.clear()
                elif self._begun == seen:
                    self._call_in(wanted)

    def _call_in(self, wanted: int) -> None:
        for _ in range(wanted - self._idle_hands):
            run = self._context.copy().run
            thread = threading.Thread(target=run, args=(self._lend_a_hand,), name="marie-hand", daemon=True)
            self._threads.append(thread)
            self._idle_hands += 1
            thread.start()
        for _ in range(wanted):
            self._idle_hands -= 1
            self._calls.put(True)

    def _lend_a_hand(self) -> None:
        while self._calls.get():
            try:
                attempt = self._next(None)
                while attempt is not None:
                    ticks, begun = self._ticks, self._begun
                    report = self._perform(attempt)
                    is_needed = self._ticks > ticks + 1 or self._begun == begun
                    attempt = self._next(report, takes_more=is_needed)
                    self._ring_if_needed()
            except BaseException as error:
                self._fatal = error
                self.cancel("interrupted")
            with self._lock:
                self._idle_hands += 1
            self._bell.wake()

    def _ring_if_needed(self) -> None:
        """The calling thread may be waiting for just this."""
        if self._conductor.over or self._conductor.ready:
            self._bell.wake()

    def _dismiss(self) -> None:
        with self._lock:
            self._closing.set()
            self._look.set()
        for _ in self._threads:
            self._calls.put(False)
        for thread in self._threads:
            thread.join()
        if self._foreman is not None:
            self._foreman.join()
