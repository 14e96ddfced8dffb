"""The life of jobs and runs in Redis: one method per transition, each one atomic script.

    life.py        submit, start, progress, finish, skip, wait, fail
    expanding.py   claim_map, expand, expand_graphs, refuse_map
    duties.py      peek, dispatch, promote, rerank, watch, reap, reconcile, prune, advance
    workforce.py   renew, leave, drain, take_back, set_target, set_weight, capacity, shares
    steering.py    cancel, reprioritise, hold, let_go, replay, replan
    command.py     enlist, retire, command, answer
    resources.py   declare, resize, supply, stock
    grants.py      claims, grant: managers of the user's own
    schedules.py   put, remove, look, claim, resume, fired, fire: the slots of schedules

Reading is in `reading.py`, connecting in `connection.py`.
"""

from __future__ import annotations

from marie_celery.store.command import Commanding
from marie_celery.store.duties import Duties
from marie_celery.store.expanding import Expanding
from marie_celery.store.grants import Granting
from marie_celery.store.life import Life
from marie_celery.store.resources import Resourcing
from marie_celery.store.schedules import Scheduling
from marie_celery.store.steering import Steering
from marie_celery.store.workforce import Workforce


class Store(Life, Expanding, Duties, Workforce, Steering, Commanding, Scheduling, Resourcing, Granting):
    """All changes of state."""
