"""A page as a scanner delivers it: typed text somewhere on grey paper, a little soft, a little dirty."""

from __future__ import annotations

import io
import random
from collections.abc import Sequence

from PIL import Image, ImageFilter

from workers.documents.typewriter import CELL_HEIGHT, CELL_WIDTH, typed

COLUMNS = 64
LINES = 46
PAGE_SIZE = (COLUMNS * CELL_WIDTH + 96, LINES * CELL_HEIGHT + 120)
SPECKLES = 6000
JPEG_QUALITY = 70


def scanned(lines: Sequence[str], chance: random.Random) -> bytes:
    """A JPEG of the lines; where they lie, the greys and the dirt come from `chance`."""
    ink = Image.new("1", PAGE_SIZE)
    left = chance.randint(24, 24 + 4 * CELL_WIDTH)
    top = chance.randint(24, 24 + 3 * CELL_HEIGHT)
    for number, line in enumerate(lines):
        if line:
            ink.paste(typed(line), (left, top + number * CELL_HEIGHT))
    paper, black = chance.randint(215, 250), chance.randint(10, 80)
    page = Image.new("L", PAGE_SIZE, paper)
    page.paste(black, mask=ink)
    page = page.filter(ImageFilter.GaussianBlur(chance.uniform(0.3, 0.7)))
    for _ in range(SPECKLES):
        place = chance.randrange(page.width), chance.randrange(page.height)
        page.putpixel(place, chance.choice((black, paper)))
    jpeg = io.BytesIO()
    page.save(jpeg, "JPEG", quality=JPEG_QUALITY)
    return jpeg.getvalue()
