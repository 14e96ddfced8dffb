"""Telling somebody that a run has missed an SLA: functions of the user's code, a webhook, and always the log."""

from marie_celery.alerts.alert import Alert
from marie_celery.alerts.callbacks import on_alert

__all__ = ["Alert", "on_alert"]
