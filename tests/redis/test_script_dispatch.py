"""dispatch.lua: a slot is booked and the message sent in one step."""

from __future__ import annotations

import json

import pytest

from marie_celery.config import Settings
from marie_celery.model.retry import FailureKind
from marie_celery.store.codes import Code
from marie_celery.store.keys import attempt_id, job_id
from marie_celery.store.records import Message
from marie_celery.store.store import Store
from tests.redis.redis_runs import (
    AT,
    EXECUTOR,
    NOW,
    WORKER,
    changes,
    dispatch,
    dump,
    first_job,
    give_capacity,
    job,
    job_field,
    new_run,
    running,
    submit,
)

MESSAGE = Message("celery", '{"id": "@attempt@", "root": "@run@", "args": "@args@", "kwargs": "@kwargs@"}')


def codes(store: Store, *jobs: str) -> list[int]:
    return [claim.code for claim in store.dispatch((), [(each, 0) for each in jobs])]


def test_the_first_job_takes_a_slot_and_activates_its_run(store: Store) -> None:
    give_capacity(store)
    run = submit(store)
    name = job_id(run, 0)
    store.now_ms = NOW + 10
    with changes(store) as changed:
        assert dispatch(store, name, [MESSAGE]) == 1
    assert changed.pop("celery") and changed == {
        f"job:{name}": {"state": "dispatched", "at": str(NOW + 10), "token": "1"},
        f"new:{EXECUTOR}": {name: None},
        "rerank": {name: None},
        "active": {run: NOW + 10},
        f"slots:{EXECUTOR}": {f"{name}.1": NOW + 5_010},
        f"run:{run}": {
            "state": "active",
            "started_at": str(NOW + 10),
            "ready": "0",
            "dispatched": "1",
        },
        "events": [("job", name, "ready", "dispatched", ""), ("run", run, "created", "active", "")],
        "messages": {f"{EXECUTOR} t - -": f"{MESSAGE.queue_key}\n{MESSAGE.template}"},
    }


def test_the_second_job_of_a_run_only_moves_itself(store: Store) -> None:
    give_capacity(store)
    run = submit(store, new_run([job("a"), job("b")]))
    dispatch(store, job_id(run, 0))
    name = job_id(run, 1)
    with changes(store) as changed:
        dispatch(store, name)
    assert changed == {
        f"job:{name}": {"state": "dispatched", "token": "1"},
        f"ready:{EXECUTOR}": {name: None},
        "rerank": {name: None},
        f"slots:{EXECUTOR}": {f"{name}.1": NOW + 5_000},
        f"run:{run}": {"ready": "0", "dispatched": "2"},
        "events": [("job", name, "ready", "dispatched", "")],
    }


def test_the_message_carries_the_attempt_the_run_and_the_arguments(store: Store) -> None:
    give_capacity(store)
    run = submit(store, new_run([job(inputs='["a/b \\"q\\""]\n{"k": "%1"}')]))
    name = job_id(run, 0)
    dispatch(store, name, [MESSAGE])
    assert json.loads(store.client.lpop("celery")) == {
        "id": attempt_id(name, 1),
        "root": run,
        "args": '["a/b \\"q\\""]',
        "kwargs": '{"k": "%1"}',
    }


def test_a_mark_inside_the_arguments_is_only_text(store: Store) -> None:
    give_capacity(store)
    name = first_job(store, new_run([job(inputs='["@run@"]\n{}')]))
    dispatch(store, name, [MESSAGE])
    assert json.loads(store.client.lpop("celery"))["args"] == '["@run@"]'


@pytest.mark.parametrize("size", [1_023, 1_024])
def test_arguments_up_to_1024_bytes_are_shown_whole(store: Store, size: int) -> None:
    give_capacity(store)
    text = "x" * size
    dispatch(store, first_job(store, new_run([job(inputs=f"{text}\n{text}")])), [MESSAGE])
    sent = json.loads(store.client.lpop("celery"))
    assert (sent["args"], sent["kwargs"]) == (text, text)


def test_longer_arguments_are_cut(store: Store) -> None:
    give_capacity(store)
    text = "x" * 1_025
    dispatch(store, first_job(store, new_run([job(inputs=f"{text}\n{text}")])), [MESSAGE])
    sent = json.loads(store.client.lpop("celery"))
    assert sent["args"] == sent["kwargs"] == "x" * 1_021 + "..."


@pytest.mark.parametrize("lead", ["", "x", "xx", "xxx"])
@pytest.mark.parametrize("letter", ["é", "…", "🦊"])
def test_a_cut_never_splits_a_character(real_store: Store, lead: str, letter: str) -> None:
    give_capacity(real_store)
    text = lead + letter * 1_024
    dispatch(real_store, first_job(real_store, new_run([job(inputs=f"{text}\n{{}}")])), [MESSAGE])
    shown = json.loads(real_store.client.lpop("celery"))["args"]
    fits = (1_021 - len(lead)) // len(letter.encode())
    assert shown == lead + letter * fits + "..."


def test_short_arguments_of_any_script_are_shown(store: Store) -> None:
    give_capacity(store)
    dispatch(store, first_job(store, new_run([job(inputs='["Ünï 🦊"]\n{}')])), [MESSAGE])
    assert json.loads(store.client.lpop("celery"))["args"] == '["Ünï 🦊"]'


def test_each_job_gets_the_message_of_its_number(store: Store) -> None:
    give_capacity(store)
    run = submit(store, new_run([job("a"), job("b"), job("c")]))
    messages = [Message("q1", '"@attempt@"'), Message("q2", '"@run@"')]
    store.dispatch(messages, [(job_id(run, 0), 2), (job_id(run, 1), 1), (job_id(run, 2), 0)])
    assert store.client.lrange("q1", 0, -1) == [f'"{job_id(run, 1)}.1"']
    assert store.client.lrange("q2", 0, -1) == [f'"{run}"']


def test_without_a_free_slot_nothing_changes(store: Store) -> None:
    give_capacity(store, slots=1)
    run = submit(store, new_run([job("a"), job("b"), job("c", executor="other")]))
    a, b, c = (job_id(run, number) for number in range(3))
    assert codes(store, a, b, c) == [Code.OK, Code.FULL, Code.FULL]
    with changes(store) as changed:
        assert codes(store, b, c) == [Code.FULL, Code.FULL]
    assert changed == {}


def test_a_target_overrules_what_workers_report(store: Store) -> None:
    give_capacity(store, slots=5)
    store.client.hset(store.keys.executor(EXECUTOR), "target", 1)
    run = submit(store, new_run([job("a"), job("b")]))
    assert codes(store, job_id(run, 0), job_id(run, 1)) == [Code.OK, Code.FULL]


def test_max_concurrency_is_one_limit_over_all_executors(store: Store) -> None:
    limited = Store(store.client, Settings(max_concurrency=2), now_ms=NOW)
    give_capacity(limited)
    give_capacity(limited, worker="w2", executor="other")
    run = submit(limited, new_run([job("a"), job("b", executor="other"), job("c")]))
    a, b, c = (job_id(run, number) for number in range(3))
    assert codes(limited, a, b, c) == [Code.OK, Code.OK, Code.FULL]
    assert codes(limited, c) == [Code.FULL]
    limited.start(a, 1, WORKER, attempt_id(a, 1))
    limited.finish(a, 1, WORKER, "1")
    assert codes(limited, c) == [Code.OK]


def test_only_a_ready_job_is_dispatched(store: Store) -> None:
    name, token, _ = running(store)
    with changes(store) as changed:
        assert codes(store, name) == [Code.NOT_READY]
        store.finish(name, token, WORKER, "1")
        before = dump(store)
        assert codes(store, name, "0000000000000-000000") == [Code.NOT_READY, Code.NOT_READY]
        assert dump(store) == before
    assert changed[f"job:{name}"] == {"state": "completed"}


def test_nothing_of_a_run_that_is_being_cancelled_is_dispatched(store: Store) -> None:
    give_capacity(store)
    run = submit(store)
    store.client.hset(store.keys.run(run), "cancel", "cancelled")
    with changes(store) as changed:
        assert codes(store, job_id(run, 0)) == [Code.NOT_READY]
    assert changed == {}


def test_another_attempt_has_another_token_and_no_worker_yet(store: Store) -> None:
    name, token, _ = running(store)
    store.fail(name, token, WORKER, FailureKind.CRASH, {})
    assert dispatch(store, name) == token + 1
    assert job_field(store, name, "worker") is None
    assert store.capacity()[0].holders == {attempt_id(name, token + 1): ""}
    assert job_field(store, name, "at") == AT


def test_a_job_listed_twice_is_booked_once(store: Store) -> None:
    give_capacity(store)
    name = first_job(store)
    assert codes(store, name, name) == [Code.OK, Code.NOT_READY]
