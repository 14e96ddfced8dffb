"""Runs to submit, short ways through the life of a job, and what changed in Redis."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from marie_celery.authoring.behind import add_what_is_behind
from marie_celery.model.graph import lay_out
from marie_celery.model.ranges import pack
from marie_celery.model.retry import RetryPolicy
from marie_celery.planning import planner
from marie_celery.planning.policy import policy_fields
from marie_celery.store.keys import attempt_id, job_id
from marie_celery.store.records import Message, NewJob, NewRun
from marie_celery.store.store import Store

NOW = 1_767_268_800_000
AT = str(NOW)
EXECUTOR = "ocr"
WORKER = "w1"

AGEING_STEP = 300_000
"""A waiting job is raised every sixth of starvation_timeout."""
BURST = 10_000

Dump = dict[str, Any]


def job(name: str = "a", *, inputs: str = "[]\n{}", **fields: object) -> NewJob:
    known = {"task": "t", "name": name, "executor": EXECUTOR, "level": 0, "priority": 50, "spec": 0, **fields}
    return NewJob({field: str(value) for field, value in known.items()}, inputs)


def new_run(
    jobs: Sequence[NewJob],
    *,
    roots: Sequence[int] | None = None,
    key: str = "",
    duplicates: str = "reject_duplicate",
    policy: RetryPolicy | None = None,
    **fields: object,
) -> NewRun:
    known = {
        "dag": "d",
        "priority": 50,
        "roots": pack(range(len(jobs)) if roots is None else roots),
        **fields,
    }
    if key:
        known["key"] = key
    return NewRun(
        fields={field: str(value) for field, value in known.items()},
        specs={"0": (policy or RetryPolicy()).model_dump_json()},
        executors=sorted({each.fields["executor"] for each in jobs}),
        jobs=jobs,
        key=key,
        duplicates=duplicates,
    )


def dag(
    parents: Mapping[str, Sequence[str]], rules: Mapping[str, str] | None = None, **fields: Any
) -> NewRun:
    """A run from job → its parents, parents first."""
    numbers = {name: number for number, name in enumerate(parents)}
    above_each = [[numbers[parent] for parent in above] for above in parents.values()]
    levels: dict[str, int] = {}
    jobs = []
    for name, above in parents.items():
        levels[name] = 1 + max((levels[parent] for parent in above), default=-1)
        more: dict[str, object] = {"level": levels[name]}
        children = [numbers[child] for child, others in parents.items() if name in others]
        if children:
            more["children"] = pack(children)
        if above:
            more |= {"deps": len(above), "parents": len(above)}
        if rules and name in rules:
            more["rule"] = rules[name]
        jobs.append(job(name, **more))
    roots = [numbers[name] for name, above in parents.items() if not above]
    return new_run(with_what_is_behind(jobs, above_each), roots=roots, **fields)


def without_what_is_behind(fields: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in fields.items() if name not in ("behind", "plain")}


def with_what_is_behind(jobs: Sequence[NewJob], parents: Sequence[Sequence[int]]) -> list[NewJob]:
    fields = [without_what_is_behind(each.fields) for each in jobs]
    add_what_is_behind(fields, parents, lay_out(parents).children)
    return [NewJob(own, each.inputs) for own, each in zip(fields, jobs, strict=True)]


def submit(store: Store, run: NewRun | None = None) -> str:
    return store.submit(run or new_run([job()]))


def first_job(store: Store, run: NewRun | None = None) -> str:
    """Submit a run, get the id of its first job."""
    return job_id(submit(store, run), 0)


def give_capacity(store: Store, slots: int = 10, worker: str = WORKER, executor: str = EXECUTOR) -> None:
    store.renew(worker, {"host": "h"}, {executor: slots})


def dispatch(store: Store, job: str, messages: Sequence[Message] = ()) -> int:
    (claim,) = store.dispatch(messages, [(job, len(messages))])
    assert claim.code == 0, claim
    return claim.token


def begin(store: Store, job: str, worker: str = WORKER) -> int:
    """Bring a ready job to a worker."""
    token = dispatch(store, job)
    assert store.start(job, token, worker, attempt_id(job, token))
    return token


def running(store: Store, run: NewRun | None = None) -> tuple[str, int, str]:
    """A run whose first job is active: the job, its token and its attempt."""
    give_capacity(store)
    name = first_job(store, run)
    token = begin(store, name)
    return name, token, attempt_id(name, token)


def complete(store: Store, job: str) -> None:
    assert store.finish(job, begin(store, job), WORKER, "1")


def states(store: Store, run: str) -> dict[str, str]:
    """Name → state of all jobs."""
    found = {}
    total = int(store.client.hget(store.keys.run(run), "jobs"))
    for number in range(total):
        name, state = store.client.hmget(store.keys.job(job_id(run, number)), "name", "state")
        found[name] = state
    return found


def run_state(store: Store, run: str) -> str:
    return str(store.client.hget(store.keys.run(run), "state"))


def job_field(store: Store, job: str, field: str) -> str | None:
    value: str | None = store.client.hget(store.keys.job(job), field)
    return value


def advance_to_the_end(store: Store) -> int:
    """How many calls it took."""
    calls = 1
    while store.advance():
        calls += 1
        assert calls < 10_000
    return calls


def watch_to_the_end(store: Store) -> None:
    """Note missed SLAs, again and again, as several schedulers would."""
    for _ in range(3):
        store.watch()
        advance_to_the_end(store)


def dump(store: Store) -> Dump:
    """Everything in Redis by key, without the namespace; the stream as (subject, id, from, to, why)."""
    client = store.client
    found: Dump = {}
    for key in client.scan_iter(count=1000):
        match client.type(key):
            case "hash":
                value: Any = client.hgetall(key)
            case "zset":
                value = {member: int(score) for member, score in client.zrange(key, 0, -1, withscores=True)}
            case "set":
                value = sorted(client.smembers(key))
            case "list":
                value = client.lrange(key, 0, -1)
            case "stream":
                value = [_event(fields) for _, fields in client.xrange(key)]
            case _:
                value = client.get(key)
        found[key.removeprefix(store.keys.prefix)] = value
    return found


def _event(fields: Mapping[str, str]) -> tuple[str, str, str, str, str]:
    subject = next(iter(fields))
    return subject, fields[subject], fields["from"], fields["to"], fields.get("why", "")


@contextmanager
def changes(store: Store) -> Iterator[Dump]:
    """All that the block changed: new values of fields and members, None = gone, and new events."""
    store.client.delete(store.keys.wake)
    before = dump(store)
    changed: Dump = {}
    yield changed
    after = dump(store)
    for key in sorted(before.keys() | after.keys()):
        old, new = before.get(key), after.get(key)
        if old == new:
            continue
        if key == "events":
            changed[key] = new[len(old or []) :]
        elif isinstance(old or new, dict):
            old, new = old or {}, new or {}
            fields = old.keys() | new.keys()
            changed[key] = {each: new.get(each) for each in fields if old.get(each) != new.get(each)}
        else:
            changed[key] = new


def rank(level: int = 0, urgency: int = 50, runtime: int = 4095, *, new: bool = False, burst: bool = False) -> int:
    """The rank of a job by the standard planner."""
    fields = ((int(new) << 17 | (131_071 - level)) << 21 | (1_999_999 - urgency)) << 12 | runtime
    return fields << 1 | int(not burst)


def put_in_force(store: Store, name: str, **knobs: Any) -> int:
    """Swap planners as a scheduler does; how many jobs are ranked again."""
    return store.replan(policy_fields(planner(name), name=name, **knobs))
