"""A schedule as Redis keeps it: what holds, who said so, and what code says if that is something else."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from marie_celery.errors import ConfigError
from marie_celery.schedules.schedule import Schedule


class Origin(StrEnum):
    CODE = "code"
    OPERATOR = "operator"


class Entry(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    version: int
    origin: Origin
    definition: Schedule
    paused: bool
    """What operators said last, at first what the definition says. Not part of it, so a pause is no edit."""
    code: Schedule | None = None
    """What code says, where it has something to say."""
    app: str = ""
    """Whose code that is."""
    orphan: bool = False
    """It came from code and is not there any more."""

    @classmethod
    def parse(cls, text: str) -> Entry:
        try:
            return cls.model_validate_json(text)
        except ValidationError as error:
            first = error.errors()[0]
            raise ConfigError(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from None

    def text(self) -> str:
        return self.model_dump_json()

    def but(self, **changes: Any) -> Entry:
        """The next version."""
        return self.model_copy(update={"version": self.version + 1, **changes})

    @property
    def fires(self) -> bool:
        return not self.paused and not self.orphan

    def next_slot(self, now_ms: int) -> tuple[int, int] | None:
        """The first slot from now on and when it is due; None if there is none or it is not to be fired."""
        slot = self.definition.next_slot(now_ms) if self.fires else None
        return None if slot is None else (slot, self.definition.due_ms(slot))

    @property
    def difference(self) -> str:
        """What code says about the fields in which it is overruled."""
        if self.code is None or self.code == self.definition:
            return ""
        said, held = self.code.model_dump(mode="json"), self.definition.model_dump(mode="json")
        return ", ".join(f"{name}={said[name]!r}" for name in said if said[name] != held[name])
