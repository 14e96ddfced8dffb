"""Makes the jobs of maps whose lists are known."""

from __future__ import annotations

from typing import Any

from marie_celery.authoring.instances import InnerGraph
from marie_celery.authoring.mapping import items_of, values_of
from marie_celery.errors import MapError, MarieError
from marie_celery.payloads import Payloads
from marie_celery.scheduler.services import Timed
from marie_celery.store.expanding import MapClaim
from marie_celery.store.records import NewJob
from marie_celery.store.store import Store

MAPS_PER_TURN = 20


def expander(store: Store) -> Timed:
    def step() -> tuple[int, float | None]:
        claim, next_seconds = store.claim_map()
        if claim is None:
            return 0, next_seconds
        try:
            _expand(store, claim)
        except MarieError as error:
            store.refuse_map(claim, {"type": type(error).__name__, "message": str(error)})
        return 1, next_seconds

    return Timed("expander", step, batches=MAPS_PER_TURN)


def _expand(store: Store, claim: MapClaim) -> None:
    """All that can be wrong with the lists shows before the first job is made."""
    most = store.settings.max_map_length
    payloads = Payloads.of(store)

    def result_of(number: int) -> Any:
        text = claim.lists[number]
        return None if text is None else payloads.loads(text)

    try:
        if not claim.graph:
            items = items_of(claim.inputs, result_of, claim.batch, most)
            store.expand(claim, items)
            return
        values = values_of(claim.inputs, result_of, most)
    except MapError:
        raise
    except (LookupError, TypeError, ValueError) as error:
        raise MapError(f"what the map takes its items from is not there: {error!r}") from error
    inner = InnerGraph(claim.graph)

    def graph(item: int, first: int) -> list[NewJob]:
        return inner.instance(first, f"{claim.name}[{item}]", values[item])

    store.expand_graphs(claim, len(values), len(inner), graph)
