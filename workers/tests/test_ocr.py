from __future__ import annotations

import difflib
import io
import random

import pytest
from PIL import Image

from workers.documents.scan import COLUMNS, scanned
from workers.documents.typewriter import ALPHABET
from workers.documents.writers import WRITERS
from workers.ocr import recognise


def read_back(lines: list[str], chance: random.Random) -> str:
    return recognise(Image.open(io.BytesIO(scanned(lines, chance))))


def accuracy(wanted: str, found: str) -> float:
    same = difflib.SequenceMatcher(None, wanted, found, autojunk=False).get_matching_blocks()
    return sum(block.size for block in same) / max(len(wanted), len(found))


@pytest.mark.parametrize("seed", range(6))
def test_98_of_100_characters_of_a_scan_are_right_wherever_the_text_lies(seed: int) -> None:
    chance = random.Random(seed)
    pages, _ = WRITERS[seed % len(WRITERS)](chance)
    assert pages
    for lines in pages:
        assert accuracy("\n".join(lines), read_back(lines, chance)) >= 0.98


def test_every_letter_of_the_type_is_known() -> None:
    lines = [ALPHABET[:COLUMNS], ALPHABET[COLUMNS:]] * 4
    assert accuracy("\n".join(lines), read_back(lines, random.Random(7))) >= 0.98


def test_a_page_with_a_single_word_is_read() -> None:
    assert read_back(["Regards"], random.Random(3)) == "Regards"


def test_an_empty_page_has_no_text() -> None:
    assert recognise(Image.new("L", (400, 300), 240)) == ""


def test_a_dirty_page_without_text_gives_no_words() -> None:
    assert read_back([], random.Random(4)).split() == []
