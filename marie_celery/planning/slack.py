"""Least slack first: who has to start soonest to be done in time.

The slack of a job is what is left until its deadline when the longest path behind it is taken off:

    slack = deadline − now − remaining path

All slacks shrink alike, so their order is that of `deadline − remaining path`, the latest start. It does not
move with time, and a waiting job keeps its place until something really happens to it. What can happen is
that the latest start passes. That deadline cannot be met any more, and running the job first could only make
others late with it, so the job goes on to its next deadline: from the soft to the hard one, and then to
the last resort.

The last resort is a deadline that every job has: `slack_patience` after its submission for priority 0, half
of that for `normal`, none for `critical`. It is never given up. So a job without SLA, or one that is late
anyhow, waits behind those that can still be saved, but not for ever: once the last resort has passed, only
older promises stand before it.

Each point of user priority is worth a tenth of a second of slack.
"""

from __future__ import annotations

from marie_celery.planning.planner import KeyedPlanner
from marie_celery.planning.settings import PlanningSettings


class SlackExecutionPlanner(KeyedPlanner):
    """By the latest start that still meets a deadline, the soonest first."""

    def __init__(self, settings: PlanningSettings | None = None) -> None:
        super().__init__(("latest_start", "user_priority", "fifo"), settings)
