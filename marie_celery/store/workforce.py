"""Workers: their heartbeat, their good-bye, and the capacity they bring."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from marie_celery.errors import UnknownWorker
from marie_celery.planning.tenants import THOUSAND, TenantShare, TenantState, in_thousandths, shares_of
from marie_celery.store.caller import Caller, as_mapping, counted, in_ms, maybe_int, pairs
from marie_celery.store.codes import Code
from marie_celery.store.keys import NO_TENANT
from marie_celery.store.records import DrainedWorker, ExecutorView


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

    def attempts_under(self, worker: str, message: str) -> list[str]:
        """What a process of this worker runs under a Celery message: what that brought, or what was passed on since."""
        running = self.client.hgetall(self.keys.worker_jobs(worker))
        return [attempt for attempt, under in running.items() if under == message]

    def leave(self, worker: str) -> int:
        """A worker says good-bye. Returns how many jobs it hands back."""
        return int(self.call("leave", worker)[0])

    def drain(self, worker: str, *, by: str = "") -> None:
        """Take a worker out of service until `take_back`: its slots go, what runs is finished."""
        self._service("1", worker, by)

    def take_back(self, worker: str, *, by: str = "") -> None:
        """Its slots come back with its next heartbeat."""
        self._service("0", worker, by)

    def _service(self, draining: str, worker: str, by: str) -> None:
        (code,) = self.call("drain", worker, draining, by)
        if code == Code.UNKNOWN:
            raise UnknownWorker(worker, self.client.zrange(self.keys.workers, 0, -1))

    def is_draining(self, worker: str) -> bool:
        return bool(self.client.sismember(self.keys.draining, worker))

    def drained(self) -> list[DrainedWorker]:
        """Those that operators have taken out of service."""
        names = sorted(self.client.smembers(self.keys.draining))
        now_ms = self.read_clock()
        with self.client.pipeline(transaction=False) as pipe:
            for name in names:
                pipe.zscore(self.keys.workers, name)
                pipe.hlen(self.keys.worker_jobs(name))
            found = pipe.execute()
        return [
            DrainedWorker(name, lease is not None and lease > now_ms, jobs)
            for name, lease, jobs in zip(names, found[::2], found[1::2], strict=True)
        ]

    def declare_target(self, executor: str, slots: int | None) -> None:
        """What the settings say; an operator's target stays until they say something else."""
        self.call("declare", "target", executor, "" if slots is None else slots)

    def declare_weight(self, tenant: str, weight: float) -> None:
        self.call("declare", "weight", tenant, in_thousandths(weight))

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
        self.client.hset(self.keys.weights, tenant, in_thousandths(weight))

    def weights(self) -> dict[str, float]:
        found = self.client.hgetall(self.keys.weights)
        return {tenant: int(weight) / THOUSAND for tenant, weight in sorted(found.items())}

    def shares(self) -> list[TenantShare]:
        """Of all executors that tenants share, in one consistent look."""
        found = sorted(self.call("shares"))
        return [share for executor, rows in found for share in shares_of(executor, [_tenant(*row) for row in rows])]

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


def _tenant(tenant: str, weight: int, virtual_us: str, waiting: int, at_work: int) -> TenantState:
    name = "" if tenant == NO_TENANT else tenant
    return TenantState(name, int(weight), int(virtual_us) // 1000, int(waiting), int(at_work))
