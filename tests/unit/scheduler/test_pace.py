from __future__ import annotations

from marie_celery.scheduler.pace import Pace


def pauses(pace: Pace, number: int, *, worked: bool = False, slots_free: bool = False) -> list[float]:
    return [pace.after(worked=worked, slots_free=slots_free) for _ in range(number)]


def test_with_work_the_pause_is_shortest() -> None:
    assert pauses(Pace(), 3, worked=True) == [0.25, 0.25, 0.25]
    assert pauses(Pace(), 1, worked=True, slots_free=True) == [0.25]


def test_with_free_slots_and_no_work_it_is_a_second() -> None:
    assert pauses(Pace(), 3, slots_free=True) == [1.0, 1.0, 1.0]


def test_idle_it_grows_to_eight_seconds_and_no_further() -> None:
    pace = Pace()
    pauses(pace, 1, worked=True)
    assert pauses(pace, 7) == [0.5, 1.0, 2.0, 4.0, 8.0, 8.0, 8.0]
    assert pauses(Pace(), 9)[-1] == Pace.LONGEST == 8.0


def test_work_brings_it_back_at_once() -> None:
    pace = Pace()
    pauses(pace, 9)
    assert pauses(pace, 1, worked=True) == [0.25]
    pauses(pace, 9)
    assert pauses(pace, 1, slots_free=True) == [1.0]


def test_errors_back_off_as_far_as_idleness_does() -> None:
    pace = Pace()
    pauses(pace, 1, worked=True)
    assert [pace.after_error() for _ in range(7)] == [0.5, 1.0, 2.0, 4.0, 8.0, 8.0, 8.0]


def test_the_first_idle_pause_is_the_initial_one() -> None:
    assert Pace().after(worked=False, slots_free=False) == 2.25
