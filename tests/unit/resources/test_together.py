from __future__ import annotations

from marie_celery.resources import (
    Answer,
    Bookings,
    DiscreteManager,
    Manager,
    QuantityManager,
    RateManager,
    Request,
    book_all,
    impossible,
)
from marie_celery.resources.rate import gain_of

NOW = 1_000_000


def managers() -> dict[str, Manager]:
    return {"gpu": DiscreteManager(["g0", "g1"]), "memory": QuantityManager(4), "mails": RateManager(gain_of(1), 1)}


def test_a_job_gets_the_names_of_what_it_booked() -> None:
    needs = {"gpu": Request(2), "memory": Request(1)}
    assert book_all(managers(), needs, "h", NOW) == Bookings(Answer.BOOKED, {"gpu": ("g0", "g1")})


def test_one_refusal_leaves_all_as_they_were() -> None:
    several = managers()
    before = {name: manager.state() for name, manager in several.items()}
    refused = book_all(several, {"gpu": Request(1), "memory": Request(5), "mails": Request(1)}, "h", NOW)
    assert refused == Bookings(Answer.SHORT, refused_by=("memory",))
    assert {name: manager.state() for name, manager in several.items()} == before


def test_exhausted_is_the_harder_answer() -> None:
    several = managers()
    several["gpu"].book("other", Request(2), NOW)
    refused = book_all(several, {"gpu": Request(1), "memory": Request(5)}, "h", NOW)
    assert (refused.answer, refused.refused_by) == (Answer.EXHAUSTED, ("gpu", "memory"))


def test_time_alone_helps_only_if_it_helps_with_every_refusal() -> None:
    several = managers()
    several["mails"].book("other", Request(1), NOW)
    assert book_all(several, {"mails": Request(1)}, "h", NOW).retry_at_ms == NOW + 1_000
    assert book_all(several, {"mails": Request(1), "memory": Request(5)}, "h", NOW).retry_at_ms is None


def test_a_manager_that_counts_as_full_refuses_all_but_those_that_need_nothing_of_it() -> None:
    several = managers()
    assert book_all(several, {"memory": Request(1)}, "h", NOW, full=["memory"]).answer is Answer.EXHAUSTED
    assert book_all(several, {"memory": Request(0)}, "h", NOW, full=["memory"]).answer is Answer.BOOKED


def test_what_takes_nothing_does_not_even_need_the_manager_to_exist() -> None:
    assert book_all({}, {"gone": Request(0)}, "h", NOW) == Bookings(Answer.BOOKED)


def test_impossible_requests_are_known_beforehand() -> None:
    assert impossible(managers(), {"gpu": Request(3), "memory": Request(4), "mails": Request(2)}) == ("gpu", "mails")
