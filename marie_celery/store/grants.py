"""Managers of the user's own: what they have to decide, and what they decided."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from marie_celery.resources import Request
from marie_celery.resources.own import Applicant, Decision
from marie_celery.store.caller import Caller
from marie_celery.store.codes import Code

APPLICANTS = 100


@dataclass(frozen=True, slots=True)
class Claims:
    """What is to be decided about one resource."""

    now_ms: int
    version: int
    state: Mapping[str, Any] | None
    """None = nobody has asked its manager yet."""
    returned: Sequence[str]
    forgotten: Sequence[str]
    """Grants of jobs that no longer wait."""
    applicants: Sequence[Applicant]


class Granting(Caller):
    def claims(self, resource: str) -> Claims:
        now_ms, version, state, returned, forgotten, line = self.call("claims", resource, APPLICANTS)
        return Claims(
            now_ms,
            version,
            json.loads(state) if state else None,
            returned,
            forgotten,
            [_applicant(resource, *row) for row in line],
        )

    def grant(self, resource: str, claims: Claims, decision: Decision) -> int | None:
        """Put a decision into force; how many may go. None if another scheduler was first: nothing was done."""
        retry = "" if decision.retry_at_ms is None else decision.retry_at_ms
        arguments: list[object] = [json.dumps(decision.state), len(claims.returned), retry]
        arguments += [decision.passed, decision.passes, len(claims.forgotten), *claims.forgotten, len(decision.grants)]
        for holder, items in decision.grants.items():
            arguments += [holder, ",".join(items)]
        code, *went = self.call("grant", resource, claims.version, *arguments)
        return None if code == Code.STALE else int(went[0])


def _applicant(resource: str, attempt: str, needs: str, skips: int, mode: str) -> Applicant:
    ((amount, key),) = [(amount, key) for name, amount, key in json.loads(needs) if name == resource]
    return Applicant(attempt, Request(int(amount), key), mode == "skip", int(skips))
