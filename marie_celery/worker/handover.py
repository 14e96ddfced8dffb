"""From the parent process of a prefork pool to one of its children.

Celery leaves what is to be written to the next round of its loop, which first asks which pipes can be written to. The
pipe of an idle process is empty, so nobody needs to ask; the round is about a tenth of what the parent does for a
message, and the job waits for it.
"""

from __future__ import annotations

from typing import Any

from celery.concurrency.asynpool import AsynPool


def hand_over(consumer: Any) -> None:
    """What waits longest goes to an idle process now. If its pipe takes only a part of it, the loop writes the rest."""
    pool = getattr(consumer.pool, "_pool", None)
    if not isinstance(pool, AsynPool) or consumer.hub is None:
        return
    idle = pool._all_inqueues - pool._active_writes - pool._busy_workers
    if idle and pool.outbound_buffer and _is_alive(pool, pipe := min(idle)):
        consumer.hub.consolidate_callback([pipe])


def _is_alive(pool: AsynPool, pipe: int) -> bool:
    """The loop may not have heard of a death yet; what such a process were given would count as its crash."""
    process = pool._fileno_to_inq.get(pipe)
    return process is not None and process._is_alive()
