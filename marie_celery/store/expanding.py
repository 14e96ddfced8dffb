"""Making the jobs of maps, as their lists become known. Any number of schedulers do it side by side."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from marie_celery.store.caller import Caller, counted, in_ms, in_seconds, pairs
from marie_celery.store.codes import Code
from marie_celery.store.records import NewJob

EXPAND_CHUNK = 400
"""Jobs made in one call."""


@dataclass(frozen=True, slots=True)
class MapClaim:
    """A map whose items are to be made."""

    job_id: str
    number: int
    """Only the newest claim counts."""
    made: int
    batch: int | None
    inputs: str
    lists: Mapping[int, str | None]
    """Results of the jobs that the inputs refer to."""
    name: str
    graph: str
    """What is made for each item if a dag is mapped; empty if a task is."""
    jobs: int
    """Of its run, so far."""


@dataclass(frozen=True, slots=True)
class MapItem:
    """A job of a map: what tells it from the others, its inputs, and how many items it does (None = no batch)."""

    label: str
    inputs: str
    size: int | None = None


class Expanding(Caller):
    def claim_map(self) -> tuple[MapClaim | None, float | None]:
        """Take a map for the time of a lease. Beside it the seconds until there may be another; None = not in sight."""
        next_ms, *found = self.call("expand_claim", in_ms(self.settings.lease_ttl_seconds))
        if not found:
            return None, in_seconds(next_ms)
        job, number, made, batch, inputs, lists, *more = found
        results = {int(each): text for each, text in pairs(lists)}
        return MapClaim(job, number, made, int(batch) if batch else None, inputs, results, *more), in_seconds(next_ms)

    def expand(self, claim: MapClaim, items: Sequence[MapItem]) -> bool:
        """Make the jobs of a map that are not made yet. False if it has ended, or another has taken over."""
        lease_ms = in_ms(self.settings.lease_ttl_seconds)
        made, is_first = claim.made, True
        while is_first or made < len(items):
            chunk = items[made : made + EXPAND_CHUNK]
            given = [part for item in chunk for part in (item.label, item.inputs, item.size or "")]
            code, *answer = self.call("expand", claim.job_id, claim.number, lease_ms, len(items), made, *given)
            if code != Code.OK:
                return False
            (made,), is_first = answer, False
        return True

    def expand_graphs(
        self, claim: MapClaim, items: int, size: int, graph: Callable[[int, int], Sequence[NewJob]]
    ) -> bool:
        """The same for a map of a dag: `graph(item, number of its first job)` has `size` jobs."""
        lease_ms = in_ms(self.settings.lease_ttl_seconds)
        made, first, is_first = claim.made, claim.jobs, True
        while is_first or made < items:
            chunk = range(made, min(items, made + max(1, EXPAND_CHUNK // size)))
            given: list[object] = [claim.number, lease_ms, items, made, first, size, len(chunk)]
            for place, item in enumerate(chunk):
                for job in graph(item, first + place * size):
                    given += [job.inputs, *counted(job.fields)]
            code, *answer = self.call("expand_graphs", claim.job_id, *given)
            if code == Code.NOT_READY:
                (first,) = answer
                continue
            if code != Code.OK:
                return False
            (made,), is_first = answer, False
            first += size * len(chunk)
        return True

    def refuse_map(self, claim: MapClaim, error: Mapping[str, str]) -> bool:
        """The map fails. False if another has taken over."""
        return bool(self.call("expand_refuse", claim.job_id, claim.number, json.dumps(dict(error)))[0] == Code.OK)
