"""One frozen, validated settings object.

Each setting has one name in four places: a default here, `<name>` in `config/marie.yml`, `marie_<name>` in
`app.conf`, `MARIE_<NAME>` in the environment. The later wins over the earlier.
"""

from __future__ import annotations

import difflib
import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from marie_celery.errors import ConfigError
from marie_celery.model.durations import parse_duration
from marie_celery.model.priority import PriorityMode, parse_priority
from marie_celery.model.retry import RetryPolicy
from marie_celery.model.sla import OnHardSla
from marie_celery.planning.settings import LevelMode, PlanningSettings
from marie_celery.planning.tenants import TENANT_NAME
from marie_celery.resources import MAX_SKIPS, OnShortage, ResourceName, ResourceSettings

TenantName = Annotated[str, Field(pattern=TENANT_NAME)]

DEFAULT_FILE = Path("config/marie.yml")


class ExecutorSettings(BaseModel):
    """What can be said about one executor. Unset fields fall back to the general defaults."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    queue: str | None = None
    target: int | None = Field(None, ge=0)
    on_shortage: OnShortage | None = None
    retry_limit: int | None = Field(None, ge=0)
    retry_delay: float | None = Field(None, ge=0)
    retry_backoff: bool | None = None
    time_limit: float | None = Field(None, gt=0)
    soft_time_limit: float | None = Field(None, gt=0)


class Settings(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    redis_url: str | None = None
    redis_wait_seconds: float = Field(2.5, ge=0)
    namespace: str = Field("marie", pattern=r"^[A-Za-z0-9_.-]+$")
    distributed_scheduler: bool = True
    lease_ttl_seconds: float = Field(5.0, gt=0)
    run_ttl_seconds: float = Field(60.0, gt=0)
    staging_ttl_seconds: float = Field(30.0, gt=0)
    relay_seconds: float = Field(1.0, ge=0)
    look_seconds: float = Field(0.0003, ge=0, le=0.01)
    planner: str = "global"
    planners: tuple[str, ...] = ()
    priority_mode: PriorityMode = PriorityMode.SLA_FIRST
    level_mode: LevelMode = LevelMode.DEPTH
    starvation_timeout: float = Field(1800.0, ge=0)
    burst_window: float = Field(10.0, ge=0)
    slack_patience: float = Field(43_200.0, ge=0)
    new_dag_share: float = Field(0.3, ge=0, le=1)
    max_active_dags: int = Field(0, ge=0)
    max_concurrency: int = Field(0, ge=0)
    on_shortage: OnShortage = OnShortage.HOLD
    max_skips: int = Field(MAX_SKIPS, ge=0)
    default_priority: int = 50
    on_hard_sla: OnHardSla = OnHardSla.ESCALATE
    max_result_bytes: int = Field(1_048_576, gt=0)
    payload_store: str | None = None
    compress_above: int | None = Field(None, ge=0)
    encrypt: str | None = None
    decrypt: str | None = None
    max_map_length: int = Field(10_000, gt=0)
    alert_webhook: str | None = None
    alert_allow_private: bool = False
    max_events: int = Field(100_000, gt=0)
    retention: float = Field(1_209_600.0, ge=0)
    archive: str | None = None
    retry: RetryPolicy = RetryPolicy()
    executors: dict[str, ExecutorSettings] = Field(default_factory=dict)
    tenants: dict[TenantName, Annotated[float, Field(ge=0.001, le=1_000_000)]] = Field(default_factory=dict)
    resources: dict[ResourceName, ResourceSettings] = Field(default_factory=dict)
    scheduler_enabled: bool = False
    scheduler_max_concurrency: int = Field(16, ge=1)
    scheduler_starvation_timeout: float = Field(30.0, ge=0)

    @field_validator("scheduler_starvation_timeout", mode="before")
    @classmethod
    def _span_of_time(cls, value: Any) -> Any:
        if isinstance(value, str) and not value.replace(".", "", 1).isdecimal():
            return parse_duration(value, "scheduler_starvation_timeout") / 1000
        return value

    @field_validator("default_priority", mode="before")
    @classmethod
    def _named_priority(cls, value: Any) -> int:
        return parse_priority(value)

    @model_validator(mode="after")
    def _leases_in_order(self) -> Settings:
        if self.lease_ttl_seconds > self.run_ttl_seconds:
            raise ValueError(
                f"lease_ttl_seconds ({self.lease_ttl_seconds}) must not exceed "
                f"run_ttl_seconds ({self.run_ttl_seconds})"
            )
        return self

    @model_validator(mode="after")
    def _both_ways(self) -> Settings:
        if bool(self.encrypt) != bool(self.decrypt):
            raise ValueError("encrypt and decrypt must be set together, each as module:function")
        return self

    @property
    def heartbeat_seconds(self) -> float:
        """Three chances to renew before the shorter lease ends."""
        return self.lease_ttl_seconds / 3

    @property
    def planning(self) -> PlanningSettings:
        """The knobs that all planners share."""
        return PlanningSettings(
            priority_mode=self.priority_mode,
            level_mode=self.level_mode,
            starvation_timeout_ms=round(self.starvation_timeout * 1000),
            burst_window_ms=round(self.burst_window * 1000),
            slack_patience_ms=round(self.slack_patience * 1000),
        )

    def queue_of(self, executor: str) -> str:
        settings = self.executors.get(executor)
        return (settings.queue if settings else None) or executor

    def retry_policy(self, executor: str, overrides: Mapping[str, Any]) -> RetryPolicy:
        """Job and task overrides over the executor's, over the default."""
        settings = self.executors.get(executor)
        given = settings.model_dump(exclude_none=True) if settings else {}
        values = self.retry.model_dump()
        values.update({name: value for name, value in given.items() if name in RetryPolicy.model_fields})
        values.update({name: value for name, value in overrides.items() if value is not None})
        return RetryPolicy(**values)


def load_settings(
    conf: Mapping[str, Any] | None = None,
    *,
    environ: Mapping[str, str] = os.environ,
    file: Path | None = None,
) -> Settings:
    """Read and check all sources; one ConfigError names everything that is wrong."""
    values = _from_file(file or _file_from(environ))
    values.update(_from_conf(conf or {}))
    values.update(_from_environment(environ))
    try:
        return Settings(**values)
    except ValidationError as error:
        raise ConfigError(_explain(error)) from None


def _file_from(environ: Mapping[str, str]) -> Path:
    named = environ.get("MARIE_CONFIG")
    if named and not Path(named).is_file():
        raise ConfigError(f"MARIE_CONFIG names '{named}', which is not a file")
    return Path(named) if named else DEFAULT_FILE


def _from_file(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    try:
        content = yaml.safe_load(path.read_text()) or {}
    except yaml.YAMLError as error:
        raise ConfigError(f"{path} is not valid YAML: {error}") from None
    if not isinstance(content, dict):
        raise ConfigError(f"{path} must hold a mapping of settings")
    return content


def _from_conf(conf: Mapping[str, Any]) -> dict[str, Any]:
    """Celery lists a key as it was written (`CELERY_MARIE_NAMESPACE` with a name space, `marie_namespace`
    without) and finds either under the short name."""
    values: dict[str, Any] = {}
    for key in conf:
        _, marie, name = key.lower().partition("marie_")
        with suppress(KeyError):  # some other application's key that merely contains our name
            if marie:
                values[name] = conf[f"marie_{name}"]
    return values


def _from_environment(environ: Mapping[str, str]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name in Settings.model_fields:
        text = environ.get(f"MARIE_{name.upper()}")
        if text is None:
            continue
        values[name] = text
        if text[:1] in ("{", "["):
            try:
                values[name] = json.loads(text)
            except json.JSONDecodeError as error:
                raise ConfigError(f"MARIE_{name.upper()} is not valid JSON: {error}") from None
    return values


def _explain(error: ValidationError) -> str:
    problems = []
    for item in error.errors():
        name = ".".join(str(part) for part in item["loc"])
        if item["type"] == "extra_forbidden":
            close = difflib.get_close_matches(name, Settings.model_fields, n=1)
            problems.append(f"unknown setting '{name}'" + (f" (did you mean '{close[0]}'?)" if close else ""))
        else:
            text = item["msg"].removeprefix("Value error, ")
            problems.append(f"{name}: {text}" if name else text)
    return "; ".join(problems)
