"""Properties of the layout, for any graph."""

from __future__ import annotations

from itertools import combinations, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from marie_celery.drawing import Picture, Shape
from marie_celery.drawing.layout import Layout, lay_out

GAP = 3


@st.composite
def pictures(draw: st.DrawFn) -> Picture:
    size = draw(st.integers(0, 12))
    shapes = [Shape("x" * draw(st.integers(1, 9)), state=draw(st.sampled_from(["", "failed"]))) for _ in range(size)]
    pairs = list(combinations(range(size), 2))
    edges = draw(st.lists(st.sampled_from(pairs), unique=True, max_size=20)) if pairs else []
    return Picture("any", shapes, sorted(edges))


def laid_out(picture: Picture, step: float = 0) -> Layout:
    return lay_out(picture.levels, picture.edges, lambda number: len(picture.shapes[number].label), GAP, step)


@given(pictures(), st.sampled_from([0, 2]))
def test_shapes_of_a_layer_never_touch(picture: Picture, step: int) -> None:
    layout = laid_out(picture, step)
    rows: dict[int, list[tuple[float, float]]] = {}
    for place, shape in zip(layout.places, picture.shapes, strict=True):
        half = len(shape.label) / 2
        rows.setdefault(place.layer, []).append((place.x - half, place.x + half))
    for row in rows.values():
        for (_, end), (start, _) in pairwise(sorted(row)):
            assert start - end >= GAP - 1e-6


@given(pictures())
def test_all_stand_within_the_picture(picture: Picture) -> None:
    layout = laid_out(picture)
    for place, shape in zip(layout.places, picture.shapes, strict=True):
        assert place.x - len(shape.label) / 2 >= -1e-6
        assert place.x + len(shape.label) / 2 <= layout.width + 1e-6
        assert 0 <= place.layer < layout.layers


@given(pictures())
def test_an_edge_goes_down_layer_by_layer_from_shape_to_shape(picture: Picture) -> None:
    layout = laid_out(picture)
    for (source, target), way in zip(picture.edges, layout.edges, strict=True):
        assert (way[0], way[-1]) == (layout.places[source], layout.places[target])
        assert all(lower.layer == upper.layer + 1 for upper, lower in pairwise(way))


@given(pictures())
def test_the_same_graph_is_always_laid_out_the_same_way(picture: Picture) -> None:
    assert laid_out(picture) == laid_out(picture)


def test_a_chain_is_straight() -> None:
    layout = laid_out(Picture("chain", [Shape("abc")] * 4, [(0, 1), (1, 2), (2, 3)]))
    assert {place.x for place in layout.places} == {1.5}


def test_lines_that_need_not_cross_do_not() -> None:
    layout = laid_out(Picture("crossed", [Shape("x")] * 4, [(0, 3), (1, 2)]))
    left, right, below_right, below_left = (place.x for place in layout.places)
    assert left < right
    assert below_left < below_right


@pytest.mark.parametrize("width", [3, 4])
def test_a_fan_stands_under_its_middle(width: int) -> None:
    layout = laid_out(Picture("fan", [Shape("x")] * (width + 1), [(0, child) for child in range(1, width + 1)]))
    below = [place.x for place in layout.places[1:]]
    assert layout.places[0].x == pytest.approx(sum(below) / width)
