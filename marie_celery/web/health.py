"""Can this Redis do the work? A ping would not tell: the work is scripts that write."""

from __future__ import annotations

from marie_celery.store.store import Store

# Writes nothing, but is a write: a replica, a full memory or a disk that fails refuses it as it would refuse a job.
PROBE = "return redis.call('SETRANGE', KEYS[1], 0, '')"


def check(store: Store) -> None:
    """Raises what Redis says if scripts cannot run or cannot write."""
    store.client.register_script(PROBE)(keys=[store.keys.clock])
