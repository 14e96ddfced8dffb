"""Pictures as text, Mermaid and SVG."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from marie_celery.drawing import Picture, Shape
from marie_celery.drawing.colours import COLOURS
from marie_celery.drawing.picture import STATES
from marie_celery.drawing.text import MARKS
from marie_celery.model.states import WorkState

SVG = "{http://www.w3.org/2000/svg}"
NASTY = '"]; click n0 call alert() <script>&amp;#35;`\n\x00end'


def invoice() -> Picture:
    shapes = [
        Shape("split", "extract", "completed"),
        Shape("read", "ocr", "completed"),
        Shape("read-2", "ocr", "active"),
        Shape("label", "classify", "created"),
    ]
    return Picture("invoice", shapes, [(0, 1), (0, 2), (1, 3), (2, 3)])


def drawn(text: str) -> str:
    """Without the margin of this file."""
    return "\n".join(line[4:].rstrip() for line in text.strip("\n").splitlines()).rstrip() + "\n"


def test_a_diamond_in_the_terminal() -> None:
    assert invoice().text() == drawn("""
            ✓ split (extract)
            ╭───────┴─────────╮
      ✓ read (ocr)     ▶ read-2 (ocr)
            ╰───────┬─────────╯
           · label (classify)
    """)


def test_an_edge_over_several_layers_passes_beside_the_others() -> None:
    picture = Picture("long", [Shape("a"), Shape("b"), Shape("c")], [(0, 1), (1, 2), (0, 2)])
    rows = picture.text().splitlines()
    assert [row.split() for row in rows if row.strip("╭╮╰╯─┬┴├┤│ ")] == [["a"], ["b", "│"], ["c"]]


def test_two_that_wait_for_the_same_two() -> None:
    shapes = [Shape("one"), Shape("two"), Shape("three"), Shape("four")]
    picture = Picture("both", shapes, [(0, 2), (0, 3), (1, 2), (1, 3)])
    first, *lines, last = picture.text().splitlines()
    assert (first.split(), last.split()) == (["one", "two"], ["three", "four"])
    assert len(lines) == 2, "each has a row of its own"


def test_lines_that_swap_sides_do_not_run_together() -> None:
    shapes = [Shape("a"), Shape("b"), Shape("c"), Shape("d"), Shape("e")]
    picture = Picture("swap", shapes, [(0, 3), (1, 2), (0, 4), (1, 4), (1, 3)])
    assert "┼" in picture.text()


def test_an_empty_picture_is_empty() -> None:
    assert Picture("nothing", [], []).text() == ""
    ElementTree.fromstring(Picture("nothing", [], []).svg())


def test_printed_it_is_mermaid() -> None:
    text = str(invoice())
    assert text == invoice().mermaid()
    lines = [line.strip() for line in text.splitlines()]
    assert lines[:3] == ["flowchart TD", 'n0["split<br/>extract"]:::completed', 'n1["read<br/>ocr"]:::completed']
    assert "n2 --> n3" in lines
    assert [line.split()[1] for line in lines if line.startswith("classDef")] == ["active", "completed", "created"]


def test_an_svg_has_a_box_for_each_shape_and_a_path_for_each_edge() -> None:
    root = ElementTree.fromstring(invoice().svg())
    assert invoice()._repr_svg_() == invoice().svg()
    assert root.findtext(f"{SVG}title") == "invoice"
    assert len(root.findall(f"{SVG}g/{SVG}rect")) == 4
    assert len(root.findall(f"{SVG}path")) == 4
    fills = [box.get("fill") for box in root.findall(f"{SVG}g/{SVG}rect")]
    assert fills == [COLOURS[state][0] for state in ("completed", "completed", "active", "created")]


@given(st.text(max_size=60))
def test_any_name_stays_a_name(name: str) -> None:
    picture = Picture(name, [Shape(name, name), Shape("plain")], [(0, 1)])
    root = ElementTree.fromstring(picture.svg())
    assert len(root.findall(f"{SVG}g")) == 2
    assert len(picture.mermaid().splitlines()) == 4
    assert all(line.isprintable() for line in picture.text().split("\n"))


def test_what_could_mean_something_does_not() -> None:
    picture = Picture(NASTY, [Shape(NASTY)], [])
    assert "<script" not in picture.svg()
    (line,) = picture.mermaid().splitlines()[1:]
    label = line.strip().removeprefix('n0["').removesuffix('"]')
    assert not set('"[]<>`&') & set(label)


def test_what_is_too_much_is_drawn_as_one_for_each_task_and_layer() -> None:
    shapes = [Shape("split", kind="split", state="completed")]
    shapes += [Shape(f"read-{number}", kind="read", state="completed" if number else "active") for number in range(500)]
    shapes += [Shape("label", kind="label", state="created")]
    edges = [edge for number in range(1, 501) for edge in ((0, number), (number, 501))]
    picture = Picture("wide", shapes, edges)
    assert picture.at_most(1000) is picture
    small = picture.at_most(40)
    assert [(shape.label, shape.note, shape.state) for shape in small.shapes] == [
        ("split", "", "completed"),
        ("read ×500", "1 active, 499 completed", "active"),
        ("label", "", "created"),
    ]
    assert small.edges == [(0, 1), (1, 2)]


@pytest.mark.parametrize("state", WorkState)
def test_every_state_has_a_mark_a_colour_and_a_rank(state: WorkState) -> None:
    assert state.value in MARKS
    assert state.value in COLOURS
    assert state.value in STATES
