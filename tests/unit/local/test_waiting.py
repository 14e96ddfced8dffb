"""The line of the in-process scheduler against its definition: the best of all that wait, by ageing at this moment."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from marie_celery.local.waiting import WaitingLine
from marie_celery.model.ageing import effective_priority, promotions

TIMEOUT_MS = 30_000

steps = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.sampled_from([0, 20, 49, 50, 80, 99, 100, 999])),
        st.tuples(st.just("take"), st.just(0)),
        st.tuples(st.just("remove"), st.integers(0, 30)),
        st.tuples(st.just("wait"), st.integers(0, 20_000)),
    ),
    max_size=40,
)


@given(steps)
def test_it_takes_what_a_look_at_all_that_waits_would_take(script: list[tuple[str, int]]) -> None:
    line: WaitingLine[int] = WaitingLine(TIMEOUT_MS)
    model: dict[int, tuple[int, int, tuple[int, int]]] = {}
    now, raised = 0, 0

    def leave(number: int) -> None:
        nonlocal raised
        priority, since, _ = model.pop(number)
        raised += promotions(priority, now - since, TIMEOUT_MS)

    for number, (verb, value) in enumerate(script):
        if verb == "put":
            model[number] = (value, now, line.put(value, number, now))
        elif verb == "wait":
            now += value
        elif verb == "take" and model:
            best = min(model, key=lambda n: (-effective_priority(model[n][0], now - model[n][1], TIMEOUT_MS), n))
            assert line.take(now) == best
            leave(best)
        elif verb == "remove" and value in model:
            place = model[value][2]
            leave(value)
            assert line.remove(place, now)
            assert not line.remove(place, now)
        assert len(line) == len(model)
        still = sum(promotions(priority, now - since, TIMEOUT_MS) for priority, since, _ in model.values())
        assert line.promotions(now) == raised + still
