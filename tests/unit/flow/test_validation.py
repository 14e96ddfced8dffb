from __future__ import annotations

from typing import Any

import pytest

from marie_celery.flow import DROP, LATEST, AlreadyStarted, Code, GraphError, Node, Port, Scheduler, Subgraph
from tests.unit.flow.flow_kit import Relay, Sink, Source, Ticker, feed, virtual


def codes(scheduler: Scheduler) -> list[Code]:
    return [problem.code for problem in scheduler.validate()]


def pair() -> Scheduler:
    return virtual(Relay("a"), Relay("b"))


def test_a_graph_without_nodes_is_refused() -> None:
    with pytest.raises(GraphError, match="empty-graph"):
        Scheduler().run()


@pytest.mark.parametrize("name", ["", "a b", "a:b", "a->b", "a/b", 7, "outside"])
def test_a_name_that_would_make_edge_ids_ambiguous_is_refused(name: Any) -> None:
    with pytest.raises(GraphError) as caught:
        Scheduler().register(Relay(name))
    assert [problem.code for problem in caught.value.problems] == [Code.BAD_NAME]


def test_a_name_can_be_registered_once() -> None:
    scheduler = virtual(Relay("a"))
    with pytest.raises(GraphError, match="duplicate-name at a"):
        scheduler.register(Sink("a"))
    assert scheduler.validate() == []


def test_a_refused_unit_is_not_registered() -> None:
    scheduler = virtual(Relay("a"))
    bad = Subgraph("bad")
    bad.connect("x:out", "y:in")
    with pytest.raises(GraphError):
        scheduler.register(bad)
    assert scheduler.validate() == []


def test_only_nodes_and_subgraphs_can_be_registered() -> None:
    with pytest.raises(TypeError, match="a Node or a Subgraph"):
        Scheduler().register("relay")  # type: ignore[arg-type]


def test_one_object_cannot_be_two_nodes() -> None:
    node = Relay("a")
    inner = Subgraph("inner")
    inner.add(node)
    assert codes(virtual(node, inner)) == [Code.UNIT_USED_TWICE]


def test_a_subgraph_inside_itself_is_refused() -> None:
    loop = Subgraph("loop")
    loop.add(Relay("a"))
    loop.add(loop)
    with pytest.raises(GraphError, match="unit-used-twice at loop/loop"):
        Scheduler().register(loop)


def test_two_ports_of_a_name_in_one_direction_are_refused() -> None:
    fine = Node("fine", inputs=[Port("x")], outputs=[Port("x")])
    assert codes(virtual(fine)) == []
    with pytest.raises(GraphError, match="duplicate-port at bad:x"):
        Scheduler().register(Node("bad", inputs=[Port("x"), Port("x")]))


def test_a_port_needs_a_proper_name_too() -> None:
    with pytest.raises(GraphError, match="bad-name at node:x:y"):
        Scheduler().register(Node("node", inputs=[Port("x:y")]))


@pytest.mark.parametrize("interval", [0, -5, float("nan")])
def test_a_tick_hint_has_to_be_a_time(interval: float) -> None:
    with pytest.raises(GraphError, match="bad-tick-interval at clock"):
        Scheduler().register(Ticker("clock", tick_interval_ms=interval))


def test_a_priority_override_has_to_be_a_priority() -> None:
    with pytest.raises(GraphError, match="bad-priority at clock"):
        Scheduler().register(Ticker("clock", priority_override=101))


@pytest.mark.parametrize(
    ("source", "target", "code"),
    [
        ("a", "b:in", Code.BAD_ENDPOINT),
        ("a:", "b:in", Code.BAD_ENDPOINT),
        ("c:out", "b:in", Code.UNKNOWN_UNIT),
        ("a:out", "c:in", Code.UNKNOWN_UNIT),
        ("a:in", "b:in", Code.UNKNOWN_PORT),
        ("a:out", "b:out", Code.UNKNOWN_PORT),
    ],
)
def test_an_edge_needs_two_ends_that_exist(source: str, target: str, code: Code) -> None:
    scheduler = pair()
    scheduler.connect(source, target)
    assert codes(scheduler) == [code]


def test_two_ports_are_joined_once() -> None:
    scheduler = pair()
    for _ in range(2):
        scheduler.connect("a:out", "b:in")
    assert codes(scheduler) == [Code.DUPLICATE_EDGE]


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"capacity": 0}, Code.BAD_CAPACITY),
        ({"priority": 101}, Code.BAD_PRIORITY),
        ({"policy": "drop"}, Code.BAD_POLICY),
    ],
)
def test_an_edge_needs_settings_that_make_sense(options: dict[str, Any], code: Code) -> None:
    scheduler = pair()
    scheduler.connect("a:out", "b:in", **options)
    assert codes(scheduler) == [code]


def test_ports_that_cannot_understand_each_other_are_not_joined() -> None:
    scheduler = virtual(
        Node("numbers", outputs=[Port("out", int)]),
        Node("texts", inputs=[Port("in", str)]),
        Node("both", inputs=[Port("in", int | str)]),
    )
    scheduler.connect("numbers:out", "texts:in")
    scheduler.connect("numbers:out", "both:in")
    [problem] = scheduler.validate()
    assert (problem.code, problem.where) == (Code.TYPE_MISMATCH, "numbers:out->texts:in")
    assert "numbers:out sends int, texts:in takes str" in problem.text


def test_every_problem_is_reported_at_once_and_nothing_starts() -> None:
    source = Source("source", [1])
    scheduler = virtual(source, Sink("sink"))
    scheduler.connect("source:out", "sink:nowhere")
    scheduler.connect("source:nothing", "sink:in")
    scheduler.connect("source:out", "sink:in", capacity=-1, priority=1000)
    scheduler.inlet("sink:missing")
    with pytest.raises(GraphError) as caught:
        scheduler.run()
    assert [problem.code for problem in caught.value.problems] == [
        Code.UNKNOWN_PORT,
        Code.UNKNOWN_PORT,
        Code.BAD_CAPACITY,
        Code.BAD_PRIORITY,
        Code.UNKNOWN_PORT,
    ]
    assert all(str(problem) in str(caught.value) for problem in caught.value.problems)
    assert source.sent == 0


def ring(*policies: Any) -> Scheduler:
    names = "abc"[: len(policies)]
    scheduler = virtual(*(Relay(name) for name in names))
    for number, policy in enumerate(policies):
        options = {} if policy is None else {"policy": policy}
        scheduler.connect(f"{names[number]}:out", f"{names[(number + 1) % len(names)]}:in", **options)
    return scheduler


@pytest.mark.parametrize("policies", [(None,), (None, None), (None, None, None)])
def test_a_cycle_of_block_edges_is_refused_because_it_can_fill_up(policies: tuple[Any, ...]) -> None:
    [problem] = ring(*policies).validate()
    assert problem.code is Code.BLOCK_CYCLE
    assert problem.where.split(" -> ")[0] == problem.where.split(" -> ")[-1]


@pytest.mark.parametrize("policies", [(DROP,), (None, LATEST), (LATEST, None), (None, DROP, None)])
def test_a_cycle_with_an_edge_that_never_blocks_is_welcome(policies: tuple[Any, ...]) -> None:
    assert ring(*policies).validate() == []


def test_a_lossy_edge_does_not_excuse_a_block_edge_beside_it() -> None:
    scheduler = virtual(Node("a", inputs=[Port("x"), Port("y")], outputs=[Port("x"), Port("y")]))
    scheduler.connect("a:x", "a:x", policy=DROP)
    scheduler.connect("a:y", "a:y")
    assert codes(scheduler) == [Code.BLOCK_CYCLE]


def test_every_cycle_is_reported() -> None:
    scheduler = virtual(*(Relay(name) for name in "abcd"))
    for source, target in ("ab", "ba", "cd", "dc"):
        scheduler.connect(f"{source}:out", f"{target}:in")
    assert codes(scheduler) == [Code.BLOCK_CYCLE] * 2


def test_units_may_be_connected_before_they_are_registered() -> None:
    scheduler = Scheduler()
    scheduler.connect("source:out", "sink:in")
    scheduler.register(Source("source", []))
    scheduler.register(Sink("sink"))
    feed(scheduler, "source")
    assert scheduler.validate() == []


def test_a_graph_that_has_started_cannot_be_changed() -> None:
    scheduler = pair()
    scheduler.start()
    for attempt in (
        lambda: scheduler.register(Relay("c")),
        lambda: scheduler.connect("a:out", "b:in"),
        lambda: scheduler.inlet("a:in"),
        scheduler.run,
    ):
        with pytest.raises(AlreadyStarted):
            attempt()
