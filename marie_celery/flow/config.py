"""Settings of a scheduler, checked as a whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from marie_celery.errors import ConfigError

BAND_NAMES = ("control", "high", "normal")


@dataclass(frozen=True, slots=True)
class SchedulerConfig:
    """
    tick_interval_ms     cadence of `on_tick` for nodes that give no hint of their own
    fairness_ratio       how always-ready bands share the turns
    max_batch_per_node   messages that a node may handle in one turn
    idle_sleep_ms        the longest single wait when nothing is ready and no tick is due before
    shutdown_timeout_s   how long a shutdown may go on draining
    """

    tick_interval_ms: float = 50
    fairness_ratio: Mapping[str, int] = field(default_factory=lambda: {"control": 4, "high": 2, "normal": 1})
    max_batch_per_node: int = 16
    idle_sleep_ms: float = 1_000
    shutdown_timeout_s: float = 10.0

    def __post_init__(self) -> None:
        problems = [
            f"{name} must be a number {rule}, not {value!r}"
            for name, value, rule, good in (
                ("tick_interval_ms", self.tick_interval_ms, "above 0", _is_above(self.tick_interval_ms, 0)),
                ("idle_sleep_ms", self.idle_sleep_ms, "above 0", _is_above(self.idle_sleep_ms, 0)),
                (
                    "shutdown_timeout_s",
                    self.shutdown_timeout_s,
                    "of at least 0",
                    self.shutdown_timeout_s == 0 or _is_above(self.shutdown_timeout_s, 0),
                ),
            )
            if not good
        ]
        if not _is_whole(self.max_batch_per_node):
            problems.append(
                f"max_batch_per_node must be an integer of at least 1, not {self.max_batch_per_node!r}"
            )
        problems += _ratio_problems(self.fairness_ratio)
        if problems:
            raise ConfigError("scheduler configuration: " + "; ".join(problems))
        object.__setattr__(self, "fairness_ratio", MappingProxyType(dict(self.fairness_ratio)))


def _is_above(value: object, bound: float) -> bool:
    # `bound < value < inf` is false for NaN as well.
    return isinstance(value, int | float) and not isinstance(value, bool) and bound < value < float("inf")


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _ratio_problems(ratio: Mapping[str, int]) -> list[str]:
    if not isinstance(ratio, Mapping) or set(ratio) != set(BAND_NAMES):
        return [f"fairness_ratio must have the keys {', '.join(BAND_NAMES)}, not {ratio!r}"]
    problems = [
        f"fairness_ratio[{name}] must be an integer of at least 1, not {ratio[name]!r}"
        for name in BAND_NAMES
        if not _is_whole(ratio[name])
    ]
    if not problems:
        problems = [
            f"fairness_ratio[{above}] ({ratio[above]}) must not be less than "
            f"fairness_ratio[{below}] ({ratio[below]})"
            for above, below in (("control", "high"), ("high", "normal"))
            if ratio[above] < ratio[below]
        ]
    return problems
