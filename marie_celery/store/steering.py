"""What operators order: durable, effective for the next choice, and finished by the schedulers if the caller dies."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Literal

from marie_celery.errors import ConfigError, MarieError, UnknownExecutor, UnknownJob, UnknownRun
from marie_celery.model.sla import SlaTime
from marie_celery.store.caller import Caller, counted
from marie_celery.store.codes import Code
from marie_celery.store.keys import RUN_ID_LENGTH

REPLAY_CHUNK = 1000

Held = Literal["job", "run", "task", "executor"]

Moment = SlaTime | Literal["none"] | None
"""A new SLA, none at all, or (None) the one that there is."""


class Steering(Caller):
    def cancel_run(self, run: str, why: str = "cancelled", by: str = "") -> bool:
        """Cancel what has not ended. False if the run had ended already."""
        return self._order("cancel", "run", run, why, by, "") == Code.OK

    def cancel_job(self, job: str, why: str = "cancelled", by: str = "", *, token: int | None = None) -> bool:
        """With a token: only if that attempt is the present one."""
        return self._order("cancel", "job", job, why, by, "" if token is None else token) == Code.OK

    def reprioritise(
        self, id: str, *, priority: int | None = None, soft: Moment = None, hard: Moment = None, by: str = ""
    ) -> bool:
        """Change a run or a job that has not ended; False if it has."""
        given = "" if priority is None else priority
        kind = "run" if len(id) == RUN_ID_LENGTH else "job"
        code = self._order("reprioritise", kind, id, by, given, _moment(soft), _moment(hard))
        if code == Code.STALE:
            raise ConfigError("hard_sla is before soft_sla")
        return code == Code.OK

    def replan(self, policy: Mapping[str, str], by: str = "") -> int:
        """Put a planner in force; nothing happens if it is already. Returns how many ready jobs get a new place."""
        rules = sorted((name, value) for name, value in policy.items() if name != "by")
        stamp = hashlib.sha256(repr(rules).encode()).hexdigest()[:16]
        return int(self.call("replan", by, *counted({**policy, "stamp": stamp}))[0])

    def hold(self, kind: Held, id: str, *, by: str = "") -> bool:
        """Hold back a job, a run, a task or an executor until `let_go`; False if it has ended."""
        return self._order("hold", kind, id, 1, by) == Code.OK

    def let_go(self, kind: Held, id: str, *, by: str = "") -> bool:
        return self._order("hold", kind, id, 0, by) == Code.OK

    def replay(self, run: str, orders: Sequence[str], replays: int, by: str = "") -> None:
        """Run jobs of an ended run again, as `replaying.instructions` says. All of it or, if refused, nothing."""
        for first in range(0, len(orders), REPLAY_CHUNK):
            chunk = orders[first : first + REPLAY_CHUNK]
            last = first + REPLAY_CHUNK >= len(orders)
            code, *state = self.call("replay", run, int(last), len(orders), by, replays, *chunk)
            if code == Code.UNKNOWN:
                raise UnknownRun(run)
            if code == Code.NOT_READY:
                raise MarieError(f"run {run} is {state[0]}: it can be replayed when it has ended; cancel it first")
            if code == Code.WAITING:
                raise MarieError(f"run {run} can be replayed when run {state[0]} has ended: only one may be under way")
            if code == Code.GONE:
                raise MarieError(f"run {run} was replayed by somebody else at the same moment; nothing was changed")

    def policy(self) -> dict[str, str]:
        """The planner in force; empty before the first scheduler has started."""
        found: dict[str, str] = self.client.hgetall(self.keys.planner)
        found.pop("stamp", None)
        return found

    def _order(self, script: str, kind: str, id: str, *arguments: object) -> int:
        code = int(self.call(script, kind, id, *arguments)[0])
        if code == Code.UNKNOWN:
            raise {"run": UnknownRun, "job": UnknownJob, "executor": UnknownExecutor}[kind](id)
        return code


def _moment(given: Moment) -> str:
    if given is None:
        return ""
    if given == "none":
        return "-"
    return f"+{given.ms}" if given.relative else str(given.ms)
