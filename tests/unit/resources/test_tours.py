"""The default scheduler of resources: fair tours over queues, holding or skipping when something is short."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from marie_celery.resources import (
    DiscreteManager,
    FairTours,
    Manager,
    OnShortage,
    Poll,
    QuantityManager,
    Queue,
    RateManager,
    Request,
    WaitingJob,
)
from marie_celery.resources.rate import gain_of

NOW = 1_000_000
HOLD, SKIP = FairTours(), FairTours(OnShortage.SKIP)


def job(id: str, waited: int, *, held: bool = False, skips: int = 0, **needs: int) -> WaitingJob:
    return WaitingJob(id, NOW - waited, {name: Request(amount) for name, amount in needs.items()}, held, skips)


def order(poll: Poll) -> list[tuple[int, str]]:
    return [(start.tour, start.job) for start in poll.starts]


# Three queues with heads of different ages, and one manager that is tight.
SCENARIO = [
    Queue("mail", [job("m1", 10), job("m2", 9), job("m3", 8)]),
    Queue("ocr", [job("o1", 30, gpu=1), job("o2", 28, gpu=3), job("o3", 27, gpu=1)]),
    Queue("train", [job("t1", 20, gpu=1), job("t2", 19, gpu=1), job("t3", 18, gpu=1)]),
]


def tight() -> dict[str, Manager]:
    return {"gpu": QuantityManager(4)}


def test_with_hold_the_oldest_waits_and_keeps_the_manager_for_itself() -> None:
    poll = HOLD.poll(SCENARIO, tight(), NOW)
    # o2 wants 3 of the 2 that are left: ocr is done, and t2, which would fit, finds the manager full.
    assert order(poll) == [(1, "o1"), (1, "t1"), (1, "m1"), (2, "m2"), (3, "m3")]
    assert poll.kept_for == {"gpu": "o2"}
    assert poll.skips == {}


def test_with_skip_later_jobs_that_fit_may_pass() -> None:
    poll = SKIP.poll(SCENARIO, tight(), NOW)
    assert order(poll) == [(1, "o1"), (1, "t1"), (1, "m1"), (2, "o3"), (2, "t2"), (2, "m2"), (3, "m3")]
    assert poll.kept_for == {}
    assert poll.skips == {"o2": 2}


def test_a_job_that_was_passed_too_often_is_held_for() -> None:
    ocr = Queue("ocr", [job("o1", 30, gpu=1), job("o2", 28, gpu=3, skips=100), job("o3", 27, gpu=1)])
    often = [SCENARIO[0], ocr, SCENARIO[2]]
    assert order(SKIP.poll(often, tight(), NOW)) == order(HOLD.poll(SCENARIO, tight(), NOW))


def test_it_is_held_for_as_soon_as_the_last_pass_is_used_up() -> None:
    poll = FairTours(OnShortage.SKIP, max_skips=1).poll(SCENARIO, tight(), NOW)
    assert order(poll) == [(1, "o1"), (1, "t1"), (1, "m1"), (2, "o3"), (2, "m2"), (3, "m3")]
    assert (poll.skips, poll.kept_for) == ({"o2": 1}, {"gpu": "o2"})


def test_with_no_passes_at_all_skip_is_hold() -> None:
    assert FairTours(OnShortage.SKIP, max_skips=0).poll(SCENARIO, tight(), NOW) == HOLD.poll(SCENARIO, tight(), NOW)


def test_only_those_who_take_what_was_short_pass_a_job() -> None:
    queues = [Queue("a", [job("a1", 9, gpu=2), job("a2", 8), job("a3", 7, disk=1)])]
    poll = SKIP.poll(queues, {"gpu": QuantityManager(1), "disk": QuantityManager(1)}, NOW)
    assert order(poll) == [(1, "a2"), (2, "a3")]
    assert poll.skips == {}


def test_a_manager_can_have_a_policy_of_its_own() -> None:
    mixed = FairTours(OnShortage.HOLD, {"gpu": OnShortage.SKIP})
    assert order(mixed.poll(SCENARIO, tight(), NOW)) == order(SKIP.poll(SCENARIO, tight(), NOW))
    both = [Queue("a", [job("a1", 9, gpu=2, disk=2), job("a2", 8)])]
    poll = mixed.poll(both, {"gpu": QuantityManager(1), "disk": QuantityManager(1)}, NOW)
    assert (order(poll), poll.kept_for) == ([], {"disk": "a1", "gpu": "a1"})


def test_queues_go_by_the_wait_of_their_head_even_if_it_is_held_back() -> None:
    queues = [Queue("a", [job("a1", 10)]), Queue("b", [job("b1", 20, held=True), job("b2", 5)]), Queue("c", [])]
    assert order(HOLD.poll(queues, {}, NOW)) == [(1, "b2"), (1, "a1")]


def test_heads_of_the_same_age_go_by_name() -> None:
    queues = [Queue("b", [job("b1", 10)]), Queue("a", [job("a1", 10)])]
    assert order(HOLD.poll(queues, {}, NOW)) == [(1, "a1"), (1, "b1")]


def test_a_queue_that_takes_nothing_goes_on_while_the_others_wait() -> None:
    poll = HOLD.poll(SCENARIO, {"gpu": QuantityManager(0)}, NOW)
    assert order(poll) == [(1, "m1"), (2, "m2"), (3, "m3")]


def test_a_poll_leaves_the_managers_as_they_were_and_names_the_items() -> None:
    managers: Mapping[str, Manager] = {"gpu": DiscreteManager(["g0", "g1"])}
    before = managers["gpu"].state()
    poll = HOLD.poll([Queue("a", [job("a1", 2, gpu=1), job("a2", 1, gpu=1)])], managers, NOW)
    assert [start.items for start in poll.starts] == [{"gpu": ("g0",)}, {"gpu": ("g1",)}]
    assert managers["gpu"].state() == before


def test_a_poll_tells_when_time_alone_will_help() -> None:
    managers: Mapping[str, Manager] = {"mails": RateManager(gain_of(2), 1)}
    poll = HOLD.poll([Queue("a", [job("a1", 2, mails=1), job("a2", 1, mails=1)])], managers, NOW)
    assert (order(poll), poll.retry_at_ms) == ([(1, "a1")], NOW + 500)


def polls_until_the_large_job_starts(rules: FairTours, most: int) -> int:
    """Three units, always one small job more than fits, and one of them ends after each poll."""
    managers: dict[str, Manager] = {"gpu": QuantityManager(3)}
    running = ["s-1", "s-2", "s-3"]
    for id in running:
        managers["gpu"].book(id, Request(1), NOW)
    skips = 0
    for number in range(most):
        managers["gpu"].release(running.pop(0))
        large = WaitingJob("large", NOW, {"gpu": Request(3)}, skips=skips)
        queues = [Queue("large", [large]), Queue("small", [WaitingJob(f"s{number}", NOW + 1, {"gpu": Request(1)})])]
        poll = rules.poll(queues, managers, NOW)
        skips = poll.skips.get("large", skips)
        for start in poll.starts:
            if start.job == "large":
                return number
            managers["gpu"].book(start.job, Request(1), NOW)
            running.append(start.job)
    return most


def test_a_large_job_is_served_however_many_small_ones_come() -> None:
    assert polls_until_the_large_job_starts(FairTours(OnShortage.SKIP, max_skips=5), most=50) == 7
    assert polls_until_the_large_job_starts(HOLD, most=50) == 2
    without_end = FairTours(OnShortage.SKIP, max_skips=1_000)
    assert polls_until_the_large_job_starts(without_end, most=50) == 50, "it would starve"


JOBS = st.lists(st.tuples(st.integers(0, 50), st.integers(0, 4), st.integers(0, 3), st.booleans()), max_size=6)


def queue_of(name: str, jobs: list[tuple[int, int, int, bool]]) -> Queue:
    return Queue(
        name,
        [
            job(f"{name}.{number}", waited, gpu=gpu, skips=skips, held=held)
            for number, (waited, gpu, skips, held) in enumerate(jobs)
        ],
    )


QUEUES = st.lists(JOBS, max_size=4).map(
    lambda found: [queue_of(str(number), jobs) for number, jobs in enumerate(found)]
)


@given(QUEUES, st.integers(0, 6), st.sampled_from(OnShortage), st.integers(0, 3))
def test_every_poll_keeps_the_rules(queues: list[Queue], units: int, policy: OnShortage, max_skips: int) -> None:
    poll = FairTours(policy, max_skips=max_skips).poll(queues, {"gpu": QuantityManager(units)}, NOW)
    jobs = {each.id: each for queue in queues for each in queue.jobs}
    started = [start.job for start in poll.starts]
    assert len(set(started)) == len(started)
    assert not any(jobs[id].is_held for id in started)
    assert sum(jobs[id].needs["gpu"].amount for id in started) <= units
    assert [start.tour for start in poll.starts] == sorted(start.tour for start in poll.starts)
    assert len({(start.tour, start.queue) for start in poll.starts}) == len(started), "one of each queue in a tour"
    for queue in queues:
        mine = [start.job for start in poll.starts if start.queue == queue.name]
        in_order = [each.id for each in queue.jobs if not each.is_held]
        assert mine == [id for id in in_order if id in mine], "the order of the queue"
        if policy is OnShortage.HOLD:
            assert mine == in_order[: len(mine)], "nobody passes"
    assert all(skips <= max(max_skips, jobs[id].skips) for id, skips in poll.skips.items())
