"""Each pipeline as a whole: in this process, and on a cluster."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from marie_celery import RunFailed, RunState
from marie_celery.testing import (
    ClusterBench,
    LocalBench,
    assert_order,
    assert_states,
    attempts,
    reasons,
)
from workers.pipelines import document, read_scans, read_texts

Bench = LocalBench | ClusterBench


@pytest.fixture(params=["marie_local", "marie_cluster"])
def bench(request: pytest.FixtureRequest) -> Bench:
    found: Bench = request.getfixturevalue(request.param)
    return found


def facts(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.with_suffix(".json").read_text())
    return found


class TestDocument:
    def test_says_what_each_document_is(self, bench: Bench, post: list[Path]) -> None:
        for path in post:
            report = bench.run(document, str(path)).result()
            assert (report["document"], report["label"]) == (path.name, facts(path)["label"])
            assert report["pages"] == len(facts(path)["pages"])

    def test_splits_first_and_sorts_last(self, bench: Bench, post: list[Path]) -> None:
        run = bench.run(document, str(post[0]))
        assert_order(run, "split", "read_texts", "sort")
        assert_order(run, "split", "read_scans", "sort")

    def test_gives_up_at_once_on_a_file_that_is_not_there(self, bench: Bench) -> None:
        run = bench.run(document, "nowhere.pdf")
        assert_states(run, split="failed", read_texts="skipped", read_scans="skipped", sort="skipped")
        assert (attempts(run)["split"], reasons(run)["split"]) == (1, "gave_up")
        with pytest.raises(RunFailed, match=r"split: DocumentError: there is no file nowhere\.pdf"):
            run.result()

    def test_reads_again_what_failed(self, bench: Bench, post: list[Path]) -> None:
        bench.faults.fail(read_texts, times=2, message="the scanner is jammed")
        run = bench.run(document, str(post[0]))
        assert (run.wait(), attempts(run)["read_texts"]) == (RunState.COMPLETED, 3)

    def test_fails_if_a_page_cannot_be_read_at_all(self, bench: Bench, post: list[Path]) -> None:
        bench.faults.fail(read_scans, times=3, message="the scanner is broken")
        run = bench.run(document, str(post[0]))
        assert_states(run, split="completed", read_texts="completed", read_scans="failed", sort="skipped")
        with pytest.raises(RunFailed, match=r"InjectedError: the scanner is broken \(attempt 3\)"):
            run.result()

    def test_survives_the_death_of_the_process_that_reads(self, bench: Bench, post: list[Path]) -> None:
        bench.faults.kill(read_scans)
        run = bench.run(document, str(post[0]))
        assert (run.wait(), attempts(run)["read_scans"]) == (RunState.COMPLETED, 2)
        assert bench.faults.left == 0


def test_retries_take_no_time_in_this_process(marie_local: LocalBench, post: list[Path]) -> None:
    began = marie_local.clock.monotonic()
    marie_local.faults.fail(read_texts, times=2)
    assert marie_local.run(document, str(post[0])).state is RunState.COMPLETED
    assert marie_local.clock.monotonic() - began == 2 + 4, "as the policy says: 2 s, then twice that"
