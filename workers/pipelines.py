"""The tasks of each executor, and how a document goes through them."""

from __future__ import annotations

from marie_celery import dag, task
from workers import classify, extract, ocr
from workers.classify import Report
from workers.extract import DocumentError, Page


@task(executor="extract", give_up_on=(DocumentError,))
def split(path: str) -> list[Page]:
    """The pages of a PDF."""
    return extract.split(path)


@task(executor="extract", estimated_runtime=0.05)
def read_texts(pages: list[Page]) -> list[str]:
    """What the PDF itself carries, page by page; nothing for scans."""
    return [extract.read_text(page) if page["kind"] == "text" else "" for page in pages]


@task(executor="ocr", estimated_runtime=0.3)
def read_scans(pages: list[Page]) -> list[str]:
    """What can be recognised in scans, page by page; nothing for the others."""
    return [ocr.read(page) if page["kind"] == "image" else "" for page in pages]


@task(executor="classify")
def sort(pages: list[Page], texts: list[str], scans: list[str]) -> Report:
    """What the document is, in one record."""
    read = [text or scan for text, scan in zip(texts, scans, strict=True)]
    return classify.report(pages, read, classify.label(read))


@dag(soft_sla="30s", hard_sla="5m")
def document(path: str) -> Report:
    pages = split(path)
    return sort(pages, read_texts(pages), read_scans(pages))
