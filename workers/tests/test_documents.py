from __future__ import annotations

import json
import random
from pathlib import Path

from workers.documents import make_documents
from workers.documents.scan import COLUMNS, LINES
from workers.documents.writers import WRITERS


def test_equal_seeds_give_equal_files(tmp_path: Path) -> None:
    make_documents(tmp_path / "one", 8, seed=5)
    make_documents(tmp_path / "other", 8, seed=5)
    names = sorted(file.name for file in (tmp_path / "one").iterdir())
    assert len(names) == 16
    for name in names:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "other" / name).read_bytes()


def test_other_seeds_give_other_files(tmp_path: Path) -> None:
    (one,) = make_documents(tmp_path / "one", 1, seed=5)
    (other,) = make_documents(tmp_path / "other", 1, seed=6)
    assert one.read_bytes() != other.read_bytes()


def test_the_post_holds_every_class_and_both_kinds_of_page(tmp_path: Path) -> None:
    documents = make_documents(tmp_path, 20, seed=1)
    expected = [json.loads(document.with_suffix(".json").read_text()) for document in documents]
    assert {document["label"] for document in expected} == {"invoice", "letter", "contract", "receipt"}
    assert {page["kind"] for document in expected for page in document["pages"]} == {"text", "image"}


def test_a_document_has_one_to_four_pages_and_each_fits_the_scanner() -> None:
    documents = [write(random.Random(seed))[0] for seed in range(200) for write in WRITERS]
    assert {len(pages) for pages in documents} == {1, 2, 3, 4}
    assert max(len(page) for pages in documents for page in pages) <= LINES
    assert max(len(line) for pages in documents for page in pages for line in page) <= COLUMNS
