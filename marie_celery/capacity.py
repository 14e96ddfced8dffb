"""Capacity as people and programs read it: the same answer for the API, the command line and Prometheus.

Notes say what the numbers alone do not:

    CLAMPED      more slots are used than there are: capacity shrank, and what runs is left in peace
    NO WORKERS   no live worker takes jobs of this executor
    PAUSED       an operator holds it back; what runs is finished
    DRAINING     a worker is shutting down: it finishes what it has and brings no slots any more
    TARGET       the configured target counts, and it is not what the workers report
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from marie_celery.store.records import ExecutorView
from marie_celery.store.store import Store


@dataclass(frozen=True, slots=True)
class ExecutorStatus:
    """An executor at one moment."""

    view: ExecutorView
    used: int
    is_paused: bool = False
    draining: tuple[str, ...] = ()
    """Live workers that still hold slots here, and bring none."""

    @property
    def available(self) -> int:
        return max(0, self.view.capacity - self.used)

    @property
    def target(self) -> int:
        """What is aimed at; without a target, what is there."""
        return self.view.capacity if self.view.target is None else self.view.target

    @property
    def holders(self) -> list[str]:
        """Workers that run jobs of this executor."""
        return sorted({worker for worker in self.view.holders.values() if worker})

    @property
    def notes(self) -> list[str]:
        facts = {
            "CLAMPED": self.used > self.view.capacity,
            "NO WORKERS": not self.view.workers,
            "PAUSED": self.is_paused,
            "DRAINING": bool(self.draining),
            "TARGET": self.view.target not in (None, sum(self.view.workers.values())),
        }
        return [note for note, holds in facts.items() if holds]


def look(store: Store) -> list[ExecutorStatus]:
    """All executors by name, in two round trips."""
    views = store.capacity()
    with store.client.pipeline(transaction=False) as pipe:
        pipe.time()
        for view in views:
            pipe.hexists(store.keys.executor(view.name), "paused")
            pipe.zcard(store.keys.slots(view.name))
            pipe.zmscore(store.keys.workers, sorted({*view.holders.values(), ""}))
        time, *found = pipe.execute()
    now_ms = clock_ms(store, time)
    return [
        ExecutorStatus(view, used, bool(paused), _draining(view, leases, now_ms))
        for view, paused, used, leases in zip(views, found[::3], found[1::3], found[2::3], strict=True)
    ]


def clock_ms(store: Store, time: tuple[int, int]) -> int:
    """What Redis answered to TIME in milliseconds, unless a test has set the clock."""
    return time[0] * 1000 + time[1] // 1000 if store.now_ms is None else store.now_ms


def _draining(view: ExecutorView, leases: Sequence[float | None], now_ms: int) -> tuple[str, ...]:
    """One that is dead holds slots until its leases end, but nothing of it is coming to an end."""
    named = zip(sorted({*view.holders.values(), ""}), leases, strict=True)
    alive = [worker for worker, lease in named if lease is not None and lease > now_ms]
    return tuple(worker for worker in alive if worker not in view.workers)


def report(executors: Sequence[ExecutorStatus]) -> dict[str, Any]:
    """The shape of `GET /api/capacity`."""
    slots = [_slots(status) for status in executors]
    return {
        "status": "OK",
        "result": {
            "slots": slots,
            "totals": {name: sum(slot[name] for slot in slots) for name in ("capacity", "used", "available")},
        },
    }


def _slots(status: ExecutorStatus) -> dict[str, Any]:
    return {
        "name": status.view.name,
        "capacity": status.view.capacity,
        "target": status.target,
        "used": status.used,
        "available": status.available,
        "holders": status.holders,
        "notes": ", ".join(status.notes),
    }
