"""Celery's own settings: `app.config_from_object("config.celeryconfig")`.

Nothing here is required by marie_celery; these are the values that suit it.
"""

import os

broker_url = os.environ.get("CELERY_BROKER_URL", "redis://localhost:6379/0")
broker_connection_retry_on_startup = True

# Pickle would let whoever can write to Redis run code in the workers.
accept_content = ["json"]
task_serializer = "json"
result_serializer = "json"

# A booked job should start at once, so a worker takes no more messages than it has processes.
worker_prefetch_multiplier = 1

# Events feed Flower.
worker_send_task_events = True
task_send_sent_event = True

timezone = "UTC"
enable_utc = True
