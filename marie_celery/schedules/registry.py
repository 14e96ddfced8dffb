"""Schedules in code: `schedule(invoice, "0 2 * * *", timezone="Europe/Berlin")` beside the dag."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from marie_celery.authoring.dag import Dag
from marie_celery.errors import ConfigError
from marie_celery.schedules.schedule import Catchup, Overlap, Schedule

#: Every schedule of this program by name. A scheduler that starts puts them into Redis.
SCHEDULES: dict[str, Schedule] = {}


def schedule(
    dag: Dag[..., Any],
    cron: str,
    *,
    name: str | None = None,
    timezone: str = "UTC",
    jitter: float = 0.0,
    catchup: Catchup | str = Catchup.LATEST,
    overlap: Overlap | str = Overlap.ALLOW,
    start: datetime | None = None,
    end: datetime | None = None,
    paused: bool = False,
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    **options: Any,
) -> Schedule:
    """Submit the dag by the calendar. Options: see `RunOptions`; the name is that of the dag if none is given."""
    made = Schedule.make(
        name=name or dag.name,
        dag=dag.name,
        cron=cron,
        timezone=timezone,
        jitter=jitter,
        catchup=catchup,
        overlap=overlap,
        start=start,
        end=end,
        paused=paused,
        args=list(args),
        kwargs=dict(kwargs or {}),
        options=options,
    )
    check_arguments(made, dag)
    known = SCHEDULES.get(made.name)
    if known is not None and known != made:
        raise ConfigError(f"two schedules are called '{made.name}'; give one another name")
    SCHEDULES[made.name] = made
    return made


def check_arguments(schedule: Schedule, dag: Dag[..., Any]) -> None:
    """Raises if the dag does not take the arguments: better now than at night."""
    try:
        inspect.signature(dag.function).bind(*schedule.args, **schedule.kwargs)
    except TypeError as error:
        raise ConfigError(f"schedule '{schedule.name}' was refused: dag '{dag.name}': {error}") from None
