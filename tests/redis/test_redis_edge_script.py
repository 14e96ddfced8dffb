"""The edge scripts: every structure they touch, leases, lost answers and wake lists."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import fakeredis
import pytest
import redis

from marie_celery.errors import ConfigError, PayloadError
from marie_celery.flow import BLOCK, DROP, LATEST, Kind, Lane, Message, Policy, PutResult, coalesce
from marie_celery.store.edges import EdgeKeys, RedisEdge, RedisEdges
from tests.redis.redis_runs import NOW
from tests.unit.flow.edge_contract import messages, put_each, take_all

ID = "camera:out->reader:in"
KEYS = EdgeKeys("marie", ID)
LEASE_MS = 10_000


@pytest.fixture(params=["fakeredis", "real"])
def client(request: pytest.FixtureRequest) -> Iterator[redis.Redis]:
    if request.param == "real":
        real: redis.Redis = request.getfixturevalue("real_client")
        real.flushall()
        yield real
    else:
        with fakeredis.FakeRedis(server=fakeredis.FakeServer(), decode_responses=True) as fake:
            yield fake


@pytest.fixture
def hub(client: redis.Redis) -> RedisEdges:
    return RedisEdges(client, now_ms=NOW)


def end(hub: RedisEdges, capacity: int = 2, policy: Policy = BLOCK) -> RedisEdge:
    return hub.edge(ID, capacity, policy)


def everything(client: redis.Redis) -> dict[str, Any]:
    """All that an edge keeps, with the bodies of messages cut down to their payloads."""

    def short(entry: str) -> str:
        lane, number, body = entry.split(" ", 2)
        return f"{lane} {number} {json.loads(body)['payload']}"

    found: dict[str, Any] = {}
    for key in client.keys("*"):
        name = key.removeprefix(KEYS.books) or "books"
        kind = client.type(key)
        if kind == "hash":
            found[name] = client.hgetall(key)
        elif kind == "list":
            entries = client.lrange(key, 0, -1)
            found[name] = entries if ":wake:" in name else [short(entry) for entry in entries]
        else:
            scores = client.zrange(key, 0, -1, withscores=True)
            found[name] = {short(m) if ":held:" in name else m: int(score) for m, score in scores}
    return found


def test_opening_declares_capacity_and_policy_and_the_last_one_is_right(
    client: redis.Redis, hub: RedisEdges
) -> None:
    end(hub, 5)
    assert everything(client) == {"books": {"capacity": "5", "policy": "block"}}
    end(hub, 7, DROP)
    assert everything(client) == {"books": {"capacity": "7", "policy": "drop"}}


def test_a_message_goes_from_the_list_into_the_hands_of_its_consumer_and_is_forgotten(
    client: redis.Redis, hub: RedisEdges
) -> None:
    producer, consumer = end(hub), end(hub)
    producer.put(Message("a"))
    books = {"capacity": "2", "policy": "block", "accepted": "1",
             "last_put": f"{producer.name}.1", "last_result": "ok"}  # fmt: skip
    waiting = {"books": books, ":data": ["data 1 a"], ":wake:consumer": ["1"]}
    assert everything(client) == waiting

    message = consumer.take(Lane.DATA)
    held = {
        "books": books | {"taken": "1"},
        ":consumers": {consumer.name: NOW + LEASE_MS},
        f":held:{consumer.name}": {"data 1 a": 1},
        ":wake:consumer": ["1"],
    }
    assert everything(client) == held

    assert message is not None
    consumer.settle(message)
    del held[f":held:{consumer.name}"]
    assert everything(client) == held


def test_an_entry_can_be_read_by_people(client: redis.Redis, hub: RedisEdges) -> None:
    end(hub).put(Message({"page": 1}, headers={"tenant": "a"}, trace_id="t"))
    lane, number, body = client.lrange(KEYS.data, 0, 0)[0].split(" ", 2)
    assert (lane, number) == ("data", "1")
    wanted = {"kind": "data", "trace_id": "t", "headers": {"tenant": "a"}, "payload": {"page": 1}}
    assert json.loads(body) == wanted


def test_only_the_end_of_emptiness_wakes_the_consumer(client: redis.Redis, hub: RedisEdges) -> None:
    producer, consumer = end(hub, 9), end(hub, 9)
    put_each(producer, 1, 2)
    assert client.lrange(KEYS.wake_consumer, 0, -1) == ["1"]
    client.delete(KEYS.wake_consumer)
    put_each(producer, 3)
    assert not client.exists(KEYS.wake_consumer)
    assert take_all(consumer) == [1, 2, 3]
    put_each(producer, 4)
    assert client.llen(KEYS.wake_consumer) == 1


def test_room_wakes_a_producer_that_knows_the_edge_as_full_and_no_other(
    client: redis.Redis, hub: RedisEdges
) -> None:
    producer, consumer = end(hub, 2), end(hub, 2)
    put_each(producer, 1)
    assert take_all(consumer) == [1]
    assert not client.exists(KEYS.wake_producer)

    assert put_each(producer, 2, 3, 4)[-1] is PutResult.BLOCKED
    consumer.take(Lane.DATA)
    assert client.lrange(KEYS.wake_producer, 0, -1) == ["1"]
    assert client.hget(KEYS.books, "full") is None


@pytest.mark.parametrize("policy", [BLOCK, coalesce(max)], ids=lambda policy: policy.name)
def test_a_question_that_is_answered_with_no_is_worth_a_wake_up_too(
    client: redis.Redis, hub: RedisEdges, policy: Policy
) -> None:
    producer, consumer = end(hub, 2, policy), end(hub, 2, policy)
    producer.put(Message("a", Kind.CONTROL))
    command = messages("b", "c", kind=Kind.CONTROL)
    assert not producer.admits([*command, Message(1)])
    consumer.take(Lane.CONTROL)
    assert client.llen(KEYS.wake_producer) == 1
    assert producer.counts().blocked == 0, "nothing was put"


def test_more_capacity_wakes_the_producer(client: redis.Redis, hub: RedisEdges) -> None:
    producer, consumer = end(hub, 1), end(hub, 1)
    put_each(producer, 1, 2)
    consumer.set_capacity(2)
    assert client.llen(KEYS.wake_producer) == 1
    producer.refresh()
    assert producer.put(Message(2)) is PutResult.OK
    hub.close()


def test_one_end_sees_what_the_other_did_when_it_looks(hub: RedisEdges) -> None:
    producer, consumer = end(hub), end(hub)
    put_each(producer, 1)
    producer.put(Message("stop", Kind.CONTROL))
    assert consumer.depth(Lane.DATA) == consumer.depth(Lane.CONTROL) == 0
    consumer.refresh()
    assert consumer.depth(Lane.DATA) == consumer.depth(Lane.CONTROL) == 1
    assert consumer.counts() == producer.counts()
    hub.close()


def test_what_a_dead_consumer_held_is_handed_out_again_in_order_when_its_lease_has_ended(
    client: redis.Redis, hub: RedisEdges
) -> None:
    producer, dead, heir = end(hub, 9), end(hub, 9), end(hub, 9)
    put_each(producer, 1, 2, 3)
    producer.put(Message("stop", Kind.CONTROL))
    for lane in (Lane.DATA, Lane.DATA, Lane.CONTROL):
        dead.take(lane)
    client.delete(KEYS.wake_consumer)

    hub.now_ms = NOW + LEASE_MS - 1
    heir._call("edge_look", "", 0, 0)
    assert heir.depth(Lane.DATA) == 1

    hub.now_ms = NOW + LEASE_MS
    heir._call("edge_look", "", 0, 0)
    assert client.llen(KEYS.wake_consumer) == 1
    assert (heir.depth(Lane.DATA), heir.depth(Lane.CONTROL)) == (3, 1)
    counts = heir.counts()
    assert counts.accepted == counts.taken + 4
    assert take_all(heir) == [1, 2, 3]
    assert take_all(heir, Lane.CONTROL) == ["stop"]
    assert client.hget(KEYS.books, "returned") == "3"
    assert set(client.zrange(KEYS.consumers, 0, -1)) == {heir.name}
    assert not client.exists(KEYS.held(dead.name))


def test_a_consumer_that_renews_keeps_what_it_holds(hub: RedisEdges) -> None:
    producer, consumer, other = end(hub), end(hub), end(hub)
    put_each(producer, 1)
    message = consumer.take(Lane.DATA)
    for second in range(1, 40):
        hub.now_ms = NOW + second * 1_000
        consumer.renew()
    other._call("edge_look", "", 0, 0)
    assert other.take(Lane.DATA) is None
    assert message is not None
    consumer.settle(message)


def test_a_settlement_after_the_end_of_the_lease_takes_nothing_from_the_heir(
    hub: RedisEdges, caplog: pytest.LogCaptureFixture
) -> None:
    producer, slow, heir = end(hub), end(hub), end(hub)
    put_each(producer, "x")
    message = slow.take(Lane.DATA)
    hub.now_ms = NOW + LEASE_MS
    heir._call("edge_look", "", 0, 0)
    again = heir.take(Lane.DATA)
    assert message is not None
    slow.settle(message)
    assert "the lease had ended" in caplog.text
    hub.now_ms = NOW + 3 * LEASE_MS
    slow._call("edge_look", "", 0, 0)
    assert take_all(slow) == ["x"], "the heir died with it, so it is handed out once more"
    assert again == message


def test_a_consumer_that_leaves_hands_everything_back_at_once(client: redis.Redis, hub: RedisEdges) -> None:
    producer, consumer = end(hub), end(RedisEdges(client, now_ms=NOW))
    put_each(producer, 1, 2)
    consumer.take(Lane.DATA)
    consumer.leave()
    assert take_all(producer) == [1, 2]


class Torn:
    """Loses the answer of the next call: the server has done it, the client does not know."""

    def __init__(self, hub: RedisEdges) -> None:
        self._call = hub.call
        self.loses = self.refuses = ""
        hub.call = self.call  # type: ignore[method-assign]

    def call(self, script: str, *arguments: object) -> Any:
        if script == self.refuses:
            raise redis.ConnectionError("the server is away")
        answer = self._call(script, *arguments)
        if script == self.loses:
            self.loses = ""
            raise redis.ConnectionError("the answer was lost")
        return answer


@pytest.mark.parametrize("policy", [BLOCK, DROP, LATEST, coalesce(lambda a, b: a + b)], ids=lambda p: p.name)
@pytest.mark.parametrize("waiting", [0, 1], ids=["room", "full"])
def test_a_put_whose_answer_was_lost_counts_once_when_it_is_repeated(
    hub: RedisEdges, policy: Policy, waiting: int
) -> None:
    torn, edge = Torn(hub), end(hub, 1, policy)
    put_each(edge, *range(100, 100 + waiting))
    torn.loses = "edge_merge" if policy.name == "coalesce" and waiting else "edge_put"
    message = Message(1)
    with pytest.raises(redis.ConnectionError):
        edge.put(message)
    repeated = edge.put_all([message])
    if policy.name == "block" and waiting:
        assert not repeated
    else:
        assert repeated
    wanted = {"block": [100], "drop": [100], "latest": [1], "coalesce": [101]}[policy.name] if waiting else [1]
    assert take_all(edge) == wanted
    counts = edge.counts()
    assert counts.coalesced + counts.dropped <= 1
    assert counts.accepted == counts.taken + counts.replaced


def test_an_equal_message_that_is_another_one_is_not_taken_for_a_repetition(hub: RedisEdges) -> None:
    torn, edge = Torn(hub), end(hub, 9)
    torn.loses = "edge_put"
    with pytest.raises(redis.ConnectionError):
        edge.put(Message(1, trace_id="t"))
    edge.put(Message(1, trace_id="t"))
    assert take_all(edge) == [1, 1]


def test_a_message_whose_answer_was_lost_is_taken_by_the_next_attempt(hub: RedisEdges) -> None:
    torn, edge = Torn(hub), end(hub, 9)
    put_each(edge, 1, 2, 3)
    first = edge.take(Lane.DATA)
    torn.loses = "edge_take"
    with pytest.raises(redis.ConnectionError):
        edge.take(Lane.DATA)
    assert edge.take(Lane.CONTROL) is None
    assert take_all(edge) == [2, 3]
    assert first is not None
    edge.settle(first)
    assert edge.counts().taken == 3


def test_a_settlement_that_failed_is_made_up_for_by_the_next_look(client: redis.Redis, hub: RedisEdges) -> None:
    torn, edge = Torn(hub), end(hub)
    put_each(edge, 1)
    message = edge.take(Lane.DATA)
    assert message is not None
    torn.refuses = "edge_settle"
    with pytest.raises(redis.ConnectionError):
        edge.settle(message)
    assert client.exists(KEYS.held(edge.name))
    torn.refuses = ""
    edge.refresh()
    assert not client.exists(KEYS.held(edge.name))
    assert take_all(edge) == []
    hub.close()


@pytest.mark.parametrize(
    ("meanwhile", "left"),
    [("nothing", ["a", "b+c"]), ("take one", ["b+c"]), ("take all", ["c"]), ("merge", ["a", "b+x+c"])],
)
def test_a_merge_happens_only_into_the_message_that_was_seen(
    client: redis.Redis, hub: RedisEdges, meanwhile: str, left: list[str]
) -> None:
    other = end(RedisEdges(client, now_ms=NOW), 2, coalesce("{}+{}".format))
    happened = False

    def merge(waiting: str, new: str) -> str:
        nonlocal happened
        if not happened:
            happened = True
            if meanwhile == "merge":
                other.put(Message("x"))
            for _ in range({"take one": 1, "take all": 2}.get(meanwhile, 0)):
                message = other.take(Lane.DATA)
                assert message is not None
                other.settle(message)
        return f"{waiting}+{new}"

    edge = end(hub, 2, coalesce(merge))
    put_each(edge, "a", "b", "c")
    assert take_all(edge) == left
    counts = edge.counts()
    assert counts.accepted == counts.taken
    assert counts.accepted + counts.coalesced == (4 if meanwhile == "merge" else 3)


def test_a_merge_that_is_overtaken_again_and_again_gives_up_as_blocked(
    client: redis.Redis, hub: RedisEdges
) -> None:
    other = end(RedisEdges(client, now_ms=NOW), 1, coalesce(max))

    def overtaken(waiting: int, new: int) -> int:
        other.put(Message(waiting + 1))
        return waiting + new

    edge = end(hub, 1, coalesce(overtaken))
    assert put_each(edge, 0, 1000) == [PutResult.OK, PutResult.BLOCKED]
    [left] = take_all(edge)
    assert left < 1000  # type: ignore[operator]


def test_a_merge_whose_outcome_json_cannot_carry_blocks_and_loses_nothing(hub: RedisEdges) -> None:
    edge = end(hub, 1, coalesce(lambda waiting, new: {waiting, new}))
    assert put_each(edge, 1, 2) == [PutResult.OK, PutResult.BLOCKED]
    assert take_all(edge) == [1]


def test_an_edge_whose_keys_were_removed_is_declared_again(client: redis.Redis, hub: RedisEdges) -> None:
    edge = end(hub, 3, LATEST)
    put_each(edge, 1)
    client.flushall()
    assert edge.put(Message(2)) is PutResult.OK
    assert (edge.capacity, take_all(edge)) == (3, [2])


def test_two_namespaces_do_not_meet(client: redis.Redis) -> None:
    a, b = (RedisEdges(client, name, now_ms=NOW) for name in ("a", "b"))
    put_each(end(a), 1)
    assert take_all(end(b)) == []
    assert set(client.keys("*")) >= {EdgeKeys("a", ID).data, EdgeKeys("b", ID).books}


def test_a_client_that_returns_bytes_and_a_lease_of_nothing_are_refused() -> None:
    with fakeredis.FakeRedis(server=fakeredis.FakeServer()) as raw, pytest.raises(ConfigError, match="decode"):
        RedisEdges(raw)
    fake = fakeredis.FakeRedis(server=fakeredis.FakeServer(), decode_responses=True)
    with fake as client, pytest.raises(ConfigError, match="lease_seconds"):
        RedisEdges(client, lease_seconds=0)


@pytest.mark.parametrize("payload", [{1, 2}, (1, 2), {1: "a"}, float("nan"), object(), [b"x"], {"a": (1,)}])
def test_what_json_cannot_carry_unchanged_is_refused(hub: RedisEdges, payload: object) -> None:
    edge = end(hub)
    for attempt in (edge.check, edge.put):
        with pytest.raises(PayloadError, match="JSON"):
            attempt(Message(payload))
    assert edge.counts().accepted == 0


def test_a_good_bye_that_nobody_hears_is_told_and_does_not_mask_what_ended_the_run(
    hub: RedisEdges, caplog: pytest.LogCaptureFixture
) -> None:
    torn = Torn(hub)
    end(hub)
    torn.refuses = "edge_leave"
    with pytest.raises(KeyboardInterrupt), hub:
        raise KeyboardInterrupt
    assert "the lease has to end by itself" in caplog.text
