"""Jobs that need no worker: they are done the moment they may run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from marie_celery.store.keys import job_id
from marie_celery.store.records import NewRun
from marie_celery.store.store import Store
from tests.redis.redis_runs import (
    AGEING_STEP,
    AT,
    BURST,
    EXECUTOR,
    NOW,
    WORKER,
    advance_to_the_end,
    begin,
    changes,
    complete,
    dag,
    dispatch,
    give_capacity,
    rank,
    run_state,
    states,
    submit,
    with_what_is_behind,
)


def with_controls(
    parents: Mapping[str, Sequence[str]], *controls: str, rules: Mapping[str, str] | None = None
) -> NewRun:
    """A run in which some jobs are no-ops."""
    run = dag(parents, rules)
    jobs = [
        each._replace(fields={**each.fields, "control": "noop"}) if each.fields["name"] in controls else each
        for each in run.jobs
    ]
    numbers = {name: number for number, name in enumerate(parents)}
    above = [[numbers[parent] for parent in each] for each in parents.values()]
    return replace(run, jobs=with_what_is_behind(jobs, above))


def test_a_control_job_at_the_root_is_done_with_the_submission(store: Store) -> None:
    with changes(store) as changed:
        run = submit(store, with_controls({"a": [], "b": ["a"]}, "a"))
    a, b = job_id(run, 0), job_id(run, 1)
    assert changed[f"job:{a}"].items() >= {"state": "completed", "reason": "noop", "at": AT}.items()
    assert changed[f"run:{run}"].items() >= {"completed": "1", "ready": "1", "created": "0", "left": "1"}.items()
    assert changed[f"new:{EXECUTOR}"] == {b: rank(level=1, new=True)}
    assert changed["rerank"] == {b: NOW + AGEING_STEP}
    assert changed["events"] == [
        ("run", run, "", "created", ""),
        ("job", a, "created", "ready", ""),
        ("job", a, "ready", "completed", "noop"),
        ("job", b, "created", "ready", ""),
    ]


def test_a_control_job_in_the_middle_is_done_with_its_last_parent(store: Store) -> None:
    give_capacity(store)
    run = submit(store, with_controls({"a": [], "m": ["a"], "b": ["m"]}, "m"))
    a, middle, b = (job_id(run, number) for number in range(3))
    token = begin(store, a)
    with changes(store) as changed:
        store.finish(a, token, WORKER, "1")
    assert changed[f"job:{middle}"] == {"deps": "0", "state": "completed", "reason": "noop", "at": AT}
    assert changed[f"job:{b}"] == {"deps": "0", "state": "ready", "reason": "", "at": AT}
    assert changed[f"ready:{EXECUTOR}"] == {b: rank(level=2, runtime=128, burst=True)}
    assert changed["rerank"] == {b: NOW + BURST}
    assert changed[f"run:{run}"] == {"active": "0", "completed": "2", "left": "1", "created": "0", "ready": "1"}


def test_a_control_job_takes_no_slot_and_no_worker(store: Store) -> None:
    run = submit(store, with_controls({"a": [], "b": ["a"]}, "a", "b"))
    assert states(store, run) == {"a": "completed", "b": "completed"}
    assert run_state(store, run) == "completed"
    assert store.client.lrange(store.keys.done(run), 0, -1) == ["completed"]
    assert not store.client.exists(store.keys.slots(EXECUTOR), store.keys.new(EXECUTOR), store.keys.rerank)


def test_a_chain_of_control_jobs_longer_than_one_call_is_done_by_advance(store: Store) -> None:
    names = [f"c{number}" for number in range(1_500)]
    parents = {name: names[number - 1 : number] if number else [] for number, name in enumerate(names)}
    run = submit(store, with_controls(parents, *names))
    advance_to_the_end(store)
    assert run_state(store, run) == "completed"
    assert store.client.hget(store.keys.run(run), "completed") == "1500"


def test_a_control_job_obeys_its_join(store: Store) -> None:
    run = submit(store, with_controls({"a": [], "m": ["a"], "b": ["m"]}, "m", rules={"m": "all_success"}))
    store.cancel_job(job_id(run, 0))
    assert states(store, run) == {"a": "cancelled", "m": "skipped", "b": "skipped"}


@pytest.mark.parametrize("first", ["b", "c"])
def test_what_stands_behind_control_jobs_moves_over_when_the_run_begins(store: Store, first: str) -> None:
    give_capacity(store)
    run = submit(store, with_controls({"a": [], "b": ["a"], "c": ["a"]}, "a"))
    numbers = {"b": 1, "c": 2}
    (other,) = numbers.keys() - {first}
    dispatch(store, job_id(run, numbers[first]))
    assert store.client.zrange(store.keys.ready(EXECUTOR), 0, -1) == [job_id(run, numbers[other])]
    assert not store.client.exists(store.keys.new(EXECUTOR))
    complete(store, job_id(run, numbers[other]))
