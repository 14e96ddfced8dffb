"""The jobs of a local run, read from the same submission that Redis would get."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from marie_celery.model.joins import JoinRule, Parents, Verdict, verdict
from marie_celery.model.ranges import unpack
from marie_celery.model.retry import FailureKind, RetryPolicy
from marie_celery.model.sla import OnHardSla
from marie_celery.model.states import WorkState, check_transition
from marie_celery.store.records import NewJob, NewRun


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
    control: str
    estimate_ms: int | None
    path_ms: int | None
    soft_ms: int | None
    hard_ms: int | None
    watched: bool
    """It has SLAs of its own; those of the run mean nothing to it."""
    expires: bool
    left: int
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

    def parent_ended(self, how: WorkState) -> Verdict:
        self.left -= 1
        if how is WorkState.SKIPPED:
            self.skipped_parents += 1
        elif how is WorkState.FAILED:
            self.failed_parents += 1
        if self.state is not WorkState.CREATED:
            return Verdict.WAIT
        return verdict(self.rule, Parents(self.parents, self.left, self.skipped_parents, self.failed_parents))

    @property
    def seen_as(self) -> WorkState:
        """How it ended, as its children see it: completed, skipped or failed."""
        if self.state is WorkState.COMPLETED:
            return WorkState.COMPLETED
        if self.state is WorkState.SKIPPED and self.reason != Verdict.UPSTREAM_FAILED:
            return WorkState.SKIPPED
        return WorkState.FAILED


class Reader:
    """Makes jobs of a submission's fields. Times that count from the submission begin at `now_ms`."""

    def __init__(self, run: NewRun, now_ms: int, on_hard_sla: OnHardSla) -> None:
        self._now_ms = now_ms
        self._policies = {number: RetryPolicy.model_validate_json(text) for number, text in run.specs.items()}
        self._on_hard = run.fields.get("on_hard", on_hard_sla)
        self.soft_ms, self.hard_ms = self._slas(run.fields)
        self.expires = self._on_hard == OnHardSla.EXPIRE

    def read(self, number: int, new: NewJob) -> Job:
        fields = new.fields
        soft_ms, hard_ms = self.soft_ms, self.hard_ms
        watched = "sla" in fields
        if watched:
            own_soft_ms, own_hard_ms = self._slas(fields)
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
            control=fields.get("control", ""),
            estimate_ms=_number(fields, "estimate"),
            path_ms=_number(fields, "path"),
            soft_ms=soft_ms,
            hard_ms=hard_ms,
            watched=watched,
            expires=fields.get("on_hard", self._on_hard) == OnHardSla.EXPIRE,
            left=parents,
        )

    def _slas(self, fields: Mapping[str, str]) -> tuple[int | None, int | None]:
        return self._moment(fields, "soft"), self._moment(fields, "hard")

    def _moment(self, fields: Mapping[str, str], name: str) -> int | None:
        span = _number(fields, f"{name}_in")
        return _number(fields, name) if span is None else self._now_ms + span


def _number(fields: Mapping[str, str], name: str) -> int | None:
    return int(fields[name]) if name in fields else None
