"""Join rules: when a job whose parents end one by one may run, must be skipped, or still waits."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class JoinRule(StrEnum):
    ALL_SUCCESS = "all_success"
    ALL_DONE = "all_done"
    ONE_SUCCESS = "one_success"
    NONE_FAILED = "none_failed"
    ONE_FAILED = "one_failed"


class Verdict(StrEnum):
    WAIT = "wait"
    RUN = "run"
    SKIP = "skip"
    UPSTREAM_FAILED = "upstream_failed"


@dataclass(frozen=True, slots=True)
class Parents:
    """How a job's parents have ended so far. Failed includes cancelled, expired and upstream_failed."""

    total: int
    left: int
    skipped: int = 0
    failed: int = 0

    @property
    def completed(self) -> int:
        return self.total - self.left - self.skipped - self.failed


def verdict(rule: JoinRule, parents: Parents) -> Verdict:
    """Mirrored by `store/lua/include/join.lua`; a test compares both over all small cases."""
    done = parents.left == 0
    match rule:
        case JoinRule.ALL_SUCCESS:
            if parents.failed:
                return Verdict.UPSTREAM_FAILED
            if not done:
                return Verdict.WAIT
            all_skipped = parents.total > 0 and parents.skipped == parents.total
            return Verdict.SKIP if all_skipped else Verdict.RUN
        case JoinRule.NONE_FAILED:
            if parents.failed:
                return Verdict.UPSTREAM_FAILED
            return Verdict.RUN if done else Verdict.WAIT
        case JoinRule.ALL_DONE:
            return Verdict.RUN if done else Verdict.WAIT
        case JoinRule.ONE_SUCCESS:
            if parents.completed:
                return Verdict.RUN
            if not done:
                return Verdict.WAIT
            return Verdict.UPSTREAM_FAILED if parents.failed else Verdict.SKIP
        case JoinRule.ONE_FAILED:
            if parents.failed:
                return Verdict.RUN
            return Verdict.SKIP if done else Verdict.WAIT
