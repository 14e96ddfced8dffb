"""Orders to one scheduler process, and its answers. A list per scheduler, a list per answer."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from marie_celery.errors import MarieError, ServerError
from marie_celery.store.caller import Caller, counted, in_ms
from marie_celery.store.codes import Code
from marie_celery.store.connection import BLOCK_SLICE

KEEP_ANSWER_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Command:
    id: str
    verb: str
    arguments: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def parse(cls, text: str) -> Command:
        given = json.loads(text)
        return cls(str(given["id"]), str(given["verb"]), dict(given.get("arguments", {})))


@dataclass(frozen=True, slots=True)
class SchedulerView:
    id: str
    fields: Mapping[str, str]

    @property
    def graph(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.fields.get("graph", "{}"))
        return found


class Commanding(Caller):
    def enlist(self, scheduler: str, facts: Mapping[str, str], *, exclusive: bool) -> None:
        """A scheduler reports for duty. Raises if it, or one that is there already, must be the only one."""
        ttl = in_ms(self.settings.lease_ttl_seconds)
        code, *other = self.call("enlist", scheduler, ttl, int(exclusive), *counted(facts))
        if code == Code.DUPLICATE:
            raise ServerError(
                f"the scheduler {other[0]} is at work, and distributed_scheduler is false for one of the two: "
                "stop it first, or set distributed_scheduler to true"
            )

    def retire(self, scheduler: str) -> None:
        """A scheduler says good-bye."""
        with self.client.pipeline() as pipe:
            pipe.zrem(self.keys.schedulers, scheduler)
            pipe.delete(self.keys.scheduler(scheduler), self.keys.commands(scheduler))
            pipe.execute()

    def schedulers(self) -> list[SchedulerView]:
        ids = self.client.zrange(self.keys.schedulers, 0, -1)
        with self.client.pipeline(transaction=False) as pipe:
            for scheduler in ids:
                pipe.hgetall(self.keys.scheduler(scheduler))
            found = pipe.execute()
        return [SchedulerView(scheduler, fields) for scheduler, fields in zip(ids, found, strict=True) if fields]

    def command(self, scheduler: str, verb: str, timeout: float = 5.0, **arguments: Any) -> Any:
        """Tell a scheduler to do something and wait for its answer."""
        order = Command(secrets.token_hex(8), verb, arguments)
        self.client.rpush(self.keys.commands(scheduler), json.dumps(asdict(order)))
        seconds = min(timeout, BLOCK_SLICE)
        found = self.client.blpop([self.keys.answer(order.id)], timeout=seconds)
        if found is None:
            raise TimeoutError(f"the scheduler {scheduler} gave no answer to '{verb}' in {seconds:g} s")
        answer = json.loads(found[1])
        if "error" in answer:
            raise MarieError(answer["error"])
        return answer["result"]

    def answer(self, command: str, answer: Mapping[str, Any]) -> None:
        with self.client.pipeline() as pipe:
            pipe.rpush(self.keys.answer(command), json.dumps(answer, default=str))
            pipe.expire(self.keys.answer(command), KEEP_ANSWER_SECONDS)
            pipe.execute()
