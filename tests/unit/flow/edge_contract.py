"""What every edge has to do, whatever it is made of. Derive from `EdgeContract` and say how to make one."""

from __future__ import annotations

import pytest

from marie_celery.flow import (
    BLOCK,
    DROP,
    LATEST,
    Edge,
    EdgeCounts,
    Kind,
    Lane,
    Message,
    Policy,
    PutResult,
    coalesce,
)


class Complaints:
    """A listener that keeps what it hears."""

    def __init__(self) -> None:
        self.errors: list[Exception] = []
        self.changes = 0

    def changed(self) -> None:
        self.changes += 1

    def failed(self, error: Exception) -> None:
        self.errors.append(error)


def messages(*payloads: object, kind: Kind = Kind.DATA) -> list[Message]:
    return [Message(payload, kind) for payload in payloads]


def take_all(edge: Edge, lane: Lane = Lane.DATA) -> list[object]:
    taken = []
    while (message := edge.take(lane)) is not None:
        taken.append(message.payload)
        edge.settle(message)
    return taken


def put_each(edge: Edge, *payloads: object, kind: Kind = Kind.DATA) -> list[PutResult]:
    return [edge.put(message) for message in messages(*payloads, kind=kind)]


def refuse(waiting: object, new: object) -> object:
    raise ArithmeticError(f"cannot merge {waiting} and {new}")


class EdgeContract:
    def make(self, capacity: int, policy: Policy) -> Edge:
        raise NotImplementedError

    def edge(self, capacity: int = 2, policy: Policy = BLOCK) -> tuple[Edge, Complaints]:
        edge, listener = self.make(capacity, policy), Complaints()
        edge.attach(listener)
        return edge, listener

    def test_it_hands_out_messages_in_the_order_they_came(self) -> None:
        edge, _ = self.edge(capacity=10)
        sent = messages(*range(10))
        for message in sent:
            edge.put(message)
        assert [edge.take(Lane.DATA) for _ in sent] == sent
        assert edge.take(Lane.DATA) is None

    def test_a_full_block_edge_takes_nothing_until_there_is_room(self) -> None:
        edge, _ = self.edge(capacity=2)
        assert put_each(edge, 1, 2, 3) == [PutResult.OK, PutResult.OK, PutResult.BLOCKED]
        assert edge.depth(Lane.DATA) == 2
        edge.take(Lane.DATA)
        assert edge.put(Message(3)) is PutResult.OK
        assert take_all(edge) == [2, 3]

    def test_a_full_drop_edge_drops_the_new_message(self) -> None:
        edge, _ = self.edge(policy=DROP)
        assert put_each(edge, 1, 2, 3) == [PutResult.OK, PutResult.OK, PutResult.DROPPED]
        assert take_all(edge) == [1, 2]

    def test_a_full_latest_edge_gives_up_the_oldest(self) -> None:
        edge, _ = self.edge(policy=LATEST)
        assert put_each(edge, 1, 2, 3) == [PutResult.OK, PutResult.OK, PutResult.REPLACED]
        assert take_all(edge) == [2, 3]

    def test_a_full_coalesce_edge_merges_into_the_newest(self) -> None:
        edge, _ = self.edge(policy=coalesce(lambda waiting, new: f"{waiting}+{new}"))
        assert put_each(edge, "a", "b", "c", "d")[2:] == [PutResult.COALESCED] * 2
        assert take_all(edge) == ["a", "b+c+d"]

    def test_a_merged_message_carries_the_trace_of_the_newest(self) -> None:
        edge, _ = self.edge(capacity=1, policy=coalesce(max))
        edge.put(Message(5, headers={"n": "old"}))
        newest = Message(3, headers={"n": "new"})
        edge.put(newest)
        assert edge.take(Lane.DATA) == Message(5, Kind.DATA, {"n": "new"}, newest.trace_id)

    def test_a_merge_function_that_raises_blocks_and_is_reported(self) -> None:
        edge, complaints = self.edge(capacity=1, policy=coalesce(refuse))
        assert put_each(edge, 1, 2) == [PutResult.OK, PutResult.BLOCKED]
        assert [str(error) for error in complaints.errors] == ["cannot merge 1 and 2"]
        assert take_all(edge) == [1]

    def test_messages_of_different_kinds_are_not_merged(self) -> None:
        edge, complaints = self.edge(capacity=1, policy=coalesce(max))
        edge.put(Message(1))
        assert edge.put(Message(2, Kind.ERROR)) is PutResult.BLOCKED
        assert complaints.errors == []

    @pytest.mark.parametrize("policy", [BLOCK, DROP, LATEST, coalesce(max)], ids=lambda policy: policy.name)
    def test_control_has_its_own_room_and_always_blocks(self, policy: Policy) -> None:
        edge, _ = self.edge(policy=policy)
        put_each(edge, 1, 2)
        results = put_each(edge, "x", "y", "z", kind=Kind.CONTROL)
        assert results == [PutResult.OK, PutResult.OK, PutResult.BLOCKED]
        put_each(edge, 3, 4, 5)
        assert (edge.depth(Lane.CONTROL), edge.depth(Lane.DATA)) == (2, 2)
        assert take_all(edge, Lane.CONTROL) == ["x", "y"]

    @pytest.mark.parametrize(
        ("waiting", "group", "fits"), [([], [1, 2], True), ([0], [1, 2], False), ([], [1, 2, 3], True)],
        ids=["it fits", "it does not fit", "it is larger than the edge, which is empty"],
    )  # fmt: skip
    @pytest.mark.parametrize("kind", [Kind.DATA, Kind.CONTROL])
    def test_a_group_enters_a_block_edge_as_a_whole_or_not_at_all(
        self, waiting: list[int], group: list[int], fits: bool, kind: Kind
    ) -> None:
        edge, _ = self.edge(capacity=2)
        put_each(edge, *waiting, kind=kind)
        lane = Lane.CONTROL if kind is Kind.CONTROL else Lane.DATA
        assert edge.admits(messages(*group, kind=kind)) is fits
        assert edge.put_all(messages(*group, kind=kind)) is fits
        assert take_all(edge, lane) == (waiting + group if fits else waiting)

    @pytest.mark.parametrize(
        ("policy", "left"), [(DROP, [0, 1]), (LATEST, [2, 3]), (coalesce(lambda a, b: 10 * a + b), [0, 123])],
        ids=["drop", "latest", "coalesce"],
    )  # fmt: skip
    def test_a_group_on_a_lossy_edge_is_treated_message_by_message(
        self, policy: Policy, left: list[int]
    ) -> None:
        edge, _ = self.edge(capacity=2, policy=policy)
        edge.put(Message(0))
        assert edge.admits(messages(1, 2, 3))
        assert edge.put_all(messages(1, 2, 3))
        assert take_all(edge) == left

    def test_a_group_that_cannot_be_merged_waits_for_an_empty_edge_and_then_enters_unmerged(self) -> None:
        edge, complaints = self.edge(capacity=1, policy=coalesce(refuse))
        edge.put(Message(0))
        assert not edge.put_all(messages(1, 2))
        assert take_all(edge) == [0]
        assert edge.put_all(messages(1, 2))
        assert take_all(edge) == [1, 2]
        assert complaints.errors

    def test_a_mixed_group_is_refused_as_a_whole_when_one_lane_is_full(self) -> None:
        edge, _ = self.edge(capacity=1)
        edge.put(Message("x", Kind.CONTROL))
        assert not edge.put_all([Message(1), Message("y", Kind.CONTROL)])
        assert edge.depth(Lane.DATA) == 0

    def test_a_shrunk_edge_keeps_what_it_has_and_a_grown_one_takes_more(self) -> None:
        edge, _ = self.edge(capacity=3)
        put_each(edge, 1, 2, 3)
        edge.set_capacity(1)
        assert edge.capacity == 1
        edge.take(Lane.DATA)
        assert edge.put(Message(4)) is PutResult.BLOCKED
        edge.set_capacity(5)
        assert edge.put(Message(4)) is PutResult.OK
        assert take_all(edge) == [2, 3, 4]

    def test_a_shrunk_latest_edge_gives_up_as_many_as_it_must(self) -> None:
        edge, _ = self.edge(capacity=3, policy=LATEST)
        put_each(edge, 1, 2, 3)
        edge.set_capacity(1)
        assert edge.put(Message(4)) is PutResult.REPLACED
        assert edge.counts().replaced == 3
        assert take_all(edge) == [4]

    @pytest.mark.parametrize("bad", [0, -1, 1.5, "3", True, None])
    def test_a_bad_capacity_is_refused_by_name(self, bad: object) -> None:
        edge, _ = self.edge()
        with pytest.raises(ValueError, match=f"capacity.*{bad!r}"):
            edge.set_capacity(bad)  # type: ignore[arg-type]

    @pytest.mark.parametrize(
        ("policy", "counts"),
        [
            (BLOCK, EdgeCounts(accepted=2, taken=1, blocked=3)),
            (DROP, EdgeCounts(accepted=2, taken=1, dropped=3)),
            (LATEST, EdgeCounts(accepted=5, taken=1, replaced=3)),
            (coalesce(max), EdgeCounts(accepted=2, taken=1, coalesced=3)),
        ],
        ids=lambda value: value.name if isinstance(value, Policy) else "",
    )
    def test_it_counts_what_became_of_every_message(self, policy: Policy, counts: EdgeCounts) -> None:
        edge, _ = self.edge(policy=policy)
        put_each(edge, *range(5))
        edge.take(Lane.DATA)
        assert edge.counts() == counts
        self.check_books(edge)

    def test_a_refused_group_counts_as_one_refusal(self) -> None:
        edge, _ = self.edge(capacity=1)
        edge.put(Message(0))
        edge.put_all(messages(1, 2))
        assert edge.counts().blocked == 1

    def check_books(self, edge: Edge) -> None:
        counts = edge.counts()
        waiting = edge.depth(Lane.CONTROL) + edge.depth(Lane.DATA)
        assert counts.accepted == counts.taken + counts.replaced + waiting
