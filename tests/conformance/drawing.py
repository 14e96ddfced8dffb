"""Random dags, as plans that the conformance app draws."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from marie_celery import JoinRule

KINDS = [
    "weigh", "weigh", "retry", "fail", "skip", "after", "join", "merge",
    "map", "map that skips", "map that fails", "map of a dag", "branch", "choose",
]  # fmt: skip

# These run as soon as one parent lets them: whose results they would find then is a matter of luck.
EARLY = (JoinRule.ONE_SUCCESS, JoinRule.ONE_FAILED)


@st.composite
def plans(draw: st.DrawFn) -> list[dict[str, Any]]:
    plan: list[dict[str, Any]] = []
    for number in range(draw(st.integers(1, 7))):
        kind = draw(st.sampled_from(KINDS))
        rules = [rule.value for rule in JoinRule if kind != "join" or rule not in EARLY]
        earlier = st.lists(st.integers(0, number - 1), max_size=3, unique=True) if number else st.just([])
        plan.append(
            {
                "kind": kind,
                "parents": draw(earlier),
                "rule": draw(st.sampled_from(rules)),
                "optional": draw(st.integers(0, 4)) == 0,
                "size": draw(st.integers(0, 4)),
                "batch": draw(st.sampled_from([None, None, 1, 2])),
                "names": draw(st.lists(st.sampled_from("abc"), max_size=2)),
            }
        )
    return plan
