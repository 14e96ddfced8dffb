"""The monospaced type of the scanned pages: Pillow's built-in bitmap face, every dot drawn as a square.

Who makes scans and who reads them agree on this type and its size, and on nothing else: where the text lies
on the page, the tint of the paper and the dirt on it are for the reader to find out.
"""

from __future__ import annotations

from PIL import Image, ImageDraw, ImageFont

DOT = 2
CELL_WIDTH = 6 * DOT
CELL_HEIGHT = 11 * DOT
ALPHABET = "".join(chr(code) for code in range(ord("!"), ord("~") + 1))


def typed(text: str) -> Image.Image:
    """One line of text as a bilevel image, ink set."""
    face = ImageFont.load_default_imagefont()
    line = Image.new("1", (CELL_WIDTH // DOT * len(text), CELL_HEIGHT // DOT))
    ImageDraw.Draw(line).text((0, 0), text, font=face, fill=1)
    return line.resize((line.width * DOT, line.height * DOT), Image.Resampling.NEAREST)
