"""The morning post: a folder of documents, and beside each what a perfect reader would say of it."""

from __future__ import annotations

import json
import random
from dataclasses import asdict
from pathlib import Path

from workers.documents.pdf import Sheet, write_pdf
from workers.documents.writers import WRITERS

SHARE_OF_SCANS = 0.5


def make_documents(folder: str | Path, count: int, seed: int = 0) -> list[Path]:
    """Write `count` PDFs into `folder`; equal seeds give equal files.

    `document-007.json` beside `document-007.pdf` holds the label, the facts, and each page's kind and text.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    return [_make(folder / f"document-{number:03}.pdf", seed, number) for number in range(1, count + 1)]


def _make(path: Path, seed: int, number: int) -> Path:
    chance = random.Random(f"{seed}/{number}")
    pages, facts = WRITERS[number % len(WRITERS)](chance)
    sheets = [Sheet(lines, is_scan=chance.random() < SHARE_OF_SCANS) for lines in pages]
    write_pdf(path, sheets, chance)
    expected = asdict(facts) | {
        "pages": [
            {"kind": "image" if sheet.is_scan else "text", "text": "\n".join(sheet.lines)} for sheet in sheets
        ]
    }
    path.with_suffix(".json").write_text(json.dumps(expected, indent=2) + "\n")
    return path
