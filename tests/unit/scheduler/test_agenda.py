"""When each duty of a scheduler is due."""

from __future__ import annotations

import logging

import pytest
import redis

from marie_celery.scheduler.turns import Turn
from tests.unit.scheduler.duty_kit import Office

TICK = 0.025


def about(seconds: list[float]) -> object:
    """As exact as the ticks of the agenda."""
    return pytest.approx(seconds, abs=1.5 * TICK)


def survey(**seen: object) -> Turn:
    return Turn("surveyor", **seen)  # type: ignore[arg-type]


def test_at_the_start_everything_is_due() -> None:
    office = Office({"surveyor": survey, "reaper": lambda: Turn("reaper", next_seconds=1.0)})
    office.live(TICK)
    assert office.duties["surveyor"].times == office.duties["reaper"].times == [TICK]


def test_with_free_slots_and_no_work_it_surveys_every_second() -> None:
    office = Office({"surveyor": lambda: survey(slots_free=True)})
    office.live(10)
    assert office.pauses("surveyor") == about([1.0] * 9)


def test_idle_it_surveys_less_and_less_down_to_every_eight_seconds() -> None:
    office = Office({"surveyor": survey})
    office.live(60)
    assert office.pauses("surveyor")[0] < 8.0
    assert office.pauses("surveyor")[-4:] == about([8.0] * 4)


def test_after_work_it_surveys_at_once_and_then_at_the_shortest_pause() -> None:
    sent = Turn("dispatcher", worked=True)
    office = Office({"surveyor": lambda: survey(slots_free=True), "dispatcher": lambda: sent})
    office.live(1)
    assert office.pauses("surveyor")[:2] == about([0.0, 0.25])


def test_an_event_makes_it_survey_at_once() -> None:
    office = Office({"surveyor": survey})
    office.live(30)
    before = len(office.duties["surveyor"].times)
    office.wake()
    assert office.duties["surveyor"].times[before:] == [30.0]


def test_a_duty_is_due_when_it_said_so() -> None:
    office = Office({"surveyor": survey, "reaper": lambda: Turn("reaper", next_seconds=1.0)})
    office.live(10)
    assert office.pauses("reaper") == about([1.0] * 9)


def test_a_duty_with_nothing_in_sight_is_not_due_again_until_the_survey_sees_something() -> None:
    dues: dict[str, float] = {}
    office = Office({"surveyor": lambda: survey(slots_free=True, dues=dues), "promoter": lambda: Turn("promoter")})
    office.live(10)
    assert office.duties["promoter"].times == [TICK]
    dues["promoter"] = 0.5
    dues["somebody else's"] = 0.0
    office.live(1.5)
    assert office.duties["promoter"].times[1] == pytest.approx(10.55, abs=2 * TICK)


def test_work_of_any_duty_is_worth_a_survey() -> None:
    answers = iter([Turn("promoter", next_seconds=20.0), Turn("promoter", worked=True)])
    office = Office({"surveyor": survey, "promoter": lambda: next(answers)})
    office.live(25)
    done = office.duties["promoter"].times[1]
    assert done in office.duties["surveyor"].times


def test_a_survey_that_never_answers_is_repeated_after_the_longest_pause() -> None:
    office = Office({"surveyor": lambda: Turn("somebody")})
    office.live(30)
    assert office.pauses("surveyor") == about([8.0, 8.0, 8.0])


class Server:
    """Redis, that can be away."""

    def __init__(self) -> None:
        self.is_away = True

    def answer(self, turn: Turn) -> Turn:
        if self.is_away:
            raise redis.ConnectionError("connection refused")
        return turn


def test_while_redis_is_away_all_wait_longer_and_longer_and_start_again_together(
    caplog: pytest.LogCaptureFixture,
) -> None:
    server = Server()
    office = Office(
        {
            "surveyor": lambda: server.answer(survey(slots_free=True)),
            "reaper": lambda: server.answer(Turn("reaper", next_seconds=1.0)),
        }
    )
    with caplog.at_level(logging.INFO):
        office.live(60)
        assert office.pauses("surveyor")[-4:] == about([8.0] * 4)
        server.is_away = False
        office.live(12)
    assert office.pauses("surveyor")[-3:] == office.pauses("reaper")[-3:] == about([1.0] * 3)
    told = [record.getMessage() for record in caplog.records]
    assert "connection refused" in told[0]
    assert [text.partition(" ")[2] for text in told[1:]] == ["goes on"]


def test_a_duty_that_stumbles_is_an_error_and_not_the_end(caplog: pytest.LogCaptureFixture) -> None:
    broken = iter([True, False])

    def step() -> Turn:
        if next(broken, False):
            raise ZeroDivisionError
        return survey(slots_free=True)

    office = Office({"surveyor": step})
    office.live(20)
    assert "surveyor stumbled" in caplog.text
    assert office.pauses("surveyor")[-3:] == about([1.0] * 3)


def away() -> Turn:
    raise redis.ConnectionError("connection refused")


def test_a_duty_that_keeps_failing_while_others_work_is_not_repeated_without_a_pause() -> None:
    office = Office({"surveyor": away, "reaper": lambda: Turn("reaper", next_seconds=1.0)})
    office.clock.advance(TICK)
    office.turns_at_once(500)
    assert len(office.duties["surveyor"].times) == 1


def test_duties_that_fail_in_the_same_moment_back_off_once() -> None:
    office = Office(dict.fromkeys(["surveyor", "promoter", "reranker", "watcher", "reaper"], away))
    office.live(60)
    assert office.pauses("surveyor")[:3] == about([0.25, 0.5, 1.0])
