from __future__ import annotations

from pathlib import Path

import pytest

from workers import extract
from workers.documents import make_documents


@pytest.fixture
def document(tmp_path: Path) -> Path:
    return make_documents(tmp_path, 1)[0]


def test_a_file_that_is_no_pdf_is_named_in_the_error(tmp_path: Path) -> None:
    broken = tmp_path / "broken.pdf"
    broken.write_bytes(b"this was never a PDF")
    with pytest.raises(extract.DocumentError, match=r"broken\.pdf is not a readable PDF"):
        extract.split(broken)


def test_a_cut_off_pdf_is_named_in_the_error(document: Path) -> None:
    content = document.read_bytes()
    document.write_bytes(content[: len(content) // 3])
    with pytest.raises(extract.DocumentError, match=r"document-001\.pdf is not a readable PDF"):
        extract.split(document)


def test_a_missing_file_is_named_in_the_error(tmp_path: Path) -> None:
    with pytest.raises(extract.DocumentError, match=r"there is no file .*nowhere\.pdf"):
        extract.split(tmp_path / "nowhere.pdf")


def test_a_page_behind_the_last_one_is_an_error(document: Path) -> None:
    with pytest.raises(extract.DocumentError, match="there is no page 100"):
        extract.read_text({"pdf": str(document), "index": 99, "kind": "text"})


def test_a_page_of_text_has_no_picture_to_recognise(tmp_path: Path) -> None:
    pages = [page for document in make_documents(tmp_path, 8) for page in extract.split(document)]
    text_page = next(page for page in pages if page["kind"] == "text")
    with pytest.raises(extract.DocumentError, match="has no picture on page"):
        extract.picture(text_page)
