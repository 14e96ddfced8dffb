"""After the chaos: is everything accounted for? From the events and results in Redis and the ledger outside of it."""

from __future__ import annotations

import itertools
import json
import statistics
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from marie_celery import Marie
from marie_celery.store.keys import attempt_id, number_of
from tests.chaos.load import Expected, Load

TERMINAL = {"completed", "skipped", "failed", "cancelled", "expired"}
PAGE = 5_000


class Step(NamedTuple):
    """A transition of a job, as its event tells it."""

    source: str
    target: str
    at: int


Histories = dict[str, list[Step]]


@dataclass
class Hit:
    """A fault that happened."""

    kind: str
    at: float
    """On the clock that the ledger has too."""
    redis_ms: float
    """The same moment on the clock of Redis."""
    pids: list[int] = field(default_factory=list)
    """The processes that ran jobs and were hit."""


@dataclass
class Entry:
    job: str
    token: int
    pid: int
    started: float
    ended: float | None = None
    did_it: bool = False


@dataclass
class Report:
    seconds: float
    runs: int
    jobs: int
    attempts: int
    faults: Counter[str]
    problems: list[str]
    """Empty if every promise was kept."""
    fenced: int
    """Writes of attempts that had been overtaken, all refused."""
    noticed: dict[str, list[float]]
    """Kind of fault → seconds until the jobs that it hit had ended or were on offer again."""
    begun: dict[str, list[float]]
    """Kind of fault → seconds until those jobs had ended or were begun again; if none was hit, until any was begun."""

    def __str__(self) -> str:
        lines = [
            f"{self.seconds:.0f} s, {sum(self.faults.values())} faults, {self.runs} runs, {self.jobs} jobs, "
            f"{self.attempts} attempts, {self.fenced} stale writes refused",
            f"{'':<25} {'on offer again (s)':>23} {'work again (s)':>23}",
            f"{'fault':<18} {'times':>6} " + 2 * f"{'p50':>8}{'p99':>8}{'most':>8}",
        ]
        for kind, times in sorted(self.faults.items()):
            lines.append(f"{kind:<18} {times:>6} {figures(self.noticed.get(kind))}{figures(self.begun.get(kind))}")
        lines.append("everything is accounted for" if not self.problems else f"{len(self.problems)} PROBLEMS")
        return "\n".join([*lines, *self.problems[:50]])


def figures(waits: list[float] | None) -> str:
    if not waits:
        return f"{'-':>8}" * 3
    return f"{quantile(waits, 50):8.2f}{quantile(waits, 99):8.2f}{max(waits):8.2f}"


def quantile(values: list[float], percent: int) -> float:
    return statistics.quantiles(values, n=100, method="inclusive")[percent - 1] if len(values) > 1 else values[0]


def audit(marie: Marie, load: Load, hits: list[Hit], ledger: Path, seconds: float) -> Report:
    entries, problems = read_ledger(ledger)
    histories = read_events(marie)
    for run, expected in load.expected.items():
        problems += check_run(marie, run, expected, histories, entries)
    submitted = set(load.expected)
    accepted = set(marie.store.client.zrange(marie.store.keys.runs, 0, -1))
    problems += [f"run {run} was accepted and nobody submitted it" for run in accepted - submitted]
    problems += check_leftovers(marie)
    return Report(
        seconds=seconds,
        runs=len(load.expected),
        jobs=load.jobs,
        attempts=len(entries),
        faults=Counter(hit.kind for hit in hits),
        problems=problems,
        fenced=int(marie.store.client.hget(marie.store.keys.counters, "fencedWrites") or 0),
        noticed=noticed(hits, list(entries.values()), histories),
        begun=begun(hits, list(entries.values())),
    )


def read_ledger(path: Path) -> tuple[dict[str, Entry], list[str]]:
    entries: dict[str, Entry] = {}
    problems = []
    for line in path.read_text().splitlines():
        what, job, token, pid, at = line.split()
        attempt = attempt_id(job, int(token))
        if what != "start":
            entries[attempt].ended = float(at)
            entries[attempt].did_it = what == "end"
        elif attempt in entries:
            problems.append(f"attempt {attempt} was begun twice")
        else:
            entries[attempt] = Entry(job, int(token), int(pid), float(at))
    return entries, problems


def read_events(marie: Marie) -> Histories:
    store = marie.store
    histories: Histories = defaultdict(list)
    last = "-"
    while page := store.client.xrange(store.keys.events, min=last, count=PAGE):
        for _, fields in page:
            if "job" in fields:
                histories[fields["job"]].append(Step(fields["from"], fields["to"], int(fields["at"])))
        last = f"({page[-1][0]}"
    return histories


def check_run(
    marie: Marie,
    run: str,
    expected: Expected,
    histories: Histories,
    entries: dict[str, Entry],
) -> list[str]:
    view = marie.run(run).status()
    if view.state != expected.state:
        return [f"run {run} is {view.state}, not {expected.state}: {dict(view.counts)}"]
    problems = []
    if view.done != expected.jobs:
        problems.append(f"run {run} has {view.done} ended jobs of {expected.jobs}")
    if expected.value is not None and (found := marie.run(run).result()["value"]) != expected.value:
        problems.append(f"run {run} has the result {found}, not {expected.value}")
    results = marie.store.client.hgetall(marie.store.keys.results(run))
    for job in marie.run(run).jobs():
        result = results.get(str(number_of(job.job_id)))
        problems += check_job(job, histories[job.job_id], json.loads(result) if result else None, entries)
    return problems


def check_job(job: Any, history: list[Step], result: Any, entries: dict[str, Entry]) -> list[str]:
    problems = []
    ends = [step.target for step in history if step.target in TERMINAL]
    if ends != [job.state]:
        problems.append(f"job {job.job_id} is {job.state} and ended as {ends}")
    if any(before.target != after.source for before, after in itertools.pairwise(history)):
        problems.append(f"job {job.job_id} has a broken history: {history}")
    dispatched = sum(step.target == "dispatched" for step in history)
    if dispatched != job.attempt:
        problems.append(f"job {job.job_id} was dispatched {dispatched} times with {job.attempt} tokens")
    if job.state == "completed":
        entry = entries.get(attempt_id(job.job_id, job.attempt))
        if entry is None or not entry.did_it:
            problems.append(f"job {job.job_id} was completed by attempt {job.attempt}, which did not do it")
        if result is None or result["token"] != job.attempt:
            problems.append(f"job {job.job_id} has the result of an overtaken attempt: {result}, not {job.attempt}")
    return problems


def check_leftovers(marie: Marie) -> list[str]:
    store = marie.store
    client, keys = store.client, store.keys
    problems = []
    for executor in client.smembers(keys.executors):
        if held := client.zrange(keys.slots(executor), 0, -1):
            problems.append(f"slots of {executor} are still held by {held}")
    for name in ("delayed", "active", "advance", "staging", "held"):
        if client.exists(getattr(keys, name)):
            problems.append(f"there is something left in {name}")
    if healed := int(client.hget(keys.counters, "reconciled") or 0):
        problems.append(f"{healed} times the state had to be put right")
    problems += [f"job {job} was {what}" for job, what in marie.operations.reconcile().items()]
    return problems


def struck(hit: Hit, entries: list[Entry]) -> list[Entry]:
    """The attempts that ran in the processes that were hit."""
    return [
        entry
        for entry in entries
        if entry.pid in hit.pids and entry.started <= hit.at and (entry.ended is None or entry.ended > hit.at)
    ]


def noticed(hits: list[Hit], entries: list[Entry], histories: Histories) -> dict[str, list[float]]:
    waits: dict[str, list[float]] = defaultdict(list)
    for hit in hits:
        for entry in struck(hit, entries):
            next_step = next((step.at for step in histories[entry.job] if step.at >= hit.redis_ms), None)
            waits[hit.kind] += [(next_step - hit.redis_ms) / 1000] if next_step else []
    return waits


def begun(hits: list[Hit], entries: list[Entry]) -> dict[str, list[float]]:
    by_job: dict[str, list[Entry]] = defaultdict(list)
    for entry in entries:
        by_job[entry.job].append(entry)
    starts = sorted(entry.started for entry in entries)
    waits: dict[str, list[float]] = defaultdict(list)
    for hit in hits:
        if not hit.pids:
            after = next((at for at in starts if at > hit.at), None)
            waits[hit.kind] += [after - hit.at] if after is not None else []
        for entry in struck(hit, entries):
            seen = [other.started for other in by_job[entry.job] if other.started > hit.at]
            seen += [entry.ended] if entry.ended is not None else []
            waits[hit.kind] += [min(seen) - hit.at] if seen else []
    return waits
