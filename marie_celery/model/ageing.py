"""Ageing: a job that waits is raised step by step, so no job below `critical` waits for ever.

Every sixth of the starvation timeout adds 10 to the user priority, up to 99: an aged job passes everything
that is not critical, and never becomes critical itself. A timeout of zero turns ageing off.
"""

from __future__ import annotations

from marie_celery.model.priority import CRITICAL

STEP = 10
STEPS_PER_TIMEOUT = 6
CEILING = CRITICAL - 1


def effective_priority(priority: int, wait_ms: int, timeout_ms: int) -> int:
    if priority >= CRITICAL:
        return priority
    return min(CEILING, priority + STEP * _steps(wait_ms, timeout_ms))


def ageing_next_change(priority: int, waiting_since_ms: int, now_ms: int, timeout_ms: int) -> int | None:
    """The first millisecond after `now_ms` with a higher effective priority; None if it is final."""
    steps = _steps(now_ms - waiting_since_ms, timeout_ms)
    if timeout_ms <= 0 or priority + STEP * steps >= CEILING:
        return None
    return waiting_since_ms - (-(steps + 1) * timeout_ms // STEPS_PER_TIMEOUT)


def promotions(priority: int, wait_ms: int, timeout_ms: int) -> int:
    """How often a job has been raised during this wait."""
    raises_to_ceiling = max(0, -((priority - CEILING) // STEP))
    return min(raises_to_ceiling, _steps(wait_ms, timeout_ms))


def _steps(wait_ms: int, timeout_ms: int) -> int:
    if timeout_ms <= 0 or wait_ms <= 0:
        return 0
    return wait_ms * STEPS_PER_TIMEOUT // timeout_ms
