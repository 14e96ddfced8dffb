from hypothesis import given
from hypothesis import strategies as st

from marie_celery.model.graph import find_cycle, lay_out


@st.composite
def acyclic(draw):
    size = draw(st.integers(0, 30))
    return [sorted(draw(st.sets(st.integers(0, node - 1)))) if node else [] for node in range(size)]


def test_an_empty_graph_is_acyclic():
    layout = lay_out([])
    assert layout.acyclic
    assert layout.order == []


def test_the_level_of_a_node_is_its_longest_way_from_a_root():
    assert lay_out([[], [0], [0, 1], [0, 2]]).levels == [0, 1, 2, 3]


def test_children_are_the_parents_turned_around():
    assert lay_out([[], [0], [0], [1, 2]]).children == [[1, 2], [3], [3], []]


@given(acyclic())
def test_parents_come_before_children_and_on_lower_levels(parents):
    layout = lay_out(parents)
    assert layout.acyclic
    assert find_cycle(parents) == []
    place = {node: index for index, node in enumerate(layout.order)}
    for node, sources in enumerate(parents):
        for source in sources:
            assert place[source] < place[node]
            assert layout.levels[source] < layout.levels[node]
        assert layout.levels[node] == max((layout.levels[source] + 1 for source in sources), default=0)


def test_a_node_that_waits_for_itself_is_a_cycle():
    assert find_cycle([[0]]) == [0]


def test_a_cycle_is_told_in_the_direction_of_its_edges():
    cycle = find_cycle([[2], [0], [1], [0]])
    start = cycle.index(0)
    assert cycle[start:] + cycle[:start] == [0, 1, 2]


def test_nodes_below_a_cycle_are_not_part_of_it():
    assert set(find_cycle([[1], [0], [1], [2]])) == {0, 1}


@given(acyclic().filter(lambda parents: len(parents) > 1))
def test_an_edge_back_to_an_ancestor_is_found(parents):
    parents = [list(sources) for sources in parents]
    parents[-1] = sorted({*parents[-1], 0})
    parents[0] = [len(parents) - 1]
    cycle = find_cycle(parents)
    for source, target in zip(cycle, cycle[1:] + cycle[:1], strict=True):
        assert source in parents[target]


def test_a_chain_of_100_000_needs_no_recursion():
    layout = lay_out([[]] + [[node] for node in range(99_999)])
    assert layout.acyclic
    assert layout.levels[-1] == 99_999


def test_100_000_nodes_in_layers_are_laid_out_in_one_pass():
    parents = [[] if node < 100 else [node - 100, node // 100 * 100 - 1] for node in range(100_000)]
    layout = lay_out([sorted(set(sources)) for sources in parents])
    assert layout.acyclic
    assert max(layout.levels) == 999
