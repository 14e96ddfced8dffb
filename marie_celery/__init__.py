"""Runs DAGs by deadline on Celery workers."""

from marie_celery.authoring.control import merge
from marie_celery.authoring.dag import dag
from marie_celery.authoring.options import Duplicates
from marie_celery.authoring.task import task
from marie_celery.errors import (
    ConfigError,
    DagError,
    DuplicateRun,
    MarieError,
    PayloadError,
    RetryAfter,
    RunFailed,
    ServerError,
    Skip,
    UnknownJob,
    UnknownRun,
)
from marie_celery.extension import Marie
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
    "JoinRule",
    "Marie",
    "MarieError",
    "PayloadError",
    "RetryAfter",
    "RetryPolicy",
    "Run",
    "RunFailed",
    "RunState",
    "ServerError",
    "Skip",
    "UnknownJob",
    "UnknownRun",
    "WorkState",
    "current_job",
    "dag",
    "merge",
    "task",
]
