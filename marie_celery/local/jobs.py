"""The jobs of a local run, read from the same submission that Redis would get."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from marie_celery.model.control import Control
from marie_celery.model.joins import JoinRule, Parents, Verdict, verdict
from marie_celery.model.ranges import unpack
from marie_celery.model.retry import FailureKind, RetryPolicy
from marie_celery.model.sla import OnHardSla
from marie_celery.model.states import WorkState, check_transition
from marie_celery.store.records import NewJob, NewRun

Slas = tuple[int | None, int | None]
"""Soft and hard."""


@dataclass(slots=True)
class Items:
    """The jobs of a map, as they end."""

    numbers: Sequence[int]
    left: int
    failed: int = 0

    def verdict(self, rule: JoinRule) -> Verdict:
        """Skipped items count as done: their place in the list is empty."""
        return verdict(rule, Parents(len(self.numbers), self.left, 0, self.failed))


@dataclass(slots=True, eq=False)
class Job:
    number: int
    name: str
    task: str
    executor: str
    inputs: str
    policy: RetryPolicy
    children: Sequence[int]
    parents: int
    level: int
    priority: int
    rule: JoinRule
    control: Control | None
    fields: Mapping[str, str]
    """As they were submitted, for what only few jobs have."""
    estimate_ms: int | None
    path_ms: int | None
    soft_ms: int | None
    hard_ms: int | None
    watched: bool
    """It has SLAs of its own; those of the run mean nothing to it."""
    expires: bool
    left: int
    optional: frozenset[int] = frozenset()
    """Parents that may end as they like."""
    gate: int | None = None
    """The branch on whose path it stands, or the gate of the run."""
    shut: bool = False
    map: int | None = None
    """The map whose item it is."""
    batch: int | None = None
    """How many items it does; of a map: at most."""
    taken: list[str] | None = None
    """Of a branch that has decided: its paths taken."""
    items: Items | None = None
    """Of a map: its jobs, once they are made."""
    skipped_parents: int = 0
    failed_parents: int = 0
    state: WorkState = WorkState.CREATED
    reason: str = ""
    attempt: int = 0
    """How often it was begun; also the token that a report must carry."""
    failures: dict[FailureKind, int] = field(default_factory=dict)
    result: str | None = None
    error: Mapping[str, str] | None = None

    def move(self, state: WorkState, reason: str = "") -> None:
        check_transition(self.state, state)
        self.state = state
        self.reason = reason

    def parent_ended(self, parent: int, how: WorkState) -> None:
        self.left -= 1
        # To a child that may do without it, it ended well, however it did.
        if how is WorkState.COMPLETED or parent in self.optional:
            return
        if how is WorkState.SKIPPED:
            self.skipped_parents += 1
        else:
            self.failed_parents += 1

    def verdict(self) -> Verdict:
        """May it run, by what is known of its parents? Not while the branch that it hangs on, or the gate, is shut."""
        if self.shut or self.state is not WorkState.CREATED:
            return Verdict.WAIT
        if not self.parents:
            return Verdict.RUN
        return verdict(self.rule, Parents(self.parents, self.left, self.skipped_parents, self.failed_parents))

    @property
    def is_last(self) -> bool:
        """It is the run's on_failure or finally, which nothing stops."""
        return "final" in self.fields

    @property
    def paths(self) -> list[tuple[str, str]] | None:
        """Of a branch or a gate: the jobs (as ranges) that it lets go, by the names of the paths."""
        return json.loads(self.fields["paths"]) if "paths" in self.fields else None

    @property
    def seen_as(self) -> WorkState:
        """How it ended, as its children see it: completed, skipped or failed."""
        if self.state is WorkState.COMPLETED:
            return WorkState.COMPLETED
        if self.state is WorkState.SKIPPED and self.reason != Verdict.UPSTREAM_FAILED:
            return WorkState.SKIPPED
        return WorkState.FAILED


class Reader:
    """Makes jobs of a submission's fields."""

    def __init__(self, run: NewRun, now_ms: int, on_hard_sla: OnHardSla) -> None:
        self._policies = {number: RetryPolicy.model_validate_json(text) for number, text in run.specs.items()}
        self._on_hard = run.fields.get("on_hard", on_hard_sla)
        self.expires = self._on_hard == OnHardSla.EXPIRE
        self.slas = _slas(run.fields, now_ms)
        self._now_ms = now_ms

    def read(self, number: int, new: NewJob) -> Job:
        return self._read(number, new, self.slas, self._now_ms)

    def read_within(self, number: int, new: NewJob, around: Job, now_ms: int) -> Job:
        """A job that a map has made: what it does not say itself, it has from the map."""
        fields = {"priority": str(around.priority), **new.fields, "level": str(int(new.fields["level"]) + around.level)}
        return self._read(number, NewJob(fields, new.inputs), (around.soft_ms, around.hard_ms), now_ms)

    def _read(self, number: int, new: NewJob, inherited: Slas, now_ms: int) -> Job:
        fields = new.fields
        soft_ms, hard_ms = inherited
        watched = "sla" in fields
        if watched:
            own_soft_ms, own_hard_ms = _slas(fields, now_ms)
            soft_ms = soft_ms if own_soft_ms is None else own_soft_ms
            hard_ms = hard_ms if own_hard_ms is None else own_hard_ms
            if soft_ms is not None and hard_ms is not None and hard_ms < soft_ms:
                soft_ms = None  # the run's, which means nothing here
        parents = int(fields.get("parents", 0))
        return Job(
            number=number,
            name=fields["name"],
            task=fields["task"],
            executor=fields["executor"],
            inputs=new.inputs,
            policy=self._policies[fields["spec"]],
            children=tuple(unpack(fields.get("children", ""))),
            parents=parents,
            level=int(fields["level"]),
            priority=int(fields["priority"]),
            rule=JoinRule(fields.get("rule", JoinRule.ALL_SUCCESS)),
            control=Control(fields["control"]) if "control" in fields else None,
            fields=fields,
            estimate_ms=_number(fields, "estimate"),
            path_ms=_number(fields, "path"),
            soft_ms=soft_ms,
            hard_ms=hard_ms,
            watched=watched,
            expires=fields.get("on_hard", self._on_hard) == OnHardSla.EXPIRE,
            left=parents,
            optional=frozenset(unpack(fields.get("optional", ""))),
            gate=_number(fields, "gate"),
            shut="shut" in fields,
            batch=_number(fields, "batch"),
        )


def _slas(fields: Mapping[str, str], now_ms: int) -> Slas:
    """Those that count from the submission begin now."""

    def moment(name: str) -> int | None:
        span = _number(fields, f"{name}_in")
        return _number(fields, name) if span is None else now_ms + span

    return moment("soft"), moment("hard")


def _number(fields: Mapping[str, str], name: str) -> int | None:
    return int(fields[name]) if name in fields else None
