"""Delivers alerts in threads of its own, so that a slow receiver holds nobody up.

Each alert goes to every receiver. One that fails is tried again, alone, after a pause; after the last try the alert
counts as lost. What is still in hand when it stops is handed back.
"""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable, Sequence

from marie_celery.alerts.alert import Alert
from marie_celery.clock import Clock, SystemClock

log = logging.getLogger(__name__)

Receiver = Callable[[Alert], object]

PAUSES = (1.0, 4.0)
"""Seconds before the second and the third try."""
THREADS = 2
IN_HAND = 100
STOP_SECONDS = 2.0


class Courier:
    """
    describe   tells more of an alert; may fail, and is tried again as a receiver is
    settle     is told the end of each alert: sent or not
    """

    def __init__(
        self,
        receivers: Sequence[Receiver],
        describe: Callable[[Alert], Alert],
        settle: Callable[[Alert, bool], None],
        *,
        pauses: Sequence[float] = PAUSES,
        threads: int = THREADS,
        in_hand: int = IN_HAND,
        clock: Clock | None = None,
    ) -> None:
        self._receivers = receivers
        self._describe = describe
        self._settle = settle
        self._pauses = pauses
        self._most = in_hand
        self._clock = clock or SystemClock()
        self._alerts: queue.Queue[Alert | None] = queue.Queue()
        self._lock = threading.Lock()
        self._in_hand: list[Alert] = []
        self._stopping = threading.Event()
        self._threads = [
            threading.Thread(target=self._work, name=f"marie-courier-{number}", daemon=True)
            for number in range(threads)
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    @property
    def room(self) -> int:
        """How many more it takes."""
        with self._lock:
            return self._most - len(self._in_hand)

    def take(self, alert: Alert) -> None:
        with self._lock:
            self._in_hand.append(alert)
        self._alerts.put(alert)

    def stop(self, seconds: float = STOP_SECONDS) -> list[Alert]:
        """Ends the pauses, waits a little for what is under way. Returns what nobody was told, or not everybody."""
        self._stopping.set()
        for _ in self._threads:
            self._alerts.put(None)
        end = self._clock.monotonic() + seconds
        for thread in self._threads:
            if thread.is_alive():
                thread.join(max(0.0, end - self._clock.monotonic()))
        with self._lock:
            return list(self._in_hand)

    def _work(self) -> None:
        while not self._stopping.is_set():
            alert = self._alerts.get()
            if alert is None:
                return
            delivered = self._deliver(alert)
            if delivered is None:
                continue
            with self._lock:
                self._in_hand.remove(alert)
            self._settle(alert, delivered)

    def _deliver(self, alert: Alert) -> bool | None:
        """None if there was no time for another try."""
        told: Alert | None = None
        left = list(self._receivers)
        for pause in (*self._pauses, None):
            try:
                told = told or self._describe(alert)
                left = [receiver for receiver in left if not self._tell(receiver, told)]
            except Exception as error:
                log.warning("%s: nothing is known of it: %s", alert.text, error)
            if told and not left:
                return True
            if pause is not None and self._stopping.wait(pause):
                return None
        log.error("%s: could not be told to %s", (told or alert).text, ", ".join(map(_name, left)) or "anybody")
        return False

    @staticmethod
    def _tell(receiver: Receiver, alert: Alert) -> bool:
        try:
            receiver(alert)
        except Exception as error:
            log.warning("%s: %s failed: %s: %s", alert.text, _name(receiver), type(error).__name__, error)
            return False
        return True


def _name(receiver: Receiver) -> str:
    return getattr(receiver, "__qualname__", None) or repr(receiver)
