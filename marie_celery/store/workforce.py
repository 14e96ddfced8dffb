"""Workers: their heartbeat, their good-bye, and the capacity they bring."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from marie_celery.store.caller import Caller, as_mapping, counted, in_ms, maybe_int, pairs
from marie_celery.store.records import ExecutorView


class Workforce(Caller):
    def renew(
        self, worker: str, facts: Mapping[str, str], slots: Mapping[str, int], messages: Iterable[str] = ()
    ) -> list[str]:
        """A worker's heartbeat for all that its Celery messages have begun. Returns the messages to stop."""
        in_hand = list(messages)
        answer: list[str] = self.call(
            "renew",
            worker,
            in_ms(self.settings.lease_ttl_seconds),
            in_ms(self.settings.run_ttl_seconds),
            in_ms(self.settings.lease_ttl_seconds),
            *counted(facts),
            *counted(slots),
            len(in_hand),
            *in_hand,
        )
        return answer

    def leave(self, worker: str) -> int:
        """A worker says good-bye. Returns how many jobs it hands back."""
        return int(self.call("leave", worker)[0])

    def set_target(self, executor: str, slots: int | None) -> None:
        """How many slots an executor has, whatever its workers report; None = what they report."""
        key = self.keys.executor(executor)
        with self.client.pipeline() as pipe:
            pipe.sadd(self.keys.executors, executor)
            if slots is None:
                pipe.hdel(key, "target")
            else:
                pipe.hset(key, "target", slots)
            pipe.rpush(self.keys.wake, "1")
            pipe.execute()

    def set_weight(self, tenant: str, weight: float) -> None:
        """The share of a tenant where others wait too; 1 if nobody says otherwise."""
        self.client.hset(self.keys.weights, tenant, round(weight * 1000))

    def set_shortage_mode(self, executor: str, mode: str | None) -> None:
        """What its jobs do where a resource is short and says nothing itself; None = as the settings say."""
        key = self.keys.executor(executor)
        if mode is None:
            self.client.hdel(key, "on_shortage")
        else:
            self.client.hset(key, "on_shortage", str(mode))

    def capacity(self) -> list[ExecutorView]:
        return sorted(
            (
                ExecutorView(
                    name=name,
                    capacity=int(capacity),
                    target=maybe_int(target or None),
                    ready=int(ready),
                    holders=as_mapping(holders),
                    workers={worker: int(slots) for worker, slots in pairs(workers)},
                    short=int(short),
                )
                for name, capacity, target, ready, holders, workers, short in self.call("capacity")
            ),
            key=lambda view: view.name,
        )
