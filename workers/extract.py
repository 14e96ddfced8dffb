"""Executor `extract`: takes PDFs apart."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, TypedDict

from PIL import Image
from pypdf import PageObject, PdfReader


class DocumentError(ValueError):
    """A file that is not what it should be; the message names it."""


class Page(TypedDict):
    """Where a page is and how to read it; plain JSON, so that it can travel between workers."""

    pdf: str
    index: int
    kind: Literal["text", "image"]


def split(path: str | Path) -> list[Page]:
    """The pages of a PDF, in order."""
    with _named_errors(path):
        pages = PdfReader(path).pages
        return [{"pdf": str(path), "index": index, "kind": _kind(page)} for index, page in enumerate(pages)]


def read_text(page: Page) -> str:
    """The text that the PDF itself carries for this page."""
    with _named_errors(page["pdf"]):
        return _open(page).extract_text()


def picture(page: Page) -> Image.Image:
    """The scan on this page."""
    with _named_errors(page["pdf"]):
        for found in _open(page).images:
            if found.image:
                found.image.load()
                return found.image
    raise DocumentError(f"{page['pdf']} has no picture on page {page['index'] + 1}")


def _kind(page: PageObject) -> Literal["text", "image"]:
    # Pages without either are blank: reading them as text gives an empty one.
    return "text" if page.extract_text().strip() or not page.images else "image"


def _open(page: Page) -> PageObject:
    pages = PdfReader(page["pdf"]).pages
    if page["index"] >= len(pages):
        raise DocumentError(f"{page['pdf']} has {len(pages)} pages, there is no page {page['index'] + 1}")
    return pages[page["index"]]


@contextmanager
def _named_errors(path: str | Path) -> Iterator[None]:
    try:
        yield
    except DocumentError:
        raise
    except FileNotFoundError:
        raise DocumentError(f"there is no file {path}") from None
    except Exception as error:
        # Damaged bytes end in whatever error the decoder that met them happens to raise.
        raise DocumentError(f"{path} is not a readable PDF: {error}") from error
