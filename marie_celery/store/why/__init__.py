"""Why a job is not running, or what a run waits for: told from the state, which asking never changes.

    ask.py        the question
    walking.py    finding the jobs that the answer has to name
    snapshot.py   one consistent look at Redis
    standing.py   the place in line, as the schedulers would choose
    case.py       a job with what was seen of it
    jobs.py       the reasons of a job
    supplies.py   those that lie in resources, highlanders and tenants
    runs.py       the reasons of a run, by groups of its jobs
    shared.py     those that both have
    records.py    the answer
"""

from __future__ import annotations

from marie_celery.store.why.ask import why
from marie_celery.store.why.records import Because, Reason, Why
from marie_celery.store.why.walking import number_by_name

__all__ = ["Because", "Reason", "Why", "number_by_name", "why"]
