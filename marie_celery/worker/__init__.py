"""What runs inside Celery workers: the task class, the request class, the heartbeat, `current_job`."""
