from __future__ import annotations

import pytest

from marie_celery.flow import GraphError, PutResult, Scheduler, Subgraph, UnknownPort
from tests.unit.flow.flow_kit import Relay, Sink, drive, virtual


def stage(name: str) -> Subgraph:
    """Two relays in a row that look like one from outside."""
    graph = Subgraph(name)
    graph.add(Relay("first"))
    graph.add(Relay("second"))
    graph.connect("first:out", "second:in", capacity=2)
    graph.expose_input("in", "first:in")
    graph.expose_output("out", "second:out")
    return graph


def test_a_message_crosses_nested_subgraphs() -> None:
    outer = Subgraph("outer")
    outer.add(stage("left"))
    outer.add(stage("right"))
    outer.connect("left:out", "right:in")
    outer.expose_input("in", "left:in")
    outer.expose_output("out", "right:out")
    sink = Sink("sink")
    scheduler = virtual(outer, sink)
    scheduler.connect("outer:out", "sink:in")
    scheduler.start()

    assert scheduler.inject("outer", "in", "hello") is PutResult.OK
    drive(scheduler)

    assert sink.got == ["hello"]


def test_the_id_of_an_edge_is_made_of_full_names() -> None:
    outer = Subgraph("outer")
    outer.add(stage("inner"))
    outer.expose_output("out", "inner:out")
    scheduler = virtual(outer, Sink("sink"))
    scheduler.connect("outer:out", "sink:in")
    scheduler.start()

    assert list(scheduler.stats().edges) == [
        "outer/inner/first:out->outer/inner/second:in",
        "outer/inner/second:out->sink:in",
    ]
    scheduler.set_capacity("outer/inner/first:out->outer/inner/second:in", 9)
    assert scheduler.stats().edges["outer/inner/first:out->outer/inner/second:in"].capacity == 9


def test_the_same_graph_gets_the_same_ids_every_time() -> None:
    def ids() -> list[str]:
        scheduler = virtual(stage("a"), stage("b"))
        scheduler.connect("a:out", "b:in")
        scheduler.start()
        return list(scheduler.stats().edges)

    assert ids() == ids()


def test_two_subgraphs_may_use_the_same_names_inside() -> None:
    assert virtual(stage("a"), stage("b")).validate() == []


def test_what_is_not_exposed_cannot_be_reached() -> None:
    scheduler = virtual(stage("a"), Sink("sink"))
    scheduler.connect("a:hidden", "sink:in")
    [problem] = scheduler.validate()
    assert str(problem) == "unknown-port at a:hidden: 'a' has no output of this name"


def test_exposing_what_is_not_there_is_refused_with_all_other_problems_of_the_subgraph() -> None:
    graph = stage("graph")
    graph.expose_input("in", "second:in")
    graph.expose_output("bad", "third:out")
    graph.connect("first:out", "second:in")
    with pytest.raises(GraphError) as caught:
        Scheduler().register(graph)
    assert [(problem.code.value, problem.where) for problem in caught.value.problems] == [
        ("duplicate-port", "graph:in"),
        ("unknown-unit", "graph/third:out"),
        ("duplicate-edge", "graph/first:out->graph/second:in"),
    ]


def test_an_inlet_can_be_declared_for_an_exposed_input() -> None:
    scheduler = virtual(stage("a"))
    scheduler.inlet("a:in", capacity=1)
    assert [scheduler.inject("a", "in", number) for number in range(2)] == [PutResult.OK, PutResult.BLOCKED]
    with pytest.raises(UnknownPort, match="a:out"):
        scheduler.inject("a", "out", 1)
