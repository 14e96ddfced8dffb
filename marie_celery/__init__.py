"""Runs DAGs by deadline on Celery workers."""

from marie_celery.authoring.control import branch, choose, merge, switch
from marie_celery.authoring.dag import dag
from marie_celery.authoring.options import Duplicates
from marie_celery.authoring.reference import optional
from marie_celery.authoring.task import task
from marie_celery.errors import (
    ConfigError,
    DagError,
    DuplicateRun,
    MarieError,
    PayloadError,
    QueueFull,
    RetryAfter,
    RunFailed,
    ServerError,
    Skip,
    UnknownJob,
    UnknownRun,
    Wait,
)
from marie_celery.extension import Marie
from marie_celery.local.run import LocalRun
from marie_celery.local.scheduler import GlobalScheduler
from marie_celery.model.joins import JoinRule
from marie_celery.model.retry import RetryPolicy
from marie_celery.model.states import RunState, WorkState
from marie_celery.run import Run
from marie_celery.worker.current import CurrentJob, current_job

__all__ = [
    "ConfigError",
    "CurrentJob",
    "DagError",
    "DuplicateRun",
    "Duplicates",
    "GlobalScheduler",
    "JoinRule",
    "LocalRun",
    "Marie",
    "MarieError",
    "PayloadError",
    "QueueFull",
    "RetryAfter",
    "RetryPolicy",
    "Run",
    "RunFailed",
    "RunState",
    "ServerError",
    "Skip",
    "UnknownJob",
    "UnknownRun",
    "Wait",
    "WorkState",
    "branch",
    "choose",
    "current_job",
    "dag",
    "merge",
    "optional",
    "switch",
    "task",
]
