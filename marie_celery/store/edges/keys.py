"""The keys of an edge. The same names are built inside the scripts by `lua/include/edge.lua`."""

from __future__ import annotations

from dataclasses import dataclass

from marie_celery.store.keys import Keys


@dataclass(frozen=True, slots=True)
class EdgeKeys:
    """An id such as `camera:out->reader:in` has one colon after the arrow, so no key can be taken for another."""

    namespace: str
    edge: str

    @property
    def books(self) -> str:
        """hash: capacity, policy, what became of every message, token and result of the last put"""
        return f"{Keys(self.namespace).prefix}edge:{self.edge}"

    @property
    def data(self) -> str:
        """list: data and error messages that wait, oldest first"""
        return f"{self.books}:data"

    @property
    def control(self) -> str:
        """list: control messages that wait, oldest first"""
        return f"{self.books}:control"

    @property
    def consumers(self) -> str:
        """zset: consumers by the end of their lease"""
        return f"{self.books}:consumers"

    def held(self, consumer: str) -> str:
        """zset: messages in the hands of a consumer, by number"""
        return f"{self.books}:held:{consumer}"

    @property
    def wake_consumer(self) -> str:
        """list: one element = the edge is no longer empty"""
        return f"{self.books}:wake:consumer"

    @property
    def wake_producer(self) -> str:
        """list: one element = the edge is no longer full"""
        return f"{self.books}:wake:producer"
