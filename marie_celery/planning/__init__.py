"""Which job is next: planners, sort keys, ranks, runtime estimates. No I/O, no clock, no randomness."""

from marie_celery.planning.estimates import RuntimeEstimate
from marie_celery.planning.global_priority import GlobalPriorityExecutionPlanner
from marie_celery.planning.hrrn import HRRNExecutionPlanner
from marie_celery.planning.job import FlatJob
from marie_celery.planning.planner import ExecutionPlanner, KeyedPlanner
from marie_celery.planning.ranking import Rank
from marie_celery.planning.registry import PLANNERS, planner
from marie_celery.planning.settings import LevelMode, PlanningSettings
from marie_celery.planning.sjfs import SJFSExecutionPlanner
from marie_celery.planning.slack import SlackExecutionPlanner
from marie_celery.planning.tours import FairToursPlanner

__all__ = [
    "PLANNERS",
    "ExecutionPlanner",
    "FairToursPlanner",
    "FlatJob",
    "GlobalPriorityExecutionPlanner",
    "HRRNExecutionPlanner",
    "KeyedPlanner",
    "LevelMode",
    "PlanningSettings",
    "Rank",
    "RuntimeEstimate",
    "SJFSExecutionPlanner",
    "SlackExecutionPlanner",
    "planner",
]
