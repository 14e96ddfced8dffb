"""A cooperative runtime in one process: nodes, bounded edges, priority bands, backpressure.

It knows nothing of jobs, of Redis or of Celery. `Scheduler` runs what `Node` and `Subgraph` describe.
"""

from marie_celery.flow.bands import Band
from marie_celery.flow.config import SchedulerConfig
from marie_celery.flow.edge import Edge, EdgeCounts, EdgeFactory, EdgeListener
from marie_celery.flow.errors import (
    AlreadyStarted,
    BadSetting,
    EmitRefused,
    FlowError,
    GraphError,
    NodeFailed,
    NotAccepting,
    PortTypeError,
    UnknownEdge,
    UnknownPort,
)
from marie_celery.flow.memory import MemoryEdge
from marie_celery.flow.message import Failure, Kind, Lane, Message
from marie_celery.flow.metrics import Metrics
from marie_celery.flow.node import SKIP, STOP, ErrorPolicy, Node, retry
from marie_celery.flow.policy import BLOCK, DROP, LATEST, Policy, PutResult, coalesce
from marie_celery.flow.port import ERRORS_PORT, Port
from marie_celery.flow.problems import Code, Problem
from marie_celery.flow.scheduler import Scheduler
from marie_celery.flow.stats import EdgeStats, NodeStats, Report, Stats
from marie_celery.flow.subgraph import Subgraph
from marie_celery.flow.waiter import ClockWaiter, ThreadWaiter, Waiter

__all__ = [
    "BLOCK",
    "DROP",
    "ERRORS_PORT",
    "LATEST",
    "SKIP",
    "STOP",
    "AlreadyStarted",
    "BadSetting",
    "Band",
    "ClockWaiter",
    "Code",
    "Edge",
    "EdgeCounts",
    "EdgeFactory",
    "EdgeListener",
    "EdgeStats",
    "EmitRefused",
    "ErrorPolicy",
    "Failure",
    "FlowError",
    "GraphError",
    "Kind",
    "Lane",
    "MemoryEdge",
    "Message",
    "Metrics",
    "Node",
    "NodeFailed",
    "NodeStats",
    "NotAccepting",
    "Policy",
    "Port",
    "PortTypeError",
    "Problem",
    "PutResult",
    "Report",
    "Scheduler",
    "SchedulerConfig",
    "Stats",
    "Subgraph",
    "ThreadWaiter",
    "UnknownEdge",
    "UnknownPort",
    "Waiter",
    "coalesce",
    "retry",
]
