"""Resources: looking at them, and changing their size."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import FastAPI, Query
from pydantic import BaseModel, ConfigDict, Field

from marie_celery.extension import Marie
from marie_celery.resources import Delta
from marie_celery.resources.rate import gain_of
from marie_celery.resources.settings import MOST, measures
from marie_celery.web.views import BY, ok


class Change(BaseModel):
    """A difference, as for `marie resize`."""

    model_config = ConfigDict(extra="forbid")

    by: Annotated[int, Field(ge=-MOST, le=MOST, strict=True)] = 0
    rate: Annotated[float, Field(ge=-MOST, le=MOST)] = 0.0
    add: tuple[str, ...] = ()
    remove: tuple[str, ...] = ()

    @property
    def delta(self) -> Delta:
        return Delta(self.by, gain_of(self.rate), self.add, self.remove)


def add_resources(app: FastAPI, marie: Marie) -> None:
    store = marie.store

    @app.get("/api/resources")
    def resources() -> dict[str, Any]:
        """What jobs share beside slots."""
        return ok({"resources": [stock.as_json() for stock in store.stock()]})

    @app.get("/api/resources/{name}")
    def resource(name: str, limit: Annotated[int, Query(ge=0, le=1000)] = 100) -> dict[str, Any]:
        """One of them, with who has it and who waits for it."""
        (stock,) = store.stock(name, limit)
        return ok(stock.details_as_json())

    @app.post("/api/resources/{name}/resize")
    def resize(name: str, change: Change) -> dict[str, Any]:
        """Change its size by a difference."""
        done = marie.operations.resize(name, change.delta, BY)
        return ok({"name": name, "before": measures(done.before), "after": measures(done.after)})
