from __future__ import annotations

import logging

import pytest

from marie_celery.flow import BLOCK, Edge, MemoryEdge, Message, NotAccepting, Policy, PutResult, coalesce
from marie_celery.flow.memory import LockedEdge
from tests.unit.flow.edge_contract import Complaints, EdgeContract, messages, refuse
from tests.unit.flow.far_edge import FarStore


class TestMemoryEdge(EdgeContract):
    def make(self, capacity: int, policy: Policy) -> Edge:
        return MemoryEdge("a:out->b:in", capacity, policy)


class TestLockedEdge(EdgeContract):
    def make(self, capacity: int, policy: Policy) -> Edge:
        return LockedEdge("outside:in->b:in", capacity, policy)


class TestFarEdge(EdgeContract):
    def make(self, capacity: int, policy: Policy) -> Edge:
        return FarStore(capacity, policy).end("a:out->b:in", capacity, policy)


def test_a_locked_edge_tells_its_listener_of_what_it_took_and_of_nothing_else() -> None:
    edge, listener = LockedEdge("id", capacity=1), Complaints()
    edge.put(Message("before anybody listens"))
    edge.take(Message(0).lane)
    edge.attach(listener)

    edge.put(Message(1))
    assert listener.changes == 1
    edge.put(Message(2))
    edge.put_all(messages(3, 4))
    assert listener.changes == 1
    edge.take(Message(0).lane)
    edge.put_all(messages(5, 6))
    assert listener.changes == 2


def test_a_closed_edge_refuses_aloud_and_keeps_what_it_had() -> None:
    edge = LockedEdge("outside:in->b:in")
    edge.put(Message(1))
    edge.close()
    with pytest.raises(NotAccepting, match="outside:in->b:in"):
        edge.put(Message(2))
    with pytest.raises(NotAccepting):
        edge.put_all(messages(2))
    assert edge.depth(Message(1).lane) == 1


def test_a_merge_error_on_an_edge_without_a_listener_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    edge = MemoryEdge("a:out->b:in", 1, coalesce(refuse))
    with caplog.at_level(logging.WARNING):
        assert [edge.put(message) for message in messages(1, 2)] == [PutResult.OK, PutResult.BLOCKED]
    assert "a:out->b:in: the merge function failed" in caplog.text


@pytest.mark.parametrize(
    ("name", "merge"),
    [("spill", None), ("coalesce", None), ("block", max)],
    ids=["unknown", "no function", "a function"],
)
def test_a_policy_that_makes_no_sense_cannot_be_made(name: str, merge: object) -> None:
    with pytest.raises(ValueError, match="policy"):
        Policy(name, merge)  # type: ignore[arg-type]


def test_a_policy_is_known_by_its_name_not_by_its_identity() -> None:
    edge = MemoryEdge("id", 1, Policy("drop"))
    assert [edge.put(message) for message in messages(1, 2)] == [PutResult.OK, PutResult.DROPPED]
    assert Policy("block") == BLOCK
