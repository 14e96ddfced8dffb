"""What operators do to the world."""

from __future__ import annotations

from collections.abc import Collection

from marie_celery.errors import UnknownRun
from marie_celery.model.states import WorkState
from marie_celery.planning import planner
from marie_celery.planning.policy import policy_fields
from marie_celery.store.replaying import Node, descendants, instructions, unfinished
from marie_celery.store.steering import Held
from tests.stateful.reference import ModelJob, ModelRun
from tests.stateful.workforce import Workforce


class Operators(Workforce):
    def cancel_run(self, run: ModelRun) -> None:
        if run.pruned:
            return
        expected = not run.ended
        run.cancelled |= expected
        assert self.store.cancel_run(run.id) == expected
        self._judge()

    def cancel_job(self, job: ModelJob) -> None:
        expected = not job.ended
        assert self.store.cancel_job(job.id) == expected
        self._judge({job.id: "cancelled"} if expected else {})

    def hold(self, kind: Held, which: str, *, holds: bool) -> None:
        expected = True
        if kind == "job":
            job = self.model.job(which)
            expected = not job.ended
            job.held = holds if expected else job.held
        elif kind == "run":
            run = self.model.runs[which]
            expected = not run.ended
            run.paused = holds if expected else run.paused
        elif kind == "task":
            (self.model.held_tasks.add if holds else self.model.held_tasks.discard)(which)
        else:
            (self.model.held_executors.add if holds else self.model.held_executors.discard)(which)
        act = self.store.hold if holds else self.store.let_go
        assert act(kind, which) == expected
        self._judge()

    def replay(self, run: ModelRun, numbers: Collection[int], *, with_descendants: bool) -> None:
        """No numbers: all that did not end well."""
        nodes = {
            number: Node(WorkState(job.state), job.reason, run.shape.children(number))
            for number, job in enumerate(run.jobs)
        }
        chosen = set(numbers) or unfinished(nodes)
        if with_descendants:
            chosen = descendants(nodes, chosen)
        if not chosen:
            return
        replays = int(self.now.runs[run.id].get("replays", 0))
        try:
            self.store.replay(run.id, instructions(nodes, chosen), replays)
        except UnknownRun:
            assert run.pruned
        else:
            assert not run.pruned
            run.replay(chosen)
        self._judge()

    def set_target(self, executor: str, target: int | None) -> None:
        key = self.store.keys.executor(executor)
        if target is None:
            self.store.client.hdel(key, "target")
        else:
            self.store.client.hset(key, "target", target)
        self._judge(wakes=False)

    def replan(self, name: str, most_active_dags: int) -> None:
        self.most_active_dags = most_active_dags
        self.store.replan(policy_fields(planner(name), name=name, max_active_dags=most_active_dags))
        self._judge()

    def reprioritise(self, id: str, priority: int) -> None:
        self.store.reprioritise(id, priority=priority)
        self._judge()

    def prune(self, run: ModelRun) -> None:
        expected = run.ended and not run.pruned
        assert self.store.prune(run.id, self.now_ms) == expected
        run.pruned |= expected
        self._judge()

    def reconcile(self) -> None:
        for run in self.model.runs.values():
            if not run.pruned:
                assert self.store.reconcile(run.id) == {}
        self._judge()
