"""What users test with, tested: it must be able to fail."""

from __future__ import annotations

from typing import Any

import pytest

from marie_celery import RunState, current_job, dag, task
from marie_celery.testing import LocalBench, assert_order, assert_states, attempts, order, reasons


@task(executor="main", name="testing.first", retry_delay=7)
def first() -> int:
    return current_job().attempt


@task(executor="main", name="testing.second")
def second(x: int) -> int:
    return x


@dag(name="testing.pair")
def pair() -> Any:
    return second.options(name="later")(first())


def test_a_bench_runs_a_dag_while_time_stands_still(marie_local: LocalBench) -> None:
    before = marie_local.clock.epoch_us()
    run = marie_local.run(pair)
    assert (run.result(), run.status().created_ms, run.status().ended_ms) == (1, before // 1000, before // 1000)


def test_attempts_fail_on_order_and_only_so_many(marie_local: LocalBench) -> None:
    marie_local.faults.fail(first, times=2, message="jammed")
    run = marie_local.run(pair)
    assert (run.result(), attempts(run), marie_local.faults.left) == (3, {"first": 3, "later": 1}, 0)
    assert run.job("first").error is not None
    assert run.job("first").error["message"] == "jammed (attempt 2)"
    assert marie_local.run(pair).result() == 1, "the order is done, and the task is as it was"


def test_orders_are_obeyed_by_calls_with_other_options_too(marie_local: LocalBench) -> None:
    marie_local.faults.fail(second)
    assert attempts(marie_local.run(pair))["later"] == 2


def test_a_killed_attempt_counts_as_lost(marie_local: LocalBench) -> None:
    marie_local.faults.kill(first, times=3)
    run = marie_local.run(pair)
    assert (run.state, reasons(run)["first"]) == (RunState.FAILED, "poison")


def test_orders_that_nobody_carried_out_can_be_seen_and_taken_back(marie_local: LocalBench) -> None:
    marie_local.faults.fail(first, times=3)
    assert marie_local.faults.left == 3
    marie_local.faults.clear()
    assert marie_local.run(pair).state is RunState.COMPLETED


def test_assertions_on_runs_can_fail(marie_local: LocalBench) -> None:
    run = marie_local.run(pair)
    assert order(run) == ["first", "later"]
    assert_states(run, first="completed")
    with pytest.raises(AssertionError):
        assert_states(run, first="failed")
    with pytest.raises(AssertionError):
        assert_states(run, nobody="completed")
    assert_order(run, "first", "later")
    with pytest.raises(AssertionError, match="first was begun before later"):
        assert_order(run, "later", "first")
    with pytest.raises(AssertionError, match="never begun: nobody"):
        assert_order(run, "first", "nobody")


def test_a_cluster_without_an_app_says_what_to_do(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_it(marie_cluster): pass")
    result = pytester.runpytest_subprocess("-p", "marie_celery.testing", "-p", "no:cacheprovider")
    result.stdout.fnmatch_lines(["*marie_cluster has to know your app: define a fixture marie_app*"])
