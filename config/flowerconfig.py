"""Flower: `celery -A workers flower --conf=config/flowerconfig.py`."""

address = "0.0.0.0"
port = 5555

# Attempts that Flower remembers; the history of runs is in Redis.
max_tasks = 10_000

# Flower can stop workers and revoke tasks: set user:password before the port is open to others.
# basic_auth = ["user:password"]
