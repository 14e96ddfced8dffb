"""`resources`, `resize`, `target`, `drain`, `tenants`, on a server of their own and without any scheduler."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
import redis

from marie_celery.config import Settings
from marie_celery.embedded import EmbeddedServer
from marie_celery.store.store import Store
from tests.redis.redis_runs import EXECUTOR, WORKER, begin, first_job, give_capacity, job, new_run, running, submit
from tests.redis.resource_kit import declare, needing, ready_jobs
from tests.unit.cli.cli_kit import Command, WriteApp, assert_refused, assert_refused_in_json


@pytest.fixture(scope="module")
def client() -> Iterator[redis.Redis]:
    with EmbeddedServer() as server, redis.Redis.from_url(server.url, decode_responses=True) as made:
        made.url = server.url
        yield made


@pytest.fixture
def store(client: redis.Redis) -> Store:
    client.flushall()
    return Store(client, Settings())


@pytest.fixture
def app(write_app: WriteApp, client: redis.Redis, monkeypatch: pytest.MonkeyPatch) -> str:
    name = write_app()
    monkeypatch.setenv("MARIE_REDIS_URL", client.url)
    return name


class TestResources:
    def test_lists_all_of_them(self, command: Command, app: str, store: Store) -> None:
        assert command(app, "resources").stdout.startswith("no resources yet")
        declare(store, "memory", quantity=8, on_shortage="skip")
        declare(store, "gpu", kind="discrete", items="g1,g2")
        declare(store, "mails", kind="rate", rate=0.5, burst=4)
        declare(store, "customer", kind="concurrency", limit=2)
        command(app, "resize", "memory", "--by", "-2")
        first, *_ = ready_jobs(store, needing("a", memory=4, customer=(1, "acme")), needing("b", memory=4))
        begin(store, first)
        _, *lines = command(app, "resources").stdout.splitlines()
        assert [line.split() for line in lines] == [
            ["customer", "concurrency", "2", "under", "each", "key", "1", "under", "1", "key", "0"],
            ["gpu", "discrete", "g1,", "g2", "0/2", "0"],
            ["mails", "rate", "0.5", "per", "second,", "burst", "4", "0", "of", "4", "tokens", "0"],
            ["memory", "quantity", "6", "units", "4/6", "1", "skip", "declared", "as", "8", "units"],
        ]
        found = {each["name"]: each for each in json.loads(command(app, "resources", "--json").stdout)}
        memory = found["memory"]
        assert (memory["size"], memory["used"], memory["waiting"], memory["used_by_key"]) == (6, 4, 1, {"": 4})
        assert (memory["declared"], memory["current"]) == ({"quantity": 8}, {"quantity": 6})
        assert (found["gpu"]["free"], found["mails"]["tokens"]) == (["g1", "g2"], 4.0)

    def test_of_one_it_names_who_has_it_and_who_waits(self, command: Command, app: str, store: Store) -> None:
        declare(store, "gpu", kind="discrete", items="g1,g2")
        first, second = ready_jobs(store, needing("a", gpu=2), needing("b", gpu=1))
        begin(store, first)
        command(app, "resize", "gpu", "--remove", "g2")
        assert [line.split() for line in command(app, "resources", "gpu").stdout.splitlines()] == [
            ["gpu:", "discrete,", "g1,", "2/1", "in", "use"],
            ["declared", "as", "g1,", "g2;", "g2", "will", "leave", "when", "given", "back"],
            ["holder", "amount", "key", "items", "worker"],
            [f"{first}.1", "2", "g1,", "g2", WORKER],
            ["1", "in", "line"],
            ["job", "name", "executor", "asks", "for"],
            [second, "b", EXECUTOR, "1"],
        ]
        answer = json.loads(command(app, "resources", "gpu", "--json").stdout)
        assert answer["holdings"] == [
            {"attempt": f"{first}.1", "amount": 2, "key": "", "items": ["g1", "g2"], "worker": WORKER}
        ]
        assert answer["lines"][0]["first"] == [{"job_id": second, "name": "b", "executor": EXECUTOR, "amount": 1}]

    def test_one_with_a_manager_of_its_own_names_it(self, command: Command, app: str, store: Store) -> None:
        declare(store, "berth", kind="own", manager="harbour:Berths")
        (row,) = command(app, "resources").stdout.splitlines()[1:]
        assert row.split() == ["berth", "own", "as", "harbour:Berths", "decides", "0", "0"]
        refused = command(app, "resize", "berth", "--by", "1")
        assert_refused(refused, "resource 'berth': its manager decides how much there is")

    def test_an_unknown_one_is_refused(self, command: Command, app: str, store: Store) -> None:
        declare(store)
        assert_refused(command(app, "resources", "gpus"), "there is no resource 'gpus'; there are gpu")
        assert_refused_in_json(command(app, "resources", "gpus", "--json"), "there is no resource 'gpus'")


class TestResize:
    @pytest.mark.parametrize(
        ("fields", "options", "line"),
        [
            ({"kind": "quantity", "quantity": 2}, ("--by", "+3"), "2 units → 5 units"),
            ({"kind": "quantity", "quantity": 2}, ("--by", "-2"), "2 units → 0 units"),
            ({"kind": "concurrency", "limit": 1}, ("--by", "1"), "1 under each key → 2 under each key"),
            ({"kind": "discrete", "items": "a,b"}, ("--add", "c, d", "--remove", "a"), "a, b → b, c, d"),
            ({"kind": "discrete", "items": "a,b"}, ("--add", "b"), "a, b, as before"),
            (
                {"kind": "rate", "rate": 5, "burst": 2},
                ("--rate", "-2.5", "--by", "1"),
                "5 per second, burst 2 → 2.5 per second, burst 3",
            ),
        ],
    )
    def test_tells_before_and_after(
        self,
        command: Command,
        app: str,
        store: Store,
        fields: dict[str, object],
        options: tuple[str, ...],
        line: str,
    ) -> None:
        declare(store, "it", **fields)
        assert command(app, "resize", "it", *options).stdout == f"it: {line}\n"

    def test_is_json_for_programs(self, command: Command, app: str, store: Store) -> None:
        declare(store, "gpu", quantity=2)
        answer = json.loads(command(app, "resize", "gpu", "--by", "+1", "--json").stdout)
        assert answer == {"resource": "gpu", "before": {"quantity": 2}, "after": {"quantity": 3}}

    @pytest.mark.parametrize(
        ("options", "words"),
        [
            (("--by", "-3"), "resource 'gpu': quantity"),
            (("--by", str(10**30)), "resource 'gpu': quantity"),
            (("--rate", "1"), "a quantity resource has no 'rate' to change"),
            (("--add", "a"), "a quantity resource has no 'add' to change"),
        ],
    )
    def test_what_cannot_be_is_refused(
        self, command: Command, app: str, store: Store, options: tuple[str, ...], words: str
    ) -> None:
        declare(store, "gpu", quantity=2)
        assert_refused(command(app, "resize", "gpu", *options), words)
        assert store.stock("gpu")[0].size == 2

    def test_a_change_has_to_be_said(self, command: Command, app: str, store: Store) -> None:
        for options in ((), ("--by", "two"), ("--rate", "nan"), ("--rate", "inf"), ("--add", ",")):
            assert command(app, "resize", "gpu", *options).exit_code == 2
        assert_refused(command(app, "resize", "gpu", "--by", "1"), "there is no resource 'gpu'; there are none")


class TestTarget:
    def test_sets_it_and_takes_it_away(self, command: Command, app: str, store: Store) -> None:
        give_capacity(store, slots=2)
        assert command(app, "target", EXECUTOR, "7").stdout == f"{EXECUTOR}: 7 slots\n"
        assert store.capacity()[0].capacity == 7
        assert json.loads(command(app, "target", EXECUTOR, "none", "--json").stdout)["target"] is None
        assert store.capacity()[0].capacity == 2

    def test_an_executor_of_the_app_needs_no_worker_yet(self, command: Command, app: str, store: Store) -> None:
        assert command(app, "target", "main", "3").exit_code == 0

    def test_what_cannot_be_is_refused(self, command: Command, app: str, store: Store) -> None:
        assert_refused(command(app, "target", "nowhere", "3"), "there is no executor 'nowhere'")
        for slots in ("some", "-1", "1.5", str(10**9)):
            assert command(app, "target", "main", slots).exit_code == 2


class TestDrain:
    def test_takes_a_worker_out_of_service_and_back(self, command: Command, app: str, store: Store) -> None:
        assert command(app, "drain").stdout == "no worker is drained\n"
        running(store)
        assert command(app, "drain", WORKER).stdout == f"{WORKER} finishes what it has and gets nothing more\n"
        assert store.capacity()[0].capacity == 0
        assert command(app, "drain").stdout.splitlines()[1].split() == [WORKER, "1", "alive"]
        assert json.loads(command(app, "drain", "--json").stdout) == [{"name": WORKER, "is_alive": True, "jobs": 1}]
        answer = json.loads(command(app, "drain", WORKER, "--undo", "--json").stdout)
        assert answer == {"worker": WORKER, "draining": False}
        assert not store.is_draining(WORKER)

    def test_an_unknown_one_is_refused(self, command: Command, app: str, store: Store) -> None:
        assert_refused(command(app, "drain", "w9"), "there is no live worker 'w9'; there are none")
        assert command(app, "drain", "--undo").exit_code == 2


class TestTenants:
    def test_shows_the_shares_and_idle_weights(self, command: Command, app: str, store: Store) -> None:
        assert command(app, "tenants").stdout.startswith("no tenants yet")
        give_capacity(store)
        assert command(app, "tenants", "acme", "--weight", "3").stdout == "acme weighs 3\n"
        command(app, "tenants", "idle", "--weight", "0.5")
        begin(store, first_job(store, new_run([job("a", estimate=3_000, tenant="acme")])))
        submit(store, new_run([job("b", tenant="zeta")]))
        assert [line.split() for line in command(app, "tenants").stdout.splitlines()[1:]] == [
            [EXECUTOR, "acme", "3", "75%", "1", "0", "0", "s"],
            [EXECUTOR, "zeta", "1", "25%", "0", "1", "1", "s"],
            ["idle", "0.5"],
        ]
        answer = json.loads(command(app, "tenants", "--json").stdout)
        assert answer["weights"] == {"acme": 3.0, "idle": 0.5}
        assert [share["tenant"] for share in answer["shares"]] == ["acme", "zeta"]

    def test_what_cannot_be_is_refused(self, command: Command, app: str, store: Store) -> None:
        assert_refused(command(app, "tenants", "a b", "--weight", "1"), "tenant 'a b' is no name")
        for given in (("acme",), ("--weight", "2"), ("acme", "--weight", "0"), ("acme", "--weight", "heavy")):
            assert command(app, "tenants", *given).exit_code == 2
        assert store.weights() == {}
