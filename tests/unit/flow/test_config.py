from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from marie_celery.errors import ConfigError
from marie_celery.flow import SchedulerConfig


def test_the_defaults_are_valid_and_share_four_to_two_to_one() -> None:
    assert SchedulerConfig().fairness_ratio == {"control": 4, "high": 2, "normal": 1}


def test_a_configuration_cannot_be_changed() -> None:
    ratio = {"control": 4, "high": 2, "normal": 1}
    config = SchedulerConfig(fairness_ratio=ratio)
    ratio["normal"] = 100
    with pytest.raises(dataclasses.FrozenInstanceError):
        config.idle_sleep_ms = 1  # type: ignore[misc]
    with pytest.raises(TypeError):
        config.fairness_ratio["normal"] = 5  # type: ignore[index]
    assert config.fairness_ratio["normal"] == 1


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        *(
            (name, bad)
            for name in ("tick_interval_ms", "idle_sleep_ms")
            for bad in (0, -1, "5", True, float("nan"))
        ),
        *(("shutdown_timeout_s", bad) for bad in (-0.1, float("inf"), None)),
        *(("max_batch_per_node", bad) for bad in (0, 1.5, True)),
        ("fairness_ratio", {"control": 4}),
        ("fairness_ratio", None),
        ("fairness_ratio", {"control": 4, "high": 2, "normal": 0}),
    ],
)
def test_a_bad_value_is_named(setting: str, value: Any) -> None:
    with pytest.raises(ConfigError, match=setting):
        SchedulerConfig(**{setting: value})


def test_a_shutdown_may_have_no_patience_at_all() -> None:
    assert SchedulerConfig(shutdown_timeout_s=0).shutdown_timeout_s == 0


def test_everything_that_is_wrong_is_said_at_once() -> None:
    with pytest.raises(ConfigError) as caught:
        SchedulerConfig(tick_interval_ms=0, max_batch_per_node=0, idle_sleep_ms=-5)
    assert all(
        name in str(caught.value) for name in ("tick_interval_ms", "max_batch_per_node", "idle_sleep_ms")
    )


@pytest.mark.parametrize(("above", "below"), [("control", "high"), ("high", "normal")])
def test_a_band_with_more_weight_than_the_one_above_it_is_refused_naming_both(above: str, below: str) -> None:
    ratio = (
        {"control": 3, "high": 3, "normal": 3, above: 2}
        if above == "high"
        else {"control": 2, "high": 3, "normal": 1}
    )
    with pytest.raises(ConfigError, match=rf"fairness_ratio\[{above}\].*fairness_ratio\[{below}\]"):
        SchedulerConfig(fairness_ratio=ratio)
