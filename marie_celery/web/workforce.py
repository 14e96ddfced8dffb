"""Executors, their slots, and the tenants that share them."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

from fastapi import FastAPI
from pydantic import BaseModel, ConfigDict, Field

from marie_celery.capacity import look, report
from marie_celery.extension import Marie
from marie_celery.web.survey import survey
from marie_celery.web.views import BY, ok


class Target(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    target: Annotated[int, Field(ge=0, le=1_000_000)] | None
    """None = what its workers report."""


def add_workforce(app: FastAPI, marie: Marie) -> None:
    store = marie.store

    @app.get("/api/capacity")
    def capacity() -> dict[str, Any]:
        """Slots by executor."""
        return report(look(store))

    @app.get("/api/executors")
    def executors() -> dict[str, Any]:
        """What waits for each executor, and who serves it."""
        return ok({"executors": [each.as_json() for each in survey(store)]})

    @app.get("/api/tenants")
    def tenants() -> dict[str, Any]:
        """How tenants share executors."""
        return ok({"weights": store.weights(), "shares": [asdict(share) for share in store.shares()]})

    @app.post("/api/executors/{name:path}/pause")
    def pause(name: str) -> dict[str, Any]:
        """Start nothing more of it; what runs is finished."""
        marie.operations.pause("executor", name, by=BY)
        return ok({"name": name, "paused": True})

    @app.post("/api/executors/{name:path}/resume")
    def resume(name: str) -> dict[str, Any]:
        """Go on with it."""
        marie.operations.resume("executor", name, by=BY)
        return ok({"name": name, "paused": False})

    @app.post("/api/executors/{name:path}/target")
    def target(name: str, given: Target) -> dict[str, Any]:
        """How many slots it has, whatever its workers report."""
        marie.operations.set_target(name, given.target)
        return ok({"name": name, "target": given.target})
