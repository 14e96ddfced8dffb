"""Executor `ocr`: reads scanned pages by comparing each cell of the page with every glyph of the known type.

A cell of 12 x 22 pixels becomes one integer, so the distance to a glyph is an exclusive or and a count of
bits; pure Python is fast enough for that. Nothing is assumed about where the text lies: the grid of cells is
found first, by the blank stripes between the lines and then by which shift makes the cells most like glyphs.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from itertools import accumulate

from PIL import Image

from workers.documents.typewriter import ALPHABET, CELL_HEIGHT, CELL_WIDTH, typed
from workers.extract import Page, picture, read_text

# The type has no ink in the first pixels of a line.
BLANK_ROWS = 4
SAMPLE_LINES = 2


def read(page: Page) -> str:
    """The text of a page: what the PDF carries if it does, else what is recognised in its picture."""
    return recognise(picture(page)) if page["kind"] == "image" else read_text(page)


def recognise(scan: Image.Image) -> str:
    ink = _ink(scan)
    left, top = _find_grid(ink)
    lines = [
        "".join(_nearest(cell)[1] for cell in _cells(ink, left, y)).rstrip()
        for y in range(top, ink.height, CELL_HEIGHT)
    ]
    return textwrap.dedent("\n".join(lines)).strip("\n")


def _ink(scan: Image.Image) -> Image.Image:
    """Bilevel, ink set; the threshold lies halfway between this page's paper and its ink."""
    grey = scan.convert("L")
    counts = grey.histogram()
    paper = max(range(256), key=counts.__getitem__)
    enough_to_be_ink = grey.width * grey.height // 5000
    darkest = next(level for level, below in enumerate(accumulate(counts)) if below >= enough_to_be_ink)
    threshold = (paper + darkest) // 2
    return grey.point([255 if level < threshold else 0 for level in range(256)], "1")


def _find_grid(ink: Image.Image) -> tuple[int, int]:
    """Left and top of the first cell, at or just outside the edges of the page."""
    per_row = [row.bit_count() for row in _rows(ink)]
    # Squared, so that a few lines of text outweigh a page full of evenly spread dirt.
    folded = [sum(count**2 for count in per_row[phase::CELL_HEIGHT]) for phase in range(CELL_HEIGHT)]

    def ink_between_lines(phase: int) -> int:
        return sum(folded[(phase + row) % CELL_HEIGHT] for row in range(BLANK_ROWS))

    top = min(range(CELL_HEIGHT), key=ink_between_lines)

    def ink_of_line(y: int) -> int:
        return sum(per_row[max(y, 0) : y + CELL_HEIGHT])

    fullest = sorted(range(top, ink.height, CELL_HEIGHT), key=ink_of_line)[-SAMPLE_LINES:]

    def unlikeness(left: int, shift: int) -> int:
        return sum(_nearest(cell)[0] for y in fullest for cell in _cells(ink, left, y + shift))

    left = min(range(-CELL_WIDTH, 0), key=lambda left: unlikeness(left, 0))
    # On a page with little text the blank stripes are found a few pixels off.
    shift = min(range(-BLANK_ROWS, BLANK_ROWS + 1), key=lambda shift: unlikeness(left, shift))
    return left, top + shift - CELL_HEIGHT


def _cells(ink: Image.Image, left: int, y: int) -> Iterator[int]:
    for x in range(left, ink.width, CELL_WIDTH):
        yield _bits(ink.crop((x, y, x + CELL_WIDTH, y + CELL_HEIGHT)))


def _bits(cell: Image.Image) -> int:
    return int.from_bytes(cell.tobytes(), "big")


def _rows(ink: Image.Image) -> Iterator[int]:
    width = (ink.width + 7) // 8
    packed = ink.tobytes()
    for start in range(0, len(packed), width):
        yield int.from_bytes(packed[start : start + width], "big")


GLYPHS = [(0, " "), *((_bits(typed(letter)), letter) for letter in ALPHABET)]


def _nearest(cell: int) -> tuple[int, str]:
    """The distance to the most similar glyph, and its letter."""
    if not cell:
        return 0, " "
    return min(((cell ^ glyph).bit_count(), letter) for glyph, letter in GLYPHS)
