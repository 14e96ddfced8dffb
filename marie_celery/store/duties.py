"""What schedulers do, each step atomic, so that any number of them may do it side by side."""

from __future__ import annotations

from collections.abc import Sequence

from marie_celery.store.caller import Caller, as_mapping, in_ms, in_seconds, maybe_int
from marie_celery.store.codes import Code
from marie_celery.store.records import Candidate, Claim, Message, Outlook, Reaped, Room

AT_ONCE = 1000
REAP_LIMIT = 100


class Duties(Caller):
    def peek(self, look_ahead: int, most: int) -> Outlook:
        """Per executor: free slots, and the best ready jobs where there are some."""
        answer = self.call("peek", look_ahead, most)
        now_ms, planner, parks, retry_ms, rank_ms, sla_ms, pieces, alerts, slot_ms, supply_ms, map_ms, *rooms = answer
        return Outlook(
            int(now_ms),
            planner,
            {
                "promoter": retry_ms,
                "reranker": rank_ms,
                "watcher": sla_ms,
                "advancer": 0 if pieces else -1,
                "alerter": 0 if alerts else -1,
                "cron": slot_ms,
                "supplier": supply_ms,
                "expander": map_ms,
            },
            [
                Room(
                    executor,
                    int(free),
                    int(waiting),
                    int(credit),
                    [_candidate(executor, row) for row in rows],
                    tenant,
                    int(virtual_us) / 1000,
                    int(weight),
                    maybe_int(held_since or None),
                )
                for executor, free, waiting, credit, rows, tenant, virtual_us, weight, held_since in rooms
            ],
            parks == 1,
        )

    def dispatch(self, messages: Sequence[Message], jobs: Sequence[tuple[str, int]]) -> list[Claim]:
        """Book a slot for each (job, number of its message from 1, 0 = none) and send its message, in one step."""
        arguments: list[object] = [in_ms(self.settings.lease_ttl_seconds), self.settings.max_concurrency]
        arguments.append(len(messages))
        for message in messages:
            arguments += [message.queue_key, message.template]
        arguments.append(len(jobs))
        for job, message_number in jobs:
            arguments += [job, message_number]
        answers = self.call("dispatch", *arguments)
        return [Claim(job, code, token) for (job, _), (code, token) in zip(jobs, answers, strict=True)]

    def forget_messages(self) -> None:
        """The messages that scripts send by themselves are to be rendered anew."""
        self.client.delete(self.keys.messages)

    def promote(self, most: int = AT_ONCE) -> tuple[int, float | None]:
        """Make delayed jobs ready. Returns how many, and the seconds until the next is due."""
        promoted, next_ms = self.call("promote", most)
        return promoted, in_seconds(next_ms)

    def rerank(self, most: int = AT_ONCE) -> tuple[int, float | None]:
        """Move ready jobs whose place has changed by time. Returns how many, and the seconds until the next change."""
        ranked, next_ms = self.call("rerank", most)
        return ranked, in_seconds(next_ms)

    def watch(self, most: int = AT_ONCE) -> tuple[int, float | None]:
        """Note missed SLAs. Returns how many, and the seconds until the next SLA."""
        missed, next_ms = self.call("watch", most, self.settings.on_hard_sla.value)
        return missed, in_seconds(next_ms)

    def reap(self, not_after_ms: int | None = None) -> Reaped:
        """Look for dead workers, ended leases and abandoned submissions; not at all if it arrives too late."""
        latest = "" if not_after_ms is None else not_after_ms
        return Reaped(*self.call("reap", in_ms(self.settings.lease_ttl_seconds), REAP_LIMIT, latest))

    def reconcile(self, run: str) -> dict[str, str]:
        """Put right whatever does not fit the states of a run's jobs. Returns job → what was wrong."""
        healed: dict[str, str] = {}
        number = 0
        while number >= 0:
            number, found = self.call("reconcile", run, number, in_ms(self.settings.lease_ttl_seconds))
            healed |= as_mapping(found)
        return healed

    def prunable(self, most: int) -> tuple[int, list[str]]:
        """The moment up to which runs are forgotten, and the first that ended before it."""
        before_ms = self.read_clock() - in_ms(self.settings.retention)
        found: list[str] = self.client.zrangebyscore(self.keys.ended, "-inf", before_ms, start=0, num=most)
        return before_ms, found

    def prune(self, run: str, before_ms: int) -> bool:
        """Forget a run that ended before then. False if it did not."""
        return bool(self.call("prune", run, before_ms)[0] == Code.OK)

    def advance(self) -> int:
        """Go on with work that was too long for one call. Returns how many pieces are left."""
        return int(self.call("advance")[0])


def _candidate(executor: str, row: Sequence[str | int | None]) -> Candidate:
    job, submitted, activated, task, level, priority, soft, hard, ready_at, *rest = row
    estimate, path, hard_limit, soft_limit, needs, skips = rest
    return Candidate(
        job_id=str(job),
        executor=executor,
        task=str(task),
        level=int(level or 0),
        priority=int(priority or 0),
        soft_ms=maybe_int(soft),
        hard_ms=maybe_int(hard),
        submitted_ms=int(submitted or 0),
        activated_ms=maybe_int(activated),
        ready_ms=int(ready_at or 0),
        estimate_ms=maybe_int(estimate),
        path_ms=maybe_int(path),
        time_limit=float(hard_limit) if hard_limit else None,
        soft_time_limit=float(soft_limit) if soft_limit else None,
        needs=None if needs is None else str(needs),
        skips=int(skips or 0),
    )
