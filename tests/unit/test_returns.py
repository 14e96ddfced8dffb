"""What a run returned: for who submitted it, for who knows its id, and when it is gone; on a server of its own."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from typing import Any

import pytest
from celery import Celery

from marie_celery import Marie
from marie_celery.authoring.dag import Dag
from marie_celery.embedded import EmbeddedServer
from marie_celery.errors import UnknownRun
from marie_celery.model.states import RunState
from marie_celery.run import Run


@pytest.fixture(scope="module")
def calendar() -> Iterator[Dag[[], Any]]:
    with EmbeddedServer() as server:
        app = Celery("returns", broker=server.url, set_as_current=False)
        marie = Marie(app)

        @marie.task(executor="main", name="day")
        def day(text: str) -> date: ...

        @marie.task(executor="main", name="number")
        def number() -> int: ...

        @marie.dag(name="calendar")
        def calendar() -> Any:
            return {"first": day("a"), "all": day.map(["b", "c"]), "numbers": [number(), number()], "said": "so"}

        app.finalize()
        yield calendar
        marie.store.client.close()


@pytest.fixture
def run(calendar: Dag[[], Any]) -> Run:
    """One that has completed, with results as JSON has carried them."""
    submitted = calendar.submit()
    end(submitted, '"2026-01-02"', '["2026-01-03",null]', "3", "4")
    return submitted


def end(run: Run, *results: str) -> None:
    store = run.marie.store
    store.client.hset(store.keys.results(run.id), mapping=dict(enumerate(results)))
    store.client.hset(store.keys.run(run.id), "state", "completed")
    store.client.rpush(store.keys.done(run.id), "completed")


EXPECTED = {"first": date(2026, 1, 2), "all": [date(2026, 1, 3), None], "numbers": [3, 4], "said": "so"}


def test_who_submitted_a_run_and_who_knows_its_id_get_the_same(run: Run) -> None:
    assert run.result(timeout=5) == EXPECTED
    assert run.marie.run(run.id).result(timeout=5) == EXPECTED


def test_of_a_run_that_has_ended_only_the_end_and_the_results_are_read(run: Run) -> None:
    client = run.marie.store.client
    run.result(timeout=5)
    before = client.info("stats")["total_commands_processed"]
    run.result(timeout=5)
    state, end, results, info = range(4)
    assert client.info("stats")["total_commands_processed"] - before == len((state, end, results, info))


def test_a_run_that_has_ended_is_not_waited_for(run: Run) -> None:
    assert run.wait(timeout=0) is RunState.COMPLETED


def test_a_run_that_is_gone_is_unknown(run: Run) -> None:
    store = run.marie.store
    store.client.delete(store.keys.results(run.id), store.keys.run(run.id))
    with pytest.raises(UnknownRun):
        run._result(RunState.COMPLETED)
    with pytest.raises(UnknownRun):
        run.wait(timeout=5)


def test_what_was_not_there_to_return_is_none(run: Run) -> None:
    store = run.marie.store
    store.client.hdel(store.keys.results(run.id), "2")
    assert run.result(timeout=5) == {**EXPECTED, "numbers": [None, 4]}
