"""What a job says of itself and its children, so that nobody has to look for what is not there."""

from __future__ import annotations

from collections.abc import Sequence

from marie_celery.model.joins import JoinRule

# Fields of a job that decide more than its place.
_SPECIAL = frozenset(
    (
        *("control", "rule", "optional", "gate", "final", "needs", "tenant", "time_limit", "soft_time_limit", "relay"),
        *("ask_again", "batch"),
    )
)


def add_what_is_behind(
    fields: Sequence[dict[str, str]], parents: Sequence[Sequence[int]], children: Sequence[Sequence[int]]
) -> None:
    """The fields `plain` and `behind` for each job of a graph.

    `plain` has a job with nothing special: a few of its fields are enough to begin it. `behind` is read when the job
    has completed (`include/release.lua`):

    `next`: there is one child that has no other parent, and nothing special. `alone`: its children have no other
    parent. `all`: they wait for all of theirs. Where nothing of this holds there is no such field.
    """
    alone = [len(each) == 1 for each in parents]
    for own in fields:
        if _SPECIAL.isdisjoint(own):
            own["plain"] = "1"
    for own, below in zip(fields, children, strict=True):
        if not below:
            continue
        if all(map(alone.__getitem__, below)):
            own["behind"] = "next" if len(below) == 1 and "plain" in fields[below[0]] else "alone"
        elif all(fields[child].get("rule") != JoinRule.ONE_SUCCESS for child in below):
            own["behind"] = "all"
