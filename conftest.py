"""Our own tests use what users get."""

pytest_plugins = ["marie_celery.testing", "pytester"]
