"""submit.lua: a run is accepted whole or not at all."""

from __future__ import annotations

import pytest

from marie_celery.errors import DuplicateRun
from marie_celery.model.retry import FailureKind, RetryPolicy
from marie_celery.store.keys import job_id
from marie_celery.store.store import Store
from tests.redis.redis_runs import (
    AGEING_STEP,
    AT,
    EXECUTOR,
    NOW,
    begin,
    changes,
    complete,
    dag,
    give_capacity,
    job,
    new_run,
    rank,
    run_state,
    states,
    submit,
)

RUN_ID = f"{NOW * 1000:013x}"


def test_a_run_is_stored_and_its_roots_are_ready(store: Store) -> None:
    with changes(store) as changed:
        run = submit(store, dag({"a": [], "b": ["a"]}, key="k"))
    assert run == RUN_ID
    a, b = job_id(run, 0), job_id(run, 1)
    assert changed == {
        "clock": str(NOW * 1000),
        "events": [("run", run, "", "created", ""), ("job", a, "created", "ready", "")],
        "executors": [EXECUTOR],
        f"job:{a}": {
            "task": "t",
            "name": "a",
            "executor": EXECUTOR,
            "level": "0",
            "priority": "50",
            "spec": "0",
            "children": "1",
            "behind": "next",
            "plain": "1",
            "state": "ready",
            "at": AT,
            "reason": "",
        },
        f"job:{b}": {
            "task": "t",
            "name": "b",
            "executor": EXECUTOR,
            "level": "1",
            "priority": "50",
            "spec": "0",
            "deps": "1",
            "parents": "1",
            "plain": "1",
            "state": "created",
        },
        f"new:{EXECUTOR}": {a: rank(new=True)},
        "rerank": {a: NOW + AGEING_STEP},
        f"run:{run}": {
            "dag": "d",
            "priority": "50",
            "roots": "0",
            "key": "k",
            "jobs": "2",
            "left": "2",
            "state": "created",
            "created_at": AT,
            "created": "1",
            "ready": "1",
        },
        f"run:{run}:inputs": {"0": "[]\n{}", "1": "[]\n{}"},
        f"run:{run}:specs": {"0": RetryPolicy().model_dump_json()},
        "run-keys": {"k": run},
        "runs": {run: NOW},
        "wake": ["1"],
    }


def test_ids_increase_in_the_order_of_submission_even_when_the_clock_stands_or_goes_back(
    store: Store,
) -> None:
    ids = [submit(store) for _ in range(20)]
    store.now_ms = NOW - 5_000
    ids.append(submit(store))
    store.now_ms = NOW + 1
    ids.append(submit(store))
    store.now_ms = None
    ids.append(submit(store))
    assert ids == sorted(set(ids))
    assert {len(each) for each in ids} == {13}


def slas(store: Store, run: str, number: int) -> tuple[str | None, str | None]:
    soft, hard = store.client.hmget(store.keys.job(job_id(run, number)), "soft", "hard")
    return soft, hard


def test_spans_become_moments_and_jobs_inherit_what_they_do_not_set(store: Store) -> None:
    jobs = [job("plain"), job("own", sla=1, soft_in=1_000, hard_in=2_000), job("moment", sla=1, soft=NOW + 77)]
    run = submit(store, new_run(jobs, soft_in=5_000, hard=NOW + 9_000))
    assert [slas(store, run, number) for number in range(3)] == [
        (str(NOW + 5_000), str(NOW + 9_000)),
        (str(NOW + 1_000), str(NOW + 2_000)),
        (str(NOW + 77), str(NOW + 9_000)),
    ]
    stored = [store.client.hgetall(store.keys.job(job_id(run, number))) for number in range(3)]
    assert not any(field.endswith("_in") for each in stored for field in each)
    assert store.client.hmget(store.keys.run(run), "soft", "hard", "soft_in") == [
        str(NOW + 5_000),
        str(NOW + 9_000),
        None,
    ]


def test_runs_and_jobs_with_slas_of_their_own_are_watched_from_their_first_one(store: Store) -> None:
    jobs = [job("plain"), job("soft", sla=1, soft=NOW + 3), job("hard", sla=1, hard_in=4), job("none", sla=1)]
    run = submit(store, new_run(jobs, soft_in=1_000, hard=NOW + 9_000))
    assert store.client.zrange(store.keys.sla, 0, -1, withscores=True) == [
        (job_id(run, 1), NOW + 3),
        (job_id(run, 2), NOW + 4),
        (run, NOW + 1_000),
        (job_id(run, 3), NOW + 1_000),
    ]


def test_a_run_with_a_hard_sla_only_is_watched_for_that(store: Store) -> None:
    run = submit(store, new_run([job()], hard_in=7))
    assert store.client.zrange(store.keys.sla, 0, -1, withscores=True) == [(run, NOW + 7)]
    submit(store)
    assert store.client.zcard(store.keys.sla) == 1


def test_a_hard_sla_of_its_own_before_the_soft_one_of_its_run_stands_alone(store: Store) -> None:
    run = submit(store, new_run([job("early", sla=1, hard_in=500), job("plain")], soft_in=1_000, hard_in=2_000))
    assert slas(store, run, 0) == (None, str(NOW + 500))
    assert slas(store, run, 1) == (str(NOW + 1_000), str(NOW + 2_000))
    assert store.client.zscore(store.keys.sla, job_id(run, 0)) == NOW + 500


def test_a_soft_sla_of_its_own_after_the_hard_one_of_its_run_means_nothing(store: Store) -> None:
    run = submit(store, new_run([job(sla=1, soft_in=5_000)], hard_in=2_000))
    assert slas(store, run, 0) == (None, str(NOW + 2_000))
    assert store.client.zscore(store.keys.sla, job_id(run, 0)) == NOW + 2_000


HOLDERS = ["created", "active", "completed", "failed", "cancelled"]


def holder(store: Store, state: str) -> str:
    """A run with the key whose state is this one."""
    give_capacity(store)
    run = submit(store, new_run([job()], key="k"))
    name = job_id(run, 0)
    if state == "active":
        begin(store, name)
    elif state == "completed":
        complete(store, name)
    elif state == "failed":
        store.fail(name, begin(store, name), "w1", FailureKind.FAILURE, {}, give_up=True)
    elif state == "cancelled":
        store.cancel_run(run)
    assert run_state(store, run) == state
    return run


@pytest.mark.parametrize(
    ("policy", "accepted"),
    [
        ("allow_all", {"created", "active", "completed", "failed", "cancelled"}),
        ("allow_duplicate", {"completed", "failed", "cancelled"}),
        ("reject_duplicate", {"failed", "cancelled"}),
        ("reject_all", set()),
        ("replace", {"created", "active", "completed", "failed", "cancelled"}),
    ],
)
@pytest.mark.parametrize("state", HOLDERS)
def test_a_second_run_with_the_key(store: Store, policy: str, accepted: set[str], state: str) -> None:
    first = holder(store, state)
    again = new_run([job()], key="k", duplicates=policy)
    if state in accepted:
        second = submit(store, again)
        assert store.client.hget(store.keys.run_keys, "k") == second
        replaced = policy == "replace" and state in {"created", "active"}
        assert run_state(store, first) == ("cancelled" if replaced else state)
        assert states(store, second) == {"a": "ready"}
    else:
        with changes(store) as changed, pytest.raises(DuplicateRun) as refusal:
            submit(store, again)
        assert first in str(refusal.value)
        assert changed == {}


def test_a_replaced_run_says_so_and_the_new_one_starts(store: Store) -> None:
    first = submit(store, dag({"a": [], "b": ["a"]}, key="k"))
    second = submit(store, new_run([job(), job("b")], key="k", duplicates="replace"))
    assert states(store, first) == {"a": "cancelled", "b": "cancelled"}
    assert store.client.hget(store.keys.run(first), "cancel") == "replaced"
    assert states(store, second) == {"a": "ready", "b": "ready"}
