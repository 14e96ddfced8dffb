"""REST API and metrics. Needs the extra `web`."""

try:
    import fastapi  # noqa: F401
    import prometheus_client  # noqa: F401
    import uvicorn  # noqa: F401
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f"marie_celery.web needs '{error.name}': pip install 'marie-celery[web]'", name=error.name
    ) from None

from marie_celery.web.app import create_app
from marie_celery.web.guard import Guard
from marie_celery.web.serving import Address, serve

__all__ = ["Address", "Guard", "create_app", "serve"]
