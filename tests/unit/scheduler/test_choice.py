"""Which jobs are sent now, and in what order."""

from __future__ import annotations

from collections import Counter

import pytest

from marie_celery.planning import planner
from marie_celery.planning.foreign import ForeignPlanner
from marie_celery.planning.global_priority import GlobalPriorityExecutionPlanner
from marie_celery.planning.job import FlatJob
from marie_celery.planning.planner import ExecutionPlanner
from marie_celery.planning.share import FULL
from marie_celery.scheduler.choice import choose, flat_job
from marie_celery.store.keys import job_id
from marie_celery.store.records import Candidate, Outlook, Room

NOW = 1_767_268_800_000
BURST_MS = 10_000
SHARE = 300


def candidate(run: int, number: int = 0, *, executor: str = "ocr", begun: int | None = None, **more: int) -> Candidate:
    known: dict[str, int | None] = {"level": 0, "priority": 50, "soft_ms": None, "hard_ms": None, **more}
    return Candidate(
        job_id=job_id(f"{run:013x}", number),
        executor=executor,
        task="t",
        submitted_ms=NOW,
        activated_ms=begun,
        ready_ms=NOW,
        estimate_ms=None,
        path_ms=None,
        time_limit=None,
        soft_time_limit=None,
        **known,  # type: ignore[arg-type]
    )


def outlook(*rooms: Room) -> Outlook:
    return Outlook(NOW, "global", {}, rooms)


def room(free: int, *jobs: Candidate, executor: str = "ocr", credit: int = 0) -> Room:
    return Room(executor, free, len(jobs), credit, jobs)


def chosen(
    seen: Outlook, by: ExecutionPlanner | None = None, share: int = SHARE, burst_ms: int = BURST_MS
) -> list[Candidate]:
    return choose(by or planner("global"), seen, share, burst_ms)


def test_nothing_in_sight_is_nothing_chosen() -> None:
    assert chosen(outlook()) == []
    assert chosen(outlook(room(3))) == []


@pytest.mark.parametrize(("free", "sent"), [(-2, 0), (0, 0), (1, 1), (3, 3), (9, 5)])
def test_no_more_are_chosen_than_there_are_free_slots(free: int, sent: int) -> None:
    jobs = [candidate(run, begun=NOW) for run in range(5)]
    assert chosen(outlook(room(free, *jobs))) == jobs[:sent]


def test_the_order_is_the_planners() -> None:
    deep, urgent, plain = (
        candidate(3, begun=NOW, level=2),
        candidate(2, begun=NOW, priority=90),
        candidate(1, begun=NOW),
    )
    assert chosen(outlook(room(9, plain, urgent, deep))) == [deep, urgent, plain]
    assert chosen(outlook(room(9, deep, urgent, plain)), planner("fifo")) == [plain, urgent, deep]


def test_a_full_executor_hides_nothing_of_another() -> None:
    busy = room(0, candidate(1, begun=NOW, level=9))
    idle = room(1, candidate(2, executor="gpu", begun=NOW), executor="gpu")
    assert [job.executor for job in chosen(outlook(busy, idle))] == ["gpu"]


def test_executors_take_turns_as_the_plan_says() -> None:
    first = [candidate(1, number, begun=NOW, level=5 - number) for number in range(3)]
    second = [candidate(2, number, executor="gpu", begun=NOW, level=5 - number) for number in range(3)]
    sent = chosen(outlook(room(2, *first), room(9, *second, executor="gpu")))
    # The deeper first; at a tie, where there are more free slots.
    assert [(job.executor, job.level) for job in sent] == [("gpu", 5), ("ocr", 5), ("gpu", 4), ("ocr", 4), ("gpu", 3)]


def test_a_run_that_has_just_begun_wins_a_tie() -> None:
    old, young = candidate(1, begun=NOW - BURST_MS), candidate(2, begun=NOW - BURST_MS + 1)
    assert chosen(outlook(room(2, old, young))) == [young, old]
    assert chosen(outlook(room(2, old, young)), burst_ms=0) == [old, young]


def account(job: Candidate, credit: int, share: int) -> int:
    """What a dispatch of this job does to the credit while both kinds wait."""
    return credit + share - (FULL if job.activated_ms is None else 0)


@pytest.mark.parametrize("free", [1, 7])
@pytest.mark.parametrize(("share", "new"), [(300, 300), (0, 0), (1000, 1000), (1, 1), (500, 500), (333, 333)])
def test_new_runs_get_exactly_their_share_over_a_thousand_choices(share: int, new: int, free: int) -> None:
    credit, taken = 0, Counter[bool]()
    while taken.total() < 1_000:
        left = min(free, 1_000 - taken.total())
        active = [candidate(run, begun=NOW) for run in range(20)]
        fresh = [candidate(run) for run in range(100, 120)]
        for job in chosen(outlook(room(left, *active, *fresh, credit=credit)), share=share):
            taken[job.activated_ms is None] += 1
            credit = account(job, credit, share)
    assert taken == Counter({kind: number for kind, number in ((True, new), (False, 1_000 - new)) if number})


def test_new_runs_wait_their_turn_and_come_evenly() -> None:
    active = [candidate(run, begun=NOW) for run in range(20)]
    fresh = [candidate(run) for run in range(100, 120)]
    kinds = "".join("n" if job.activated_ms is None else "a" for job in chosen(outlook(room(10, *active, *fresh))))
    assert kinds == "aaanaanaan"


def test_only_new_runs_need_no_share() -> None:
    fresh = [candidate(run) for run in range(5)]
    assert chosen(outlook(room(5, *fresh)), share=0) == fresh


def test_a_planner_that_does_not_put_begun_runs_first_needs_no_share() -> None:
    begun, fresh = candidate(2, begun=NOW), candidate(1)
    assert chosen(outlook(room(2, begun, fresh, credit=-9_000)), planner("fifo"), share=1000) == [fresh, begun]


def test_a_users_planner_decides_alone() -> None:
    class Backwards:
        def plan(self, jobs: list[FlatJob], slots: object, active: object) -> list[FlatJob]:
            return jobs[::-1]

    by = ForeignPlanner(Backwards(), GlobalPriorityExecutionPlanner())
    jobs = [candidate(run, begun=NOW) for run in range(4)]
    assert chosen(outlook(room(2, *jobs)), by) == [jobs[3], jobs[2]]


def test_a_candidate_is_to_the_planner_what_it_is_in_redis() -> None:
    given = Candidate("0000000000001-000002", "ocr", "t", 1, 2, 3, 4, 5, 6, 7, 1_009, 2_018, None, None)
    flat = flat_job(given)
    assert (flat.run_id, flat.runtime_ms, flat.path_ms, flat.run_activated_ms) == ("0000000000001", 1_009, 2_018, 6)
    assert (flat.soft_sla_ms, flat.hard_sla_ms, flat.submitted_ms, flat.ready_ms) == (3, 4, 5, 7)
