"""Resources, tenants and rates on real workers: limits hold at every moment, and nothing is left over."""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from waiting import eventually

from marie_celery import RunState
from marie_celery.cluster import Cluster
from marie_celery.errors import DagError
from marie_celery.resources import Delta
from marie_celery.store.connection import connect
from marie_celery.store.keys import job_id
from marie_celery.store.store import Store

HERE = Path(__file__).parent
LEASES = {"MARIE_LEASE_TTL_SECONDS": "1.5", "MARIE_RUN_TTL_SECONDS": "3", "MARIE_CONFIG": ""}
CAPACITY = {"a": 2, "b": 3, "c": 5}
SLOTS = {"a": (1, 1), "b": (2, 1), "c": (1, 1, 1, 2)}
WORKERS = {
    f"{executor}{number}": (executor, slots) for executor, each in SLOTS.items() for number, slots in enumerate(each)
}
JOBS = 5_000


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Cluster, ModuleType]]:
    log = tmp_path_factory.mktemp("logs")
    path = os.pathsep.join([str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])])
    with (
        Cluster("resources_app", environment={**LEASES, "PYTHONPATH": path}, log=log) as made,
        pytest.MonkeyPatch.context() as patch,
    ):
        for name in ("CELERY_BROKER_URL", "MARIE_REDIS_URL", *LEASES):
            patch.setenv(name, made.environment[name])
        patch.syspath_prepend(str(HERE))
        import resources_app

        made.start_scheduler()
        for worker in WORKERS:
            start(made, worker)
        store = resources_app.marie.store
        eventually(lambda: {view.name: view.capacity for view in store.capacity()} == CAPACITY, seconds=90)
        yield made, resources_app
        sys.modules.pop("resources_app", None)


@pytest.fixture(autouse=True)
def its_app_is_the_current_one(shared: tuple[Cluster, ModuleType]) -> None:
    shared[1].app.set_current()


def start(cluster: Cluster, worker: str) -> None:
    executor, slots = WORKERS[worker]
    arguments = ["worker", "-Q", executor, "-c", str(slots), "-n", f"{worker}@here", "-l", "warning"]
    cluster.start_celery(worker, [*arguments, "--without-gossip", "--without-mingle"])


def left_over(store: Store) -> dict[str, Any]:
    client, keys = store.client, store.keys
    found: dict[str, Any] = {"bookings": client.hgetall(keys.bookings), "supply": client.zrange(keys.supply, 0, -1)}
    for name in client.hkeys(keys.resources):
        found[f"{name} used"] = client.hgetall(keys.resource_used(name))
        found[f"{name} holders"] = client.hgetall(keys.resource_holders(name))
        all_items, free = keys.resource_items(name), keys.resource_free(name)
        found[f"{name} items"] = set(client.zrange(all_items, 0, -1)) ^ set(client.zrange(free, 0, -1))
    return {what: value for what, value in found.items() if value}


def events(store: Store, after: str) -> list[dict[str, str]]:
    return [fields for _, fields in store.client.xrange(store.keys.events, f"({after}", "+")]


def last_event(store: Store) -> str:
    return str(store.client.xinfo_stream(store.keys.events)["last-generated-id"])


def test_items_reach_the_job_and_its_environment_for_the_time_of_the_job(shared: tuple[Cluster, ModuleType]) -> None:
    _, app = shared
    told, outside, customer = app.one_of_each.submit("acme").result(timeout=60)
    assert len(told["items"]) == 2
    assert set(told["items"]) <= {"g1", "g2", "g3"}
    assert {told[name] for name in app.NAMES} == {",".join(told["items"])}
    assert (outside, customer) == ([], "acme")


def test_what_could_never_be_given_is_refused_at_submit(shared: tuple[Cluster, ModuleType]) -> None:
    _, app = shared
    before = app.marie.store.client.zcard(app.marie.store.keys.runs)
    asked = [("a", 0.0, {"memory": 9}), ("a", 0.0, {"gpu": 4}), ("a", 0.0, {"gpus": 1})]
    with pytest.raises(DagError) as refused:
        app.crowd.submit(asked)
    assert [problem.partition(": ")[2][:40] for problem in refused.value.problems] == [
        "it asks for 9 of resource 'memory', whic",
        "it asks for 4 of resource 'gpu', which h",
        "there is no resource 'gpus' (did you mea",
    ]
    assert app.marie.store.client.zcard(app.marie.store.keys.runs) == before


def test_a_second_caller_gets_the_run_that_waits(shared: tuple[Cluster, ModuleType]) -> None:
    _, app = shared
    first = app.nightly.submit(1.0)
    eventually(lambda: first.status().state is RunState.ACTIVE)
    second = app.nightly.submit(0.0)
    third = app.nightly.submit(0.0)
    assert (second.is_new, third.is_new, third.id) == (True, False, second.id)
    assert second.status().state is RunState.CREATED
    assert (first.result(timeout=60), third.result(timeout=60)) == (1.0, 0.0)
    assert first.status().ended_ms <= second.status().started_ms  # type: ignore[operator]


class Sampler(threading.Thread):
    """Looks again and again whether more is used than there is."""

    def __init__(self, store: Store) -> None:
        super().__init__(daemon=True)
        self.store = store
        self.samples = 0
        self.excess: list[str] = []
        self.ending = threading.Event()

    def run(self) -> None:
        client, keys = self.store.client, self.store.keys
        while not self.ending.wait(0.01):
            with client.pipeline() as pipe:  # one moment
                for executor in CAPACITY:
                    pipe.zcard(keys.slots(executor))
                pipe.hgetall(keys.resource_used("customer"))
                pipe.hvals(keys.resource_holders("gpu"))
                *slots, customers, gpus = pipe.execute()
            self.samples += 1
            for executor, used in zip(CAPACITY, slots, strict=True):
                if used > CAPACITY[executor]:
                    self.excess.append(f"{used} slots of {executor}")
            self.excess += [f"{used} of {key}" for key, used in customers.items() if int(used) > 2]
            items = [item for text in gpus for item in json.loads(text)[2].split(",")]
            self.excess += [f"{item} twice" for item, times in Counter(items).items() if times > 1]


def random_needs(dice: random.Random) -> dict[str, object]:
    needs: dict[str, object] = {}
    if dice.random() < 0.4:
        needs["memory"] = dice.randint(1, 5)
    if dice.random() < 0.3:
        needs["gpu"] = dice.randint(1, 2)
    if dice.random() < 0.3:
        needs["customer"] = dice.choice(["acme", "zeta", "mill"])
    if dice.random() < 0.3:
        needs["calls"] = 1
    return needs


class Ledger:
    """Plays the event log through: whoever is sent takes what it needs, whoever stops being at work gives it back."""

    AT_WORK = ("dispatched", "active")

    def __init__(self, needs: dict[str, list[tuple[str, int, str]]]) -> None:
        self.needs = needs
        self.size: dict[str, int] = {"memory": 8, "gpu": 3, "customer": 2}
        self.used: Counter[tuple[str, str]] = Counter()
        self.ends: Counter[str] = Counter()
        self.dispatches = 0

    def play(self, event: dict[str, str]) -> None:
        if "resource" in event:
            # An item that goes while somebody has it goes when it is given back; the sampler sees that it has one user.
            self.size.update({"memory": json.loads(event["why"])["current"].get("quantity", self.size["memory"])})
        elif "job" in event and not event["to"].startswith("sla"):
            self._job(event)

    def _job(self, event: dict[str, str]) -> None:
        was, goes = event["from"] in self.AT_WORK, event["to"] in self.AT_WORK
        for name, amount, key in self.needs.get(event["job"], ()):
            if name in self.size and was != goes:
                self.used[name, key] += amount if goes else -amount
                if goes:
                    assert self.used[name, key] <= self.size[name], (name, key, event)
        self.dispatches += event["to"] == "dispatched"
        if event["to"] in ("completed", "failed"):
            self.ends[event["job"]] += 1


@pytest.mark.timeout(300)
def test_no_limit_is_ever_exceeded_while_workers_die_and_sizes_change(shared: tuple[Cluster, ModuleType]) -> None:
    cluster, app = shared
    store: Store = app.marie.store
    dice = random.Random(20261118)
    mark = last_event(store)
    sampler = Sampler(Store(connect(app.marie.url), store.settings))
    sampler.start()
    runs = []
    for _ in range(JOBS // 500):
        jobs = [(dice.choice("abc"), dice.choice([0.0, 0.001, 0.004]), random_needs(dice)) for _ in range(500)]
        runs.append(app.crowd.submit(jobs))
    needs = {
        job_id(run.id, number): [tuple(need) for need in json.loads(text or "[]")]
        for run in runs
        for number, text in enumerate(
            store.client.hget(store.keys.job(job_id(run.id, each)), "needs") for each in range(500)
        )
    }
    for fault in range(12):
        # Each at another point of the work: when so many more have ended.
        done = (fault + 1) * JOBS // 14
        eventually(lambda: sum(run.status().done for run in runs) >= done, seconds=120)  # noqa: B023
        worker = dice.choice(sorted(WORKERS))
        os.killpg(cluster.processes[worker].pid, signal.SIGKILL)
        cluster.processes.pop(worker).wait()
        store.resize("memory", Delta(amount=dice.choice([-2, 2]) if fault % 2 == 0 else 0))
        if store.resources()["memory"].most < 6:
            store.resize("memory", Delta(amount=2))
        store.resize("gpu", Delta(remove=("g3",)) if fault % 2 else Delta(add=("g3",)))
        start(cluster, worker)
    for run in runs:
        assert run.wait(timeout=180) is RunState.COMPLETED
    sampler.ending.set()
    sampler.join()
    assert sampler.samples > 100
    assert sampler.excess == []

    ledger = Ledger(needs)  # type: ignore[arg-type]
    for event in events(store, mark):
        ledger.play(event)
    assert set(ledger.ends) >= set(needs)
    assert all(ledger.ends[each] == 1 for each in needs)
    assert not +ledger.used
    assert ledger.dispatches > JOBS, "some were lost with their workers and sent again"
    # What a killed process had is given back when its lease ends.
    eventually(lambda: not left_over(store), seconds=30)
    store.resize("gpu", Delta(add=("g3",)))
    eventually(lambda: {view.name: view.capacity for view in store.capacity()} == CAPACITY, seconds=60)


@pytest.mark.timeout(180)
def test_tenants_get_their_shares_of_the_slot_time(shared: tuple[Cluster, ModuleType]) -> None:
    _, app = shared
    store: Store = app.marie.store
    mark = last_event(store)
    runs = {
        tenant: app.crowd.options(tenant=tenant).submit([("b", seconds, {})] * jobs)
        for tenant, seconds, jobs in (("acme", 0.01, 900), ("zeta", 0.02, 300))
    }
    tenants = {run.id: tenant for tenant, run in runs.items()}
    for run in runs.values():
        assert run.wait(timeout=120) is RunState.COMPLETED
    begun: dict[str, int] = {}
    spans: list[tuple[int, int, str]] = []
    left = Counter({"acme": 900, "zeta": 300})
    for event in events(store, mark):
        job = event.get("job", "")
        if job[:13] not in tenants:
            continue
        if event["to"] == "dispatched":
            begun[job] = int(event["at"])
        elif event["to"] == "completed":
            tenant = tenants[job[:13]]
            spans.append((begun[job], int(event["at"]), tenant))
            left[tenant] -= 1
            if not left[tenant]:
                break  # from here on the other one has it all
    first = min(start for start, _, _ in spans)
    had = Counter[str]()
    for start_ms, end_ms, tenant in spans:
        if start_ms > first + 500:
            had[tenant] += end_ms - start_ms
    share = had["acme"] / had.total()
    print(f"slot time: acme {share:.1%}, zeta {1 - share:.1%} of {had.total() / 1000:.1f} s")
    assert abs(share - 0.75) <= 0.03


@pytest.mark.timeout(120)
def test_a_rate_is_held_across_workers(shared: tuple[Cluster, ModuleType]) -> None:
    _, app = shared
    store: Store = app.marie.store
    mark = last_event(store)
    run = app.crowd.submit([("c", 0.0, {"mails": 1})] * 1_100)
    assert run.wait(timeout=60) is RunState.COMPLETED
    starts = sorted(
        int(event["at"])
        for event in events(store, mark)
        if event.get("job", "").startswith(run.id) and event["to"] == "active"
    )
    workers = {job.worker for job in run.jobs()}
    first = starts[100]
    in_20_s = sum(first <= at < first + 20_000 for at in starts)
    print(f"{in_20_s} starts in 20 s on {len(workers)} workers")
    assert len(workers) == 4
    assert abs(in_20_s - 1_000) <= 20
