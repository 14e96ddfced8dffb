"""The Celery app. Start it with `celery -A workers …` or `marie -A workers …`."""

from __future__ import annotations

import os

from celery import Celery

from marie_celery import Marie

app = Celery("workers", broker=os.environ.get("CELERY_BROKER_URL", "redis://localhost:6379/0"))
app.conf.update(
    accept_content=["json"],
    broker_connection_retry_on_startup=True,
    include=["workers.pipelines"],
    worker_send_task_events=True,
)
marie = Marie(app)
