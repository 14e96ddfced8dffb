"""Capacity as people and programs read it: the same answer for the API, the command line and the board."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from marie_celery.store.records import ExecutorView


def capacity_report(executors: Sequence[ExecutorView]) -> dict[str, Any]:
    slots = [_slots(view) for view in executors]
    return {
        "status": "OK",
        "result": {
            "slots": slots,
            "totals": {name: sum(slot[name] for slot in slots) for name in ("capacity", "used", "available")},
        },
    }


def _slots(view: ExecutorView) -> dict[str, Any]:
    used = len(view.holders)
    return {
        "name": view.name,
        "capacity": view.capacity,
        "target": view.capacity if view.target is None else view.target,
        "used": used,
        "available": max(0, view.capacity - used),
        "holders": sorted({worker for worker in view.holders.values() if worker}),
        "notes": ", ".join(_notes(view, used)),
    }


def _notes(view: ExecutorView, used: int) -> list[str]:
    notes = []
    if used > view.capacity:
        notes.append("CLAMPED")
    if not view.workers:
        notes.append("NO WORKERS")
    return notes
