"""Errors of the cooperative runtime.

MarieError
└── FlowError
    ├── GraphError (ValueError)       the graph cannot run; .problems lists all of it, with codes
    ├── UnknownEdge (ValueError)      no edge has this id
    ├── BadSetting (ValueError)       a capacity or a priority outside its range
    ├── UnknownPort (LookupError)     no such port on this node
    ├── PortTypeError (TypeError)     a payload that breaks a port's contract
    ├── EmitRefused (RuntimeError)    emit outside of a callback
    ├── NotAccepting (RuntimeError)   inject after shutdown
    ├── AlreadyStarted (RuntimeError) a scheduler runs once
    └── NodeFailed (RuntimeError)     a node with the policy `stop` raised; ended the run
"""

# ruff: noqa: N818 — the names say what happened, like those in marie_celery.errors

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from marie_celery.errors import MarieError

if TYPE_CHECKING:
    from marie_celery.flow.problems import Problem
    from marie_celery.flow.stats import Report


class FlowError(MarieError):
    """Root of the runtime's own errors."""


class GraphError(FlowError, ValueError):
    """Every problem of a refused graph, in one error."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        lines = "".join(f"\n  - {problem}" for problem in self.problems)
        super().__init__(f"the graph was refused, {len(self.problems)} problem(s):{lines}")


class UnknownEdge(FlowError, ValueError):
    def __init__(self, edge_id: str) -> None:
        self.edge_id = edge_id
        super().__init__(f"there is no edge '{edge_id}'")


class BadSetting(FlowError, ValueError):
    def __init__(self, edge_id: str, setting: str, value: object, rule: str) -> None:
        self.edge_id = edge_id
        self.setting = setting
        self.value = value
        super().__init__(f"{setting} of edge '{edge_id}' {rule}, not {value!r}")


class UnknownPort(FlowError, LookupError):
    def __init__(self, node: str, port: str) -> None:
        self.node = node
        self.port = port
        super().__init__(f"there is no such port: '{node}:{port}'")


class PortTypeError(FlowError, TypeError):
    def __init__(self, port: str, expected: str, payload: object) -> None:
        self.port = port
        self.expected = expected
        self.actual = type(payload).__name__
        super().__init__(f"port '{port}' carries {expected}, not {self.actual}")


class EmitRefused(FlowError, RuntimeError):
    def __init__(self, node: str) -> None:
        self.node = node
        super().__init__(
            f"node '{node}' may emit only inside on_start, on_message or on_tick; "
            "from elsewhere use Scheduler.inject"
        )


class NotAccepting(FlowError, RuntimeError):
    def __init__(self, edge_id: str) -> None:
        self.edge_id = edge_id
        super().__init__(f"edge '{edge_id}' takes no more messages: the scheduler is shutting down")


class AlreadyStarted(FlowError, RuntimeError):
    def __init__(self, attempt: str) -> None:
        super().__init__(f"cannot {attempt}: this scheduler has already started")


class NodeFailed(FlowError, RuntimeError):
    """The exception of the node is the `__cause__`; what the stop left behind is in `report`."""

    def __init__(self, node: str, hook: str, error: Exception) -> None:
        self.node = node
        self.hook = hook
        self.error = error
        self.report: Report | None = None
        super().__init__(f"node '{node}' failed in {hook}: {error!r}")
