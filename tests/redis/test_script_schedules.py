"""schedule_put, look, claim, remove: a slot is on the calendar until one has taken it."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import redis

from marie_celery.config import Settings
from marie_celery.embedded import EmbeddedServer
from marie_celery.errors import ConfigError
from marie_celery.store.schedules import Scheduling
from marie_celery.store.store import Store
from tests.redis.redis_runs import NOW, changes
from tests.redis.schedule_kit import (
    LATER,
    LEASE_MS,
    NAME,
    NEXT,
    SLOT,
    STATE,
    WAITING,
    ScheduleStore,
    claim,
    definition,
    fired,
    put,
)


@pytest.fixture
def schedules(store: Store) -> ScheduleStore:
    return ScheduleStore(store.client, store.settings, now_ms=NOW)


class TestPut:
    def test_writes_the_definition_and_the_next_slot(self, schedules: ScheduleStore) -> None:
        with changes(schedules) as changed:
            assert schedules.put_schedule(NAME, None, definition(), (SLOT, SLOT + 7), "added", "ann")
        assert changed == {
            "schedules": {NAME: definition()},
            "schedule:next": {NAME: SLOT + 7},
            STATE: {"next": str(SLOT), "due": str(SLOT + 7)},
            "events": [("schedule", NAME, "", "added", "")],
            "wake": ["1"],
        }

    def test_changes_nothing_if_the_definition_is_not_as_it_was_read(self, schedules: ScheduleStore) -> None:
        put(schedules)
        with changes(schedules) as changed:
            assert not schedules.put_schedule(NAME, None, definition(2), (NEXT, NEXT), "added")
            assert not schedules.put_schedule(NAME, definition(7), definition(8), (NEXT, NEXT), "added")
        assert changed == {}

    def test_can_leave_the_calendar_alone(self, schedules: ScheduleStore) -> None:
        put(schedules)
        with changes(schedules) as changed:
            assert schedules.put_schedule(NAME, definition(), definition(2), None, "edited", keep_next=True)
        assert changed == {
            "schedules": {NAME: definition(2)},
            "events": [("schedule", NAME, "", "edited", "")],
            "wake": ["1"],
        }

    def test_without_a_next_slot_nothing_is_fired_any_more(self, schedules: ScheduleStore) -> None:
        fired(schedules, "queue")
        assert claim(schedules, "queue", NEXT, LATER) == "queued"
        with changes(schedules) as changed:
            assert schedules.put_schedule(NAME, definition(), definition(2), None, "paused")
        assert changed == {
            "schedules": {NAME: definition(2)},
            "schedule:next": {NAME: None},
            STATE: {"next": None, "due": None},
            WAITING: None,
            "events": [("schedule", NAME, "", "paused", "")],
            "wake": ["1"],
        }


class TestLook:
    def test_tells_what_is_due_and_when_the_next_is(self, schedules: ScheduleStore) -> None:
        put(schedules)
        schedules.put_schedule("later", None, definition(), (NOW + 500, NOW + 700), "added")
        with changes(schedules) as changed:
            look = schedules.look_at_schedules(10)
        assert changed == {}
        assert (look.now_ms, look.next_ms) == (NOW, 700)
        (due,) = look.due
        assert (due.name, due.definition, due.slot, due.busy) == (NAME, definition(), SLOT, False)

    def test_tells_no_more_than_asked_for(self, schedules: ScheduleStore) -> None:
        for number in range(5):
            schedules.put_schedule(f"s{number}", None, definition(), (SLOT, SLOT), "added")
        assert len(schedules.look_at_schedules(3).due) == 3
        assert schedules.look_at_schedules(0).due == []

    def test_nothing_is_in_sight_without_schedules(self, schedules: ScheduleStore) -> None:
        look = schedules.look_at_schedules(10)
        assert (look.next_ms, look.due) == (-1, [])

    def test_a_slot_that_is_being_fired_is_nobody_elses_business(self, schedules: ScheduleStore) -> None:
        put(schedules)
        claim(schedules)
        look = schedules.look_at_schedules(10)
        assert (look.next_ms, look.due) == (LEASE_MS, [])


class TestClaim:
    def test_takes_the_slot_and_sets_the_next(self, schedules: ScheduleStore) -> None:
        put(schedules)
        with changes(schedules) as changed:
            assert claim(schedules) == "fire"
        lease = NOW + LEASE_MS
        assert changed == {
            "schedule:next": {NAME: lease},
            STATE: {
                "next": str(NEXT),
                "due": str(NEXT),
                "last": str(SLOT),
                "firing": str(SLOT),
                "lease": str(lease),
            },
        }

    def test_a_slot_that_was_taken_cannot_be_taken_again(self, schedules: ScheduleStore) -> None:
        put(schedules)
        claim(schedules)
        with changes(schedules) as changed:
            assert claim(schedules) == ""
        assert changed == {}

    def test_the_slot_after_it_waits_until_it_is_fired(self, schedules: ScheduleStore) -> None:
        put(schedules)
        claim(schedules)
        assert claim(schedules, slot=NEXT, following=LATER) == ""
        assert schedules.slot_fired(NAME, SLOT, "0" * 13)
        assert claim(schedules, slot=NEXT, following=LATER) == "fire"

    @pytest.mark.parametrize("name", [NAME, "unknown"])
    def test_a_slot_of_another_version_cannot_be_taken(self, schedules: ScheduleStore, name: str) -> None:
        put(schedules)
        put(schedules, version=2)
        with changes(schedules) as changed:
            assert schedules.claim_slot(name, 1, SLOT, SLOT, (NEXT, NEXT), "allow") == ""
        assert changed == {}

    def test_slots_that_were_missed_are_told(self, schedules: ScheduleStore) -> None:
        put(schedules)
        with changes(schedules) as changed:
            assert schedules.claim_slot(NAME, 1, SLOT, NEXT, (LATER, LATER), "allow") == "fire"
        assert changed["events"] == [("schedule", NAME, "due", "missed", f"{SLOT} until {NEXT}")]
        assert changed[STATE]["firing"] == str(NEXT)

    def test_all_that_was_due_may_be_left_out(self, schedules: ScheduleStore) -> None:
        put(schedules)
        with changes(schedules) as changed:
            assert schedules.claim_slot(NAME, 1, SLOT, None, (LATER, LATER), "allow") == "missed"
        assert changed == {
            "schedule:next": {NAME: LATER},
            STATE: {"next": str(LATER), "due": str(LATER)},
            "events": [("schedule", NAME, "due", "missed", str(SLOT))],
        }

    def test_the_last_slot_leaves_the_calendar_empty(self, schedules: ScheduleStore) -> None:
        put(schedules)
        assert claim(schedules, following=None) == "fire"
        assert schedules.slot_fired(NAME, SLOT, "0" * 13)
        look = schedules.look_at_schedules(10)
        assert (look.next_ms, look.due) == (-1, [])


class TestRemove:
    def test_leaves_nothing_behind(self, schedules: ScheduleStore) -> None:
        fired(schedules, "queue")
        claim(schedules, "queue", NEXT, LATER)
        schedules.remove_schedule(NAME, "ann")
        assert not list(schedules.client.scan_iter(f"{schedules.keys.prefix}schedule*"))
        with pytest.raises(ConfigError, match="there is no schedule"):
            schedules.remove_schedule(NAME)

    def test_a_report_that_comes_after_it_changes_nothing(self, schedules: ScheduleStore) -> None:
        put(schedules)
        claim(schedules)
        schedules.remove_schedule(NAME)
        with changes(schedules) as changed:
            assert not schedules.slot_fired(NAME, SLOT, "run")
        assert changed == {}


def test_of_many_who_claim_the_same_slots_one_gets_each(server: EmbeddedServer, real_client: redis.Redis) -> None:
    real_client.flushall()
    claimers, slots = 8, 50
    put(Scheduling(real_client, Settings(), now_ms=NOW))
    together = threading.Barrier(claimers)

    def work(number: int) -> list[int]:
        won = []
        with redis.Redis.from_url(server.url, decode_responses=True) as client:
            mine = Scheduling(client, Settings(), now_ms=NOW)
            for slot in range(SLOT, SLOT + slots):
                together.wait()
                if claim(mine, slot=slot, following=slot + 1) == "fire":
                    won.append(slot)
                    assert mine.slot_fired(NAME, slot, f"{number}")
                together.wait()
        return won

    with ThreadPoolExecutor(claimers) as pool:
        won = [slot for part in pool.map(work, range(claimers)) for slot in part]
    assert sorted(won) == list(range(SLOT, SLOT + slots))
