"""What a worker notes of the messages that it has taken and not acknowledged yet.

Kombu notes each in Redis, in two transactions of which nothing is left in the end: so that somebody finds it should the
worker be lost. For a message of ours nobody needs to: the state knows who was sent what, and what nobody starts is sent
again when its lease ends, long before a visibility timeout would be over. So ours are known to this process alone.
"""

from __future__ import annotations

from typing import Any

from kombu.transport.redis import Channel, QoS
from kombu.transport.virtual import QoS as InMemory

from marie_celery.worker.task import is_attempt


def keep_ours_in_memory(channel: Any) -> None:
    """Of a channel that was not used yet. On other brokers, or where kombu notes nothing, there is nothing to do."""
    if isinstance(channel, Channel) and channel.QoS is QoS:
        channel.QoS = Deliveries


class Deliveries(QoS):  # type: ignore[misc]
    """Messages that are not ours stay kombu's.

    One of ours that is given back, or that no process has begun when the worker ends, goes to its queue like any other:
    so the next worker has it at once. If that fails, or the worker is killed, the lease brings the job back.
    """

    def append(self, message: Any, delivery_tag: str) -> None:
        if is_ours(message):
            InMemory.append(self, message, delivery_tag)
        else:
            super().append(message, delivery_tag)

    def ack(self, delivery_tag: str) -> None:
        if self._ours(delivery_tag) is None:
            super().ack(delivery_tag)
        else:
            InMemory.ack(self, delivery_tag)

    def reject(self, delivery_tag: str, requeue: bool = False) -> None:
        if requeue or self._ours(delivery_tag) is None:
            super().reject(delivery_tag, requeue)
        else:
            InMemory.ack(self, delivery_tag)

    def restore_by_tag(self, tag: str, client: Any = None, leftmost: bool = False) -> None:
        message = self._ours(tag)
        if message is None:
            super().restore_by_tag(tag, client, leftmost)
        elif tag not in self._dirty:  # what was acknowledged is here until the next message comes
            info = message.delivery_info
            with self.pipe_or_acquire(client=client) as pipe:
                self.channel._do_restore_message(message._raw, info["exchange"], info["routing_key"], pipe, leftmost)
                pipe.execute()

    def _ours(self, tag: str) -> Any:
        message = self._delivered.get(tag)
        return message if message is not None and is_ours(message) else None


def is_ours(message: Any) -> bool:
    """Of anything that may come by a queue, from whatever wrote it."""
    number = (message.headers or {}).get("id")
    return isinstance(number, str) and is_attempt(number)
