"""The capacity report: the shape that programs rely on, the notes, and the picture."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from typing import Any

import fakeredis
import jsonschema
import pytest
from click.testing import CliRunner
from rich.console import Console

from marie_celery.capacity import ExecutorStatus, look, report
from marie_celery.cli.capacity import boxes, capacity, picture, watch_capacity
from marie_celery.clock import VirtualClock
from marie_celery.config import Settings
from marie_celery.store.records import ExecutorView
from marie_celery.store.store import Store
from tests.redis.redis_runs import EXECUTOR, NOW, WORKER, begin, dispatch, first_job, give_capacity


@pytest.fixture
def store() -> Iterator[Store]:
    with fakeredis.FakeRedis(server=fakeredis.FakeServer(), decode_responses=True) as client:
        yield Store(client, Settings(), now_ms=NOW)


def status(
    capacity: int = 4, used: int = 2, *, target: int | None = None, workers: dict[str, int] | None = None, **more: Any
) -> ExecutorStatus:
    holders = {f"job{number}.1": f"worker-{number}" for number in range(1, used + 1)}
    reported = {"worker-1": capacity} if workers is None else workers
    return ExecutorStatus(ExecutorView("extract", capacity, target, 0, holders, reported), used, **more)


def notes(store: Store) -> str:
    (slots,) = report(look(store))["result"]["slots"]
    return str(slots["notes"])


class TestTheShape:
    def test_is_exactly_the_documented_one(self) -> None:
        assert report([status()]) == {
            "status": "OK",
            "result": {
                "slots": [
                    {
                        "name": "extract",
                        "capacity": 4,
                        "target": 4,
                        "used": 2,
                        "available": 2,
                        "holders": ["worker-1", "worker-2"],
                        "notes": "",
                    }
                ],
                "totals": {"capacity": 4, "used": 2, "available": 2},
            },
        }

    @pytest.mark.parametrize(
        ("field", "kind"),
        {
            "name": str,
            "capacity": int,
            "target": int,
            "used": int,
            "available": int,
            "holders": list,
            "notes": str,
        }.items(),
    )
    def test_has_every_field_in_its_type_and_order(self, field: str, kind: type) -> None:
        (slots,) = report([status(target=3)])["result"]["slots"]
        assert list(slots) == ["name", "capacity", "target", "used", "available", "holders", "notes"]
        assert type(slots[field]) is kind

    def test_adds_up(self) -> None:
        answer = report([status(4, 2), status(2, 3), status(6, 0)])["result"]
        assert answer["totals"] == {"capacity": 12, "used": 5, "available": 8}, "nobody can have less than nothing"

    def test_of_nothing_is_empty(self) -> None:
        totals = {"capacity": 0, "used": 0, "available": 0}
        assert report([]) == {"status": "OK", "result": {"slots": [], "totals": totals}}


COUNT = {"type": "integer", "minimum": 0}


def exactly(**fields: Any) -> dict[str, Any]:
    """An object with these fields and no others."""
    return {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}


SCHEMA = exactly(
    status={"const": "OK"},
    result=exactly(
        slots={
            "type": "array",
            "items": exactly(
                name={"type": "string"},
                capacity=COUNT,
                target=COUNT,
                used=COUNT,
                available=COUNT,
                holders={"type": "array", "items": {"type": "string"}},
                notes={"type": "string"},
            ),
        },
        totals=exactly(capacity=COUNT, used=COUNT, available=COUNT),
    ),
)


class TestTheSchema:
    def test_holds_for_a_cluster_with_all_that_can_be_noted(self, store: Store) -> None:
        give_capacity(store, slots=1)
        begin(store, first_job(store))
        store.drain(WORKER)
        store.set_target("far", 3)
        store.hold("executor", "far")
        answer = json.loads(json.dumps(report(look(store))))
        jsonschema.Draft202012Validator(SCHEMA).validate(answer)
        assert {slots["notes"] for slots in answer["result"]["slots"]} == {
            "NO WORKERS, PAUSED, TARGET",
            "CLAMPED, NO WORKERS, DRAINING",
        }

    @pytest.mark.parametrize("field", ["name", "capacity", "target", "used", "available", "holders", "notes"])
    def test_would_notice_a_field_that_is_missing_or_too_much(self, field: str) -> None:
        answer = report([status()])
        (slots,) = answer["result"]["slots"]
        slots[f"{field}s"] = slots.pop(field)
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.Draft202012Validator(SCHEMA).validate(answer)


class TestALook:
    def test_names_the_workers_that_run_something(self, store: Store) -> None:
        give_capacity(store, slots=3)
        begin(store, first_job(store))
        begin(store, first_job(store))
        dispatch(store, first_job(store))
        (slots,) = report(look(store))["result"]["slots"]
        assert (slots["used"], slots["available"], slots["holders"]) == (3, 0, [WORKER]), "one has not been started yet"

    def test_notes_that_nobody_serves_an_executor(self, store: Store) -> None:
        first_job(store)
        assert notes(store) == "NO WORKERS"

    def test_notes_a_pause(self, store: Store) -> None:
        give_capacity(store)
        assert notes(store) == ""
        store.hold("executor", EXECUTOR)
        assert notes(store) == "PAUSED"
        store.let_go("executor", EXECUTOR)
        assert notes(store) == ""

    def test_notes_a_worker_that_finishes_what_it_has_and_takes_no_more(self, store: Store) -> None:
        give_capacity(store, slots=2)
        give_capacity(store, slots=2, worker="w2")
        begin(store, first_job(store))
        store.renew(WORKER, {"host": "h"}, {})
        (found,) = look(store)
        assert (found.view.capacity, found.used, found.draining) == (2, 1, (WORKER,))
        assert notes(store) == "DRAINING"
        store.leave(WORKER)
        assert notes(store) == ""

    def test_a_dead_worker_is_not_a_draining_one(self, store: Store) -> None:
        give_capacity(store)
        begin(store, first_job(store))
        store.now_ms = NOW + 30_000
        store.reap()
        (found,) = look(store)
        assert (found.used, found.draining) == (1, ())
        assert notes(store) == "CLAMPED, NO WORKERS"

    def test_one_that_dies_while_it_drains_is_not_draining_any_more(self, store: Store) -> None:
        give_capacity(store)
        begin(store, first_job(store))
        store.renew(WORKER, {"host": "h"}, {})
        assert notes(store) == "CLAMPED, NO WORKERS, DRAINING"
        store.now_ms = NOW + 30_000
        assert notes(store) == "CLAMPED, NO WORKERS"

    def test_notes_that_more_is_used_than_there_is(self, store: Store) -> None:
        give_capacity(store, slots=2)
        begin(store, first_job(store))
        begin(store, first_job(store))
        give_capacity(store, slots=1)
        (slots,) = report(look(store))["result"]["slots"]
        assert (slots["capacity"], slots["used"], slots["available"], slots["notes"]) == (1, 2, 0, "CLAMPED")

    def test_notes_a_target_only_where_it_is_not_what_the_workers_report(self, store: Store) -> None:
        give_capacity(store, slots=2)
        store.client.hset(store.keys.executor(EXECUTOR), "target", 2)
        assert notes(store) == ""
        store.client.hset(store.keys.executor(EXECUTOR), "target", 5)
        (slots,) = report(look(store))["result"]["slots"]
        assert (slots["capacity"], slots["target"], slots["notes"]) == (5, 5, "TARGET")

    def test_counts_every_slot_also_where_not_every_holder_is_listed(self, store: Store) -> None:
        give_capacity(store, slots=2_000)
        attempts = {f"{number:013x}-000000.1": NOW + 5_000 for number in range(1_500)}
        store.client.zadd(store.keys.slots(EXECUTOR), attempts)
        (found,) = look(store)
        assert (found.used, found.available) == (1_500, 500)

    def test_changes_nothing_where_there_is_nothing(self, store: Store) -> None:
        assert look(store) == []
        assert store.client.keys() == []


class TestThePicture:
    @pytest.mark.parametrize(
        ("capacity", "used", "drawn"),
        [
            (4, 2, "[■][■][□][□]"),
            (3, 0, "[□][□][□]"),
            (1, 2, "[■][■]"),
            (0, 0, ""),
            (40, 40, "[■]" * 40),
            (60, 1, "[■]" + "[□]" * 39 + " +20"),
            (60, 50, "[■]" * 40 + " +20"),
        ],
    )
    def test_has_a_box_for_each_slot_and_says_how_many_are_left_out(self, capacity: int, used: int, drawn: str) -> None:
        assert boxes(status(capacity, used)) == drawn

    def drawn(self, *executors: ExecutorStatus) -> str:
        screen = Console(file=io.StringIO(), width=200)
        screen.print(picture(list(executors)))
        assert isinstance(screen.file, io.StringIO)
        return screen.file.getvalue()

    def test_stands_beside_the_name_with_holders_and_notes(self) -> None:
        lines = self.drawn(status(is_paused=True)).splitlines()
        assert lines[1].split() == ["extract", "[■][■][□][□]", "2/4", "worker-1,", "worker-2", "PAUSED"]
        assert lines[2].split() == ["all", "2/4"]

    def test_of_nothing_says_so(self) -> None:
        assert "no executors yet" in self.drawn()

    def test_names_are_never_taken_for_markup(self) -> None:
        view = ExecutorView("[red]x", 0, None, 0, {}, {})
        assert "[red]x" in self.drawn(ExecutorStatus(view, 0))


class TestWatching:
    def screen(self, *, terminal: bool) -> Console:
        return Console(file=io.StringIO(), width=100, force_terminal=terminal, legacy_windows=False)

    @pytest.mark.parametrize("terminal", [True, False])
    def test_draws_as_often_as_asked_for_with_a_second_in_between(self, store: Store, terminal: bool) -> None:
        give_capacity(store, slots=2)
        clock, screen = VirtualClock(), self.screen(terminal=terminal)
        watch_capacity(store, screen, 3, clock)
        assert clock.monotonic() == 2.0
        assert isinstance(screen.file, io.StringIO)
        assert screen.file.getvalue().count("[□][□]") >= 3

    def test_shows_what_has_changed(self, store: Store) -> None:
        give_capacity(store, slots=2)
        screen, job = self.screen(terminal=False), first_job(store)

        class Begins(VirtualClock):
            def sleep(self, seconds: float) -> None:
                begin(store, job)

        watch_capacity(store, screen, 2, Begins())
        assert isinstance(screen.file, io.StringIO)
        text = screen.file.getvalue()
        assert text.index("[□][□]") < text.index("[■][□]")

    def test_ends_quietly_with_ctrl_c(self, store: Store) -> None:
        give_capacity(store)

        class Interrupted(VirtualClock):
            def sleep(self, seconds: float) -> None:
                raise KeyboardInterrupt

        screen = self.screen(terminal=False)
        watch_capacity(store, screen, None, Interrupted())
        assert isinstance(screen.file, io.StringIO)
        assert screen.file.getvalue().count(EXECUTOR) == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [(["--count", "2"], "needs --watch"), (["--watch", "--json"], "prints once"), (["--watch", "--count", "0"], "0")],
)
def test_options_that_do_not_go_together_are_refused(arguments: list[str], words: str) -> None:
    result = CliRunner().invoke(capacity, arguments)
    assert (result.exit_code, words in result.stderr) == (2, True)
