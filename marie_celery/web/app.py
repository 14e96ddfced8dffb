"""The API: what is there, and the few changes that an operator or an autoscaler needs."""

from __future__ import annotations

import html
import logging
from dataclasses import asdict
from typing import Annotated, Any

import redis
from fastapi import FastAPI, Query, Response
from fastapi.responses import HTMLResponse
from fastapi.routing import APIRoute

from marie_celery.extension import Marie
from marie_celery.web import health, metrics, problems, views
from marie_celery.web.guard import Guard, Guarded
from marie_celery.web.resources import add_resources
from marie_celery.web.views import ok
from marie_celery.web.workforce import add_workforce

log = logging.getLogger(__name__)


def create_app(marie: Marie, guard: Guard | None = None) -> FastAPI:
    app = FastAPI(title="marie", docs_url=None, redoc_url=None, openapi_url=None)
    problems.install(app, marie.url)
    app.add_middleware(Guarded, guard=guard or Guard())
    store = marie.store  # one for all threads, made before there are any
    add_workforce(app, marie)
    _add_reading(app, marie)
    add_resources(app, marie)

    @app.get("/", response_class=HTMLResponse)
    def index() -> str:
        return _index(app)

    @app.api_route("/healthz", methods=["GET", "HEAD"], response_model=None)
    def healthz() -> Response | dict[str, str]:
        """Redis runs our scripts and takes our writes."""
        try:
            health.check(store)
        except redis.RedisError as error:
            log.warning("not healthy: %s", error)
            # Anybody may ask this: where Redis is, is not for everybody.
            return problems.problem(503, f"Redis does not serve: {type(error).__name__}")
        return {"status": "OK"}

    @app.get("/metrics")
    def prometheus() -> Response:
        """For Prometheus."""
        return Response(metrics.exposition(store), media_type=metrics.CONTENT_TYPE)

    return app


def _add_reading(app: FastAPI, marie: Marie) -> None:
    store = marie.store

    @app.get("/api/runs")
    def runs(limit: Annotated[int, Query(ge=1, le=500)] = 50) -> dict[str, Any]:
        """The newest runs first."""
        return ok({"runs": [views.run_as_json(run) for run in marie.reader.runs(limit)]})

    @app.get("/api/runs/{run_id}")
    def run(run_id: str, limit: Annotated[int, Query(ge=0, le=1000)] = 100) -> dict[str, Any]:
        """One run and its first jobs."""
        return ok(views.run_with_jobs(marie.reader, run_id, limit))

    @app.get("/api/why/{id}")
    def why(id: str) -> dict[str, Any]:
        """Why a job does not run, or what a run waits for."""
        return ok(asdict(marie.why(id)))

    @app.get("/api/planner")
    def planner() -> dict[str, Any]:
        """The planner in force."""
        return ok(store.policy())

    @app.get("/api/schedulers")
    def schedulers() -> dict[str, Any]:
        """The schedulers at work, each with its graph."""
        return ok({"schedulers": views.schedulers(store)})


def _index(app: FastAPI) -> str:
    rows = "".join(
        f"<li><code>{html.escape(', '.join(sorted(route.methods or ())))} {html.escape(route.path_format)}</code> "
        f"{html.escape(route.description)}</li>"
        for route in app.routes
        if isinstance(route, APIRoute) and route.path != "/"
    )
    return f"<!doctype html><html lang='en'><meta charset='utf-8'><title>marie</title><ul>{rows}</ul></html>"
