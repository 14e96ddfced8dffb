"""schedule_fired, resume, fire, and the overlap with the last run: what becomes of a slot that was taken."""

from __future__ import annotations

import pytest

from marie_celery.errors import ConfigError
from marie_celery.store.schedules import MOST_WAITING
from marie_celery.store.store import Store
from tests.redis.redis_runs import EXECUTOR, NOW, changes, run_state
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
    end,
    fired,
    put,
)


@pytest.fixture
def schedules(store: Store) -> ScheduleStore:
    return ScheduleStore(store.client, store.settings, now_ms=NOW)


class TestOverlap:
    def test_allow_fires_beside_the_last_run(self, schedules: ScheduleStore) -> None:
        run = fired(schedules)
        assert claim(schedules, "allow", NEXT, LATER) == "fire"
        assert run_state(schedules, run) == "created"

    def test_skip_leaves_the_slot_out(self, schedules: ScheduleStore) -> None:
        fired(schedules, "skip")
        with changes(schedules) as changed:
            assert claim(schedules, "skip", NEXT, LATER) == "skipped"
        assert changed == {
            "schedule:next": {NAME: LATER},
            STATE: {"next": str(LATER), "due": str(LATER), "last": str(NEXT)},
            "events": [("schedule", NAME, "due", "skipped", str(NEXT))],
        }

    @pytest.mark.parametrize("overlap", ["skip", "queue"])
    def test_a_run_that_has_ended_is_in_nobodys_way(self, schedules: ScheduleStore, overlap: str) -> None:
        end(schedules, fired(schedules, overlap))
        assert claim(schedules, overlap, NEXT, LATER) == "fire"

    @pytest.mark.parametrize("overlap", ["skip", "queue", "replace"])
    def test_a_run_that_was_pruned_is_in_nobodys_way(self, schedules: ScheduleStore, overlap: str) -> None:
        run = fired(schedules, overlap)
        schedules.client.delete(schedules.keys.run(run))
        assert claim(schedules, overlap, NEXT, LATER) == "fire"

    def test_queue_lets_the_slots_wait_in_order(self, schedules: ScheduleStore) -> None:
        run = fired(schedules, "queue")
        with changes(schedules) as changed:
            assert claim(schedules, "queue", NEXT, LATER) == "queued"
        assert changed == {
            "schedule:next": {NAME: NEXT + 1000},
            STATE: {"next": str(LATER), "due": str(LATER), "last": str(NEXT)},
            WAITING: [str(NEXT)],
            "events": [("schedule", NAME, "due", "queued", str(NEXT))],
        }
        schedules.now_ms = LATER
        assert claim(schedules, "queue", LATER, LATER + 60_000) == "queued"
        assert schedules.resume_slot(NAME, "queue") is None
        end(schedules, run)
        assert schedules.resume_slot(NAME, "queue") == NEXT
        assert schedules.resume_slot(NAME, "queue") is None, "the first is not fired yet"
        assert schedules.slot_fired(NAME, NEXT, "")
        assert schedules.resume_slot(NAME, "queue") == LATER

    def test_a_slot_does_not_pass_those_that_wait(self, schedules: ScheduleStore) -> None:
        run = fired(schedules, "queue")
        claim(schedules, "queue", NEXT, LATER)
        end(schedules, run)
        assert claim(schedules, "queue", LATER, LATER + 60_000) == "queued"

    def test_the_queue_has_an_end(self, schedules: ScheduleStore) -> None:
        fired(schedules, "queue")
        schedules.client.rpush(schedules.keys.schedule_waiting(NAME), *range(MOST_WAITING))
        assert claim(schedules, "queue", NEXT, LATER) == "skipped"

    def test_replace_cancels_the_last_run_in_the_same_step(self, schedules: ScheduleStore) -> None:
        run = fired(schedules, "replace")
        with changes(schedules) as changed:
            assert claim(schedules, "replace", NEXT, LATER) == "fire"
        assert run_state(schedules, run) == "cancelled"
        assert changed[f"run:{run}"]["cancel"] == "replaced"
        assert changed[f"ready:{EXECUTOR}" if f"ready:{EXECUTOR}" in changed else f"new:{EXECUTOR}"] == {
            f"{run}-000000": None
        }
        assert changed["wake"] == ["1"]
        assert changed[STATE]["firing"] == str(NEXT)


class TestFired:
    def test_a_run_is_noted_and_the_next_slot_is_looked_at(self, schedules: ScheduleStore) -> None:
        put(schedules)
        claim(schedules)
        with changes(schedules) as changed:
            assert schedules.slot_fired(NAME, SLOT, "run")
        assert changed == {
            "schedule:next": {NAME: NEXT},
            STATE: {"firing": None, "lease": None, "run": "run", "at": str(NOW)},
            "counters": {"schedulesFired": "1"},
            "events": [("schedule", NAME, "due", "fired", f"{SLOT} as run")],
        }

    def test_a_refusal_is_noted_until_the_next_success(self, schedules: ScheduleStore) -> None:
        put(schedules)
        claim(schedules)
        with changes(schedules) as changed:
            assert schedules.slot_fired(NAME, SLOT, "", "no luck")
        assert changed[STATE] == {"firing": None, "lease": None, "error": "no luck", "at": str(NOW)}
        assert changed["counters"] == {"schedulesFailed": "1"}
        assert changed["events"] == [("schedule", NAME, "due", "failed", f"{SLOT}: no luck")]
        claim(schedules, slot=NEXT, following=LATER)
        schedules.slot_fired(NAME, NEXT, "run")
        assert not schedules.client.hexists(schedules.keys.schedule_state(NAME), "error")

    def test_the_second_report_changes_nothing(self, schedules: ScheduleStore) -> None:
        put(schedules)
        claim(schedules)
        schedules.slot_fired(NAME, SLOT, "run")
        with changes(schedules) as changed:
            assert not schedules.slot_fired(NAME, SLOT, "other")
        assert changed == {}


class TestResume:
    def test_the_slot_of_a_dead_scheduler_is_taken_over_when_its_lease_ends(self, schedules: ScheduleStore) -> None:
        put(schedules)
        claim(schedules)
        schedules.now_ms = NOW + LEASE_MS - 1
        assert schedules.look_at_schedules(10).due == []
        assert schedules.resume_slot(NAME, "allow") is None
        schedules.now_ms = NOW + LEASE_MS
        (due,) = schedules.look_at_schedules(10).due
        assert due.busy
        assert schedules.resume_slot(NAME, "allow") == SLOT
        assert schedules.resume_slot(NAME, "allow") is None, "it is under a new lease"

    def test_there_may_be_nothing_to_go_on_with(self, schedules: ScheduleStore) -> None:
        put(schedules)
        with changes(schedules) as changed:
            assert schedules.resume_slot(NAME, "allow") is None
        assert changed == {}


class TestFire:
    def test_takes_a_slot_of_now_and_leaves_the_calendar_alone(self, schedules: ScheduleStore) -> None:
        put(schedules, NEXT)
        with changes(schedules) as changed:
            assert schedules.fire_schedule(NAME, "skip", "ann") == NOW
        lease = NOW + LEASE_MS
        assert changed == {
            "schedule:next": {NAME: lease},
            STATE: {"firing": str(NOW), "lease": str(lease)},
            "events": [("schedule", NAME, "", "ordered", str(NOW))],
        }
        assert schedules.slot_fired(NAME, NOW, "run")
        assert schedules.look_at_schedules(10).next_ms == NEXT - NOW

    def test_waits_while_another_slot_is_being_fired(self, schedules: ScheduleStore) -> None:
        put(schedules)
        claim(schedules)
        with changes(schedules) as changed:
            assert schedules.fire_schedule(NAME, "allow") is None
        assert changed == {WAITING: [str(NOW)], "events": [("schedule", NAME, "", "ordered", str(NOW))]}
        schedules.slot_fired(NAME, SLOT, "run")
        assert schedules.resume_slot(NAME, "allow") == NOW

    @pytest.mark.parametrize(
        ("overlap", "may_go"), [("allow", True), ("replace", True), ("skip", False), ("queue", False)]
    )
    def test_obeys_the_overlap_but_is_never_dropped(
        self, schedules: ScheduleStore, overlap: str, may_go: bool
    ) -> None:
        run = fired(schedules, overlap)
        assert schedules.fire_schedule(NAME, overlap) == (NEXT if may_go else None)
        assert run_state(schedules, run) == ("cancelled" if overlap == "replace" else "created")
        if not may_go:
            assert schedules.resume_slot(NAME, overlap) is None
            end(schedules, run)
            assert schedules.resume_slot(NAME, overlap) == NEXT

    def test_goes_before_those_that_wait(self, schedules: ScheduleStore) -> None:
        run = fired(schedules, "queue")
        assert claim(schedules, "queue", NEXT, LATER) == "queued"
        schedules.now_ms = NEXT + 5
        assert schedules.fire_schedule(NAME, "queue") is None
        end(schedules, run)
        assert schedules.resume_slot(NAME, "queue") == NEXT + 5

    def test_works_for_a_paused_schedule(self, schedules: ScheduleStore) -> None:
        schedules.put_schedule(NAME, None, definition(), None, "added")
        assert schedules.fire_schedule(NAME, "allow") == NOW
        assert schedules.slot_fired(NAME, NOW, "run")
        assert schedules.look_at_schedules(10).next_ms == -1

    def test_needs_a_schedule(self, schedules: ScheduleStore) -> None:
        with changes(schedules) as changed, pytest.raises(ConfigError, match="there is no schedule 'nightly'"):
            schedules.fire_schedule(NAME, "allow")
        assert changed == {}
