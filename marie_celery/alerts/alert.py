"""What there is to tell."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Self

from marie_celery.store.records import RunView


@dataclass(frozen=True, slots=True)
class Alert:
    kind: str
    """sla.soft_missed or sla.hard_missed"""
    run: str
    at: int
    """When it was noticed. Times are milliseconds since the epoch."""
    dag: str = ""
    state: str = ""
    priority: int | None = None
    soft_sla: int | None = None
    hard_sla: int | None = None
    key: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def parse(cls, text: str) -> Self:
        """As the list in Redis has it. Raises ValueError."""
        try:
            given = json.loads(text)
            return cls(str(given["kind"]), str(given["run"]), int(given["at"]))
        except (KeyError, TypeError) as error:
            raise ValueError(f"{text!r} is no alert: {error!r}") from None

    def about(self, run: RunView) -> Alert:
        """The same with what is known of the run."""
        return Alert(
            kind=self.kind,
            run=self.run,
            at=self.at,
            dag=run.dag,
            state=run.state.value,
            priority=run.priority,
            soft_sla=run.soft_ms,
            hard_sla=run.hard_ms,
            key=run.key,
            labels=dict(run.labels),
        )

    @property
    def text(self) -> str:
        """One line for people."""
        what = {"sla.soft_missed": "has missed its soft SLA", "sla.hard_missed": "has missed its hard SLA"}
        dag = f" of dag '{self.dag}'" if self.dag else ""
        return f"run {self.run}{dag} {what.get(self.kind, self.kind)}"

    def payload(self) -> dict[str, Any]:
        """For webhooks. `text` is what chat services show."""
        return {**asdict(self), "text": self.text}
