"""What a schedule says, and the slots that follow from it. Pure: the time is always given.

A slot is a moment of the calendar and names the firing, whenever that happens. It is due a little later if the schedule
has a jitter, by as much as the name and the slot say, so all schedulers agree.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import cached_property
from hashlib import blake2b
from itertools import takewhile
from typing import Any, Self
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError, ValidationInfo, field_validator

from marie_celery.authoring.options import RunOptions
from marie_celery.errors import ConfigError
from marie_celery.model.priority import parse_priority
from marie_celery.model.sla import OnHardSla, Sla
from marie_celery.schedules.calendar import Calendar, check_cron

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
_OF_THE_SLOT = ("key", "duplicates")
_OF_THE_DAG = ("gate", "on_failure", "finally_")


class Catchup(StrEnum):
    """What becomes of slots that were due while no scheduler was there."""

    NONE = "none"
    """Left out, if more than a minute late."""
    LATEST = "latest"
    """The last of them is fired."""
    ALL = "all"
    """Each is fired, in order."""


class Overlap(StrEnum):
    """What happens when a slot is due and the run of the one before is still going."""

    ALLOW = "allow"
    SKIP = "skip"
    """The slot is left out."""
    QUEUE = "queue"
    """It fires when the run has ended."""
    REPLACE = "replace"
    """The run is cancelled."""


class Schedule(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(pattern=r"^[A-Za-z0-9_.-]{1,100}$")
    dag: str = Field(min_length=1)
    cron: str
    timezone: str = "UTC"
    jitter: float = Field(0.0, ge=0, le=86_400)
    """Seconds."""
    catchup: Catchup = Catchup.LATEST
    overlap: Overlap = Overlap.ALLOW
    start: AwareDatetime | None = None
    end: AwareDatetime | None = None
    paused: bool = False
    """How it begins; from then on operators say."""
    args: list[Any] = Field(default_factory=list)
    kwargs: dict[str, Any] = Field(default_factory=dict)
    options: dict[str, Any] = Field(default_factory=dict)
    """Those of `RunOptions`, but for key and duplicates, which belong to the slot, and tasks, which the dag names."""

    @classmethod
    def make(cls, **fields: Any) -> Self:
        """Checks everything; one ConfigError lists all problems."""
        try:
            return cls(**fields)
        except ValidationError as error:
            raise ConfigError(_explain(fields.get("name"), error)) from None

    @field_validator("cron")
    @classmethod
    def _cron(cls, value: str) -> str:
        return check_cron(" ".join(value.split()))

    @field_validator("timezone")
    @classmethod
    def _timezone(cls, value: str) -> str:
        try:
            ZoneInfo(value)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            raise ConfigError(f"'{value}' is unknown; write it like 'Europe/Berlin'") from None
        return value

    @field_validator("end")
    @classmethod
    def _end(cls, value: datetime | None, info: ValidationInfo) -> datetime | None:
        start = info.data.get("start")
        if value is not None and start is not None and value < start:
            raise ConfigError("it is before start")
        return value

    @field_validator("args", "kwargs")
    @classmethod
    def _json(cls, value: Any) -> Any:
        try:
            return json.loads(json.dumps(value, allow_nan=False))
        except (TypeError, ValueError) as error:
            raise ConfigError(f"JSON cannot carry it: {error}") from None

    @field_validator("options")
    @classmethod
    def _options(cls, value: dict[str, Any]) -> dict[str, Any]:
        return _checked(value)

    def slots(self, after_ms: int, until_ms: int) -> Iterator[int]:
        """The slots after the first moment, up to and including the second."""
        return takewhile(lambda slot: slot <= until_ms, self._all(after_ms))

    def next_slot(self, after_ms: int) -> int | None:
        return next(self._all(after_ms), None)

    def due_ms(self, slot: int) -> int:
        """When to fire the slot."""
        if not self.jitter:
            return slot
        roll = blake2b(f"{self.name} {slot}".encode(), digest_size=8).digest()
        return slot + int.from_bytes(roll) % (round(self.jitter * 1000) + 1)

    def run_key(self, slot: int) -> str:
        """Two firings of a slot have the same key, so only one of them makes a run."""
        return f"schedule:{self.name}:{slot}"

    def _all(self, after_ms: int) -> Iterator[int]:
        if self.start is not None:
            after_ms = max(after_ms, in_epoch_ms(self.start) - 1)
        found = self._calendar.after(after_ms)
        if self.end is None:
            return found
        end_ms = in_epoch_ms(self.end)
        return takewhile(lambda slot: slot <= end_ms, found)

    @cached_property
    def _calendar(self) -> Calendar:
        return Calendar(self.cron, ZoneInfo(self.timezone))


def in_epoch_ms(moment: datetime) -> int:
    return (moment - _EPOCH) // _MILLISECOND


def _checked(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options of a run as JSON carries them."""
    problems = [f"{name} belongs to the slot" for name in _OF_THE_SLOT if name in options]
    problems += [f"{name} is a task: name it in @dag" for name in _OF_THE_DAG if name in options]
    given = {
        name: f"{value // _MILLISECOND}ms" if isinstance(value, timedelta) else value
        for name, value in options.items()
        if name not in _OF_THE_SLOT and value is not None
    }
    try:
        RunOptions().but(**given)
    except TypeError as error:
        problems.append(str(error))
    try:
        if "priority" in given:
            parse_priority(given["priority"])
    except ConfigError as error:
        problems.append(str(error))
    try:
        sla = Sla.parse(given.get("soft_sla"), given.get("hard_sla"))
        if any(end is not None and not end.relative for end in (sla.soft, sla.hard)):
            problems.append("an SLA of a schedule is a span such as '90m', counted from the firing")
    except ConfigError as error:
        problems.append(str(error))
    if given.get("on_hard_sla", OnHardSla.ESCALATE) not in tuple(OnHardSla):
        problems.append(f"on_hard_sla '{given['on_hard_sla']}' is unknown; there are {', '.join(OnHardSla)}")
    if problems:
        raise ConfigError("; ".join(problems))
    try:
        checked: dict[str, Any] = json.loads(json.dumps(given, allow_nan=False))
    except (TypeError, ValueError) as error:
        raise ConfigError(f"JSON cannot carry them: {error}") from None
    return checked


def _explain(name: object, error: ValidationError) -> str:
    problems = []
    for item in error.errors():
        where = ".".join(str(part) for part in item["loc"])
        text = "is unknown" if item["type"] == "extra_forbidden" else item["msg"].removeprefix("Value error, ")
        problems.append(f"{where}: {text}" if where else text)
    if len(problems) == 1:
        return f"schedule '{name}' was refused: {problems[0]}"
    lines = "".join(f"\n  - {problem}" for problem in problems)
    return f"schedule '{name}' was refused, {len(problems)} problems:{lines}"
