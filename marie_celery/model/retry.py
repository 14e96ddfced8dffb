"""Retry policies: how often, and how long to wait."""

from __future__ import annotations

from enum import StrEnum

from pydantic import BaseModel, ConfigDict, Field


class Backoff(StrEnum):
    EXPONENTIAL_BACKOFF = "EXPONENTIAL_BACKOFF"
    FIXED_BACKOFF = "FIXED_BACKOFF"


class FailureKind(StrEnum):
    """Each kind has a counter and a limit of its own."""

    FAILURE = "failure"
    TIMEOUT = "timeout"
    CRASH = "crash"


MAX_EXPONENT = 16


class RetryPolicy(BaseModel):
    """Resolved from job, task, executor and default, in this order."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    retry_limit: int = Field(2, ge=0)
    retry_delay: float = Field(2.0, ge=0)
    retry_backoff: bool = True
    retry_max_delay: float = Field(3600.0, ge=0)
    retry_jitter: float = Field(0.0, ge=0, le=1)
    timeout_retry_limit: int = Field(3, ge=0)
    crash_limit: int = Field(3, ge=1)

    @property
    def backoff(self) -> Backoff:
        return Backoff.EXPONENTIAL_BACKOFF if self.retry_backoff else Backoff.FIXED_BACKOFF

    def allows(self, kind: FailureKind, count: int) -> bool:
        """May a job run again after its `count`-th failure of this kind?"""
        match kind:
            case FailureKind.FAILURE:
                return count <= self.retry_limit
            case FailureKind.TIMEOUT:
                return count <= self.timeout_retry_limit
            case FailureKind.CRASH:
                return count < self.crash_limit

    def delay(self, count: int, roll: float = 0.0) -> float:
        """Seconds to wait before retry number `count` (1 is the first); `roll` in 0–1 decides the jitter."""
        delay = self.retry_delay
        if self.retry_backoff:
            delay *= 2 ** min(count - 1, MAX_EXPONENT)
        return min(delay, self.retry_max_delay) * (1 - self.retry_jitter * roll)
