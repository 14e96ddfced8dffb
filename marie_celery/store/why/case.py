"""One job, and what was seen of all that could hold it up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from marie_celery.store.keys import attempt_id, lane_of
from marie_celery.store.why.snapshot import ExecutorFacts, JobFacts, Snapshot


@dataclass(frozen=True, slots=True)
class Case:
    snapshot: Snapshot
    job: JobFacts
    parents: Sequence[JobFacts] = ()
    """Some that have not ended."""

    @property
    def executor(self) -> ExecutorFacts:
        fields = self.job.fields
        return self.snapshot.executors[lane_of(fields["executor"], fields.get("tenant", ""))]

    @property
    def attempt(self) -> dict[str, Any]:
        token = self.job.number("token")
        name = attempt_id(self.job.job_id, token) if token else None
        return {"attempt": name, "worker": self.job.fields.get("worker", "")}
