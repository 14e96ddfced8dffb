"""Cron: dags that are submitted by the calendar."""

from marie_celery.schedules.registry import schedule
from marie_celery.schedules.schedule import Catchup, Overlap, Schedule

__all__ = ["Catchup", "Overlap", "Schedule", "schedule"]
