"""Puts pages into a PDF: as text that a program can read, or as the picture of a scan."""

from __future__ import annotations

import io
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from reportlab.lib.pagesizes import A4
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen.canvas import Canvas

from workers.documents.scan import scanned

MARGIN = 54
FONT = ("Courier", 10)
LEADING = 13


@dataclass(frozen=True)
class Sheet:
    lines: Sequence[str]
    is_scan: bool


def write_pdf(path: Path, sheets: Sequence[Sheet], chance: random.Random) -> None:
    width, height = A4
    # `invariant` leaves the time of making out, so that equal seeds give equal bytes.
    canvas = Canvas(str(path), pagesize=A4, invariant=True)
    for sheet in sheets:
        if sheet.is_scan:
            picture = ImageReader(io.BytesIO(scanned(sheet.lines, chance)))
            canvas.drawImage(picture, 0, 0, width, height)
        else:
            text = canvas.beginText(MARGIN, height - MARGIN)
            text.setFont(*FONT, leading=LEADING)
            text.textLines(list(sheet.lines), trim=False)
            canvas.drawText(text)
        canvas.showPage()
    canvas.save()
