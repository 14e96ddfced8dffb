"""The setting `resources`: managers by name, each with what its kind allows."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, field_validator

from marie_celery.resources.booking import Delta, Manager, refuse_other_changes
from marie_celery.resources.concurrency import ConcurrencyManager
from marie_celery.resources.discrete import DEFAULT_ITEMS, DiscreteManager
from marie_celery.resources.highlander import HighlanderManager
from marie_celery.resources.own import manager_class
from marie_celery.resources.quantity import QuantityManager
from marie_celery.resources.rate import TOKEN, RateManager, gain_of
from marie_celery.resources.tours import OnShortage

MOST = 1_000_000

Executor = Annotated[str, StringConstraints(min_length=1)]
Item = Annotated[str, StringConstraints(pattern=r"^[^\s,]+$")]
"""Items reach the job as a list with commas."""


class _Settings(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    consumption: int = Field(1, ge=0, le=MOST)
    """What a job takes that does not say otherwise."""
    executors: tuple[Executor, ...] = ()
    """All jobs of these executors take from it; other jobs only if they or their tasks name it."""
    on_shortage: OnShortage | None = None
    """None = the general setting."""


class QuantitySettings(_Settings):
    kind: Literal["quantity"] = "quantity"
    quantity: int = Field(10, ge=0, le=MOST)

    @property
    def most(self) -> int:
        """What one job could have at the most."""
        return self.quantity

    def manager(self) -> Manager:
        return QuantityManager(self.quantity)


class DiscreteSettings(_Settings):
    kind: Literal["discrete"] = "discrete"
    items: tuple[Item, ...] = DEFAULT_ITEMS
    consumption: int = Field(0, ge=0, le=MOST)

    @field_validator("items", mode="before")
    @classmethod
    def _with_commas(cls, value: object) -> object:
        return [item.strip() for item in value.split(",")] if isinstance(value, str) else value

    @field_validator("items")
    @classmethod
    def _each_once(cls, items: tuple[str, ...]) -> tuple[str, ...]:
        twice = sorted({item for item in items if items.count(item) > 1})
        if twice:
            raise ValueError(f"'{twice[0]}' is there twice")
        return items

    @property
    def most(self) -> int:
        return len(self.items)

    def manager(self) -> Manager:
        return DiscreteManager(self.items)


class HighlanderSettings(_Settings):
    kind: Literal["highlander"] = "highlander"
    consumption: int = Field(1, ge=0, le=1)

    @property
    def most(self) -> int:
        return 1

    def manager(self) -> Manager:
        return HighlanderManager()


class RateSettings(_Settings):
    kind: Literal["rate"] = "rate"
    rate: float = Field(ge=0.0001, le=MOST)
    """Per second, exact to a millionth."""
    burst: int = Field(1, ge=1, le=MOST)

    @property
    def most(self) -> int:
        return self.burst

    def manager(self) -> Manager:
        return RateManager(gain_of(self.rate), self.burst)


class ConcurrencySettings(_Settings):
    kind: Literal["concurrency"] = "concurrency"
    limit: int = Field(1, ge=0, le=MOST)

    @property
    def most(self) -> int:
        return self.limit

    def manager(self) -> Manager:
        return ConcurrencyManager(self.limit)


class OwnSettings(_Settings):
    """A class of the user's own decides; see `resources/own.py`."""

    kind: Literal["own"] = "own"
    path: Annotated[str, StringConstraints(pattern=r"^[\w.]+:\w+$")] = Field(alias="manager")

    model_config = ConfigDict(populate_by_name=True)

    @property
    def most(self) -> int:
        """Only the manager knows."""
        return MOST

    def manager(self) -> Manager:
        return manager_class(self.path)()


ResourceName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9_]*$")]
"""Also a part of the names of environment variables."""

ResourceSettings = Annotated[
    QuantitySettings | DiscreteSettings | HighlanderSettings | RateSettings | ConcurrencySettings | OwnSettings,
    Field(discriminator="kind"),
]


def changed(settings: ResourceSettings, delta: Delta) -> ResourceSettings:
    """The configuration after a change of size. Raises ValueError for one that it does not allow."""
    if isinstance(settings, OwnSettings) and delta != Delta():
        raise ValueError("its manager decides how much there is")
    refuse_other_changes(settings.kind, delta, *_CHANGES[settings.kind])
    values = settings.model_dump()
    match settings:
        case QuantitySettings():
            values["quantity"] += delta.amount
        case DiscreteSettings():
            kept = [item for item in settings.items if item not in delta.remove]
            values["items"] = [*kept, *(item for item in delta.add if item not in kept)]
        case RateSettings():
            values["burst"] += delta.amount
            values["rate"] = (gain_of(settings.rate) + delta.rate) * 1000 / TOKEN
        case ConcurrencySettings():
            values["limit"] += delta.amount
    return type(settings).model_validate(values)


def measures(settings: ResourceSettings) -> dict[str, Any]:
    """What a change of size changes, as JSON carries it."""
    return settings.model_dump(mode="json", include={"quantity", "items", "rate", "burst", "limit", "path"})


_CHANGES = {
    "quantity": ("amount",),
    "discrete": ("add", "remove"),
    "highlander": (),
    "rate": ("amount", "rate"),
    "concurrency": ("amount",),
    "own": (),
}


def difference(before: ResourceSettings, after: ResourceSettings) -> Delta:
    """What to do to a running manager whose configuration has changed."""
    match before, after:
        case QuantitySettings(), QuantitySettings():
            return Delta(amount=after.quantity - before.quantity)
        case DiscreteSettings(), DiscreteSettings():
            return Delta(
                add=tuple(item for item in after.items if item not in before.items),
                remove=tuple(item for item in before.items if item not in after.items),
            )
        case RateSettings(), RateSettings():
            return Delta(amount=after.burst - before.burst, rate=gain_of(after.rate) - gain_of(before.rate))
        case ConcurrencySettings(), ConcurrencySettings():
            return Delta(amount=after.limit - before.limit)
        case (HighlanderSettings(), HighlanderSettings()) | (OwnSettings(), OwnSettings()):
            return Delta()
    raise ValueError(f"a {before.kind} resource cannot become a {after.kind} one: give it another name")
