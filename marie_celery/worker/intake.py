"""What a worker takes from its broker. One that an operator drains leaves the queues of its executors: its slots are
gone, and a message that it took would be one that another worker has a slot for."""

from __future__ import annotations

import logging
from collections.abc import Collection
from typing import Any

log = logging.getLogger(__name__)


class Intake:
    """Called from the heartbeat's thread; the consumer's own thread does the work."""

    def __init__(self, worker: Any) -> None:
        self._worker = worker
        self._left: set[str] = set()
        """Queues to come back to."""

    def follow(self, is_draining: bool, queues: Collection[str]) -> None:
        """Leave those of these queues that it consumes, or come back to what it left."""
        consumer = self._worker.consumer
        if is_draining:
            for queue in sorted({*queues} & {*self._worker.app.amqp.queues.consume_from} - self._left):
                log.warning("drained by an operator: taking nothing more from %s", queue)
                self._left.add(queue)
                consumer.call_soon(consumer.cancel_task_queue, queue)
            return
        for queue in sorted(self._left):
            log.warning("no longer drained: taking from %s again", queue)
            consumer.call_soon(consumer.add_task_queue, queue)
        self._left.clear()
