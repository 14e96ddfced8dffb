"""SLA scores: how urgent a job is because of its deadlines.

Times are milliseconds since the epoch. A score moves in buckets of fifteen minutes, and `sla_next_change`
tells when it will move next, so waiting jobs are looked at when something changes and not before.

    hard SLA missed   1000–1999   rises with every bucket since the hard SLA
    soft SLA missed    500–999    rises with every bucket since the soft SLA
    upcoming             1–499    rises with every bucket on the way to the soft SLA, or else the hard one
    no SLA               0

An SLA is missed only after its moment: at that very millisecond it still counts as upcoming.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from marie_celery.errors import ConfigError
from marie_celery.model.durations import check_duration, parse_duration

BUCKET_MS = 900_000
MAX_SCORE = 1_999

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)

SlaValue = datetime | timedelta | str


def sla_score(now_ms: int, soft_ms: int | None, hard_ms: int | None) -> int:
    if hard_ms is not None and now_ms > hard_ms:
        return 1000 + min(999, (now_ms - hard_ms) // BUCKET_MS)
    if soft_ms is not None and now_ms > soft_ms:
        return 500 + min(499, (now_ms - soft_ms) // BUCKET_MS)
    due_ms = hard_ms if soft_ms is None else soft_ms
    if due_ms is None:
        return 0
    buckets_left = -((now_ms - due_ms) // BUCKET_MS)
    return min(499, max(1, 500 - buckets_left))


def sla_next_change(now_ms: int, soft_ms: int | None, hard_ms: int | None) -> int | None:
    """The first millisecond after `now_ms` with another score; None if the score is final."""
    if hard_ms is not None and now_ms > hard_ms:
        return _next_bucket(now_ms, hard_ms, last=999)
    if soft_ms is not None and now_ms > soft_ms:
        own = _next_bucket(now_ms, soft_ms, last=499)
    else:
        due_ms = hard_ms if soft_ms is None else soft_ms
        if due_ms is None:
            return None
        buckets_left = -((now_ms - due_ms) // BUCKET_MS)
        # 499 and more buckets ahead all score 1, the last one scores 499 up to and including the due moment.
        own = due_ms + 1 if buckets_left <= 1 else due_ms - (min(499, buckets_left) - 1) * BUCKET_MS
    if hard_ms is None:
        return own
    return hard_ms + 1 if own is None else min(own, hard_ms + 1)


def _next_bucket(now_ms: int, missed_ms: int, last: int) -> int | None:
    bucket = (now_ms - missed_ms) // BUCKET_MS
    return missed_ms + (bucket + 1) * BUCKET_MS if bucket < last else None


class OnHardSla(StrEnum):
    """What follows when a hard SLA is missed."""

    ESCALATE = "escalate"
    """It runs on, in the most urgent tier."""
    EXPIRE = "expire"
    """What waits is expired, what runs is stopped and then expired."""


@dataclass(frozen=True, slots=True)
class SlaTime:
    """The end of an SLA: a moment, or a span that begins when the run is submitted."""

    ms: int
    relative: bool

    def at(self, submitted_ms: int) -> int:
        return submitted_ms + self.ms if self.relative else self.ms


@dataclass(frozen=True, slots=True)
class Sla:
    """The soft and hard SLA of a run or a job, as given."""

    soft: SlaTime | None = None
    hard: SlaTime | None = None

    @classmethod
    def parse(cls, soft: SlaValue | None = None, hard: SlaValue | None = None) -> Sla:
        sla = cls(
            soft=None if soft is None else parse_sla(soft, "soft_sla"),
            hard=None if hard is None else parse_sla(hard, "hard_sla"),
        )
        if sla.soft and sla.hard and sla.soft.relative == sla.hard.relative:
            sla.at(0)
        return sla

    def at(self, submitted_ms: int) -> tuple[int | None, int | None]:
        """Both as moments. Only here can a span and a moment be compared."""
        soft_ms = self.soft.at(submitted_ms) if self.soft else None
        hard_ms = self.hard.at(submitted_ms) if self.hard else None
        if soft_ms is not None and hard_ms is not None and hard_ms < soft_ms:
            raise ConfigError("hard_sla is before soft_sla")
        return soft_ms, hard_ms


def parse_sla(value: SlaValue, name: str = "sla") -> SlaTime:
    """A datetime with a zone (also as ISO text), a timedelta, or a span such as "90m"."""
    if isinstance(value, str) and value[:4].isdecimal() and "-" in value:
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            raise ConfigError(f"{name} {value!r} is no ISO date and time") from None
    if isinstance(value, datetime):
        if value.utcoffset() is None:
            raise ConfigError(f"{name} {value.isoformat()} has no time zone")
        return SlaTime((value - _EPOCH) // _MILLISECOND, relative=False)
    if isinstance(value, timedelta):
        return SlaTime(check_duration(value // _MILLISECOND, name), relative=True)
    if isinstance(value, str):
        return SlaTime(parse_duration(value, name), relative=True)
    raise ConfigError(f"{name} must be a datetime, a timedelta or text such as '90m', not {value!r}")
