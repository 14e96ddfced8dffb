"""From the folder of PDFs to the label, on what the makers of the documents wrote beside them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from workers import classify, extract, ocr
from workers.documents import make_documents

COUNT = 20


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return make_documents(tmp_path_factory.mktemp("post"), COUNT, seed=2024)


@pytest.fixture(scope="module")
def expected(documents: list[Path]) -> list[dict[str, Any]]:
    return [json.loads(document.with_suffix(".json").read_text()) for document in documents]


@pytest.fixture(scope="module")
def pages(documents: list[Path]) -> list[list[extract.Page]]:
    return [extract.split(document) for document in documents]


@pytest.fixture(scope="module")
def texts(pages: list[list[extract.Page]]) -> list[list[str]]:
    return [[ocr.read(page) for page in document] for document in pages]


def test_split_finds_every_page_and_its_kind(
    pages: list[list[extract.Page]], expected: list[dict[str, Any]]
) -> None:
    kinds = [[page["kind"] for page in document] for document in pages]
    assert kinds == [[page["kind"] for page in document["pages"]] for document in expected]
    assert json.loads(json.dumps(pages)) == pages


def test_text_pages_are_read_exactly(
    pages: list[list[extract.Page]], texts: list[list[str]], expected: list[dict[str, Any]]
) -> None:
    read = [
        (text.split(), wanted["text"].split())
        for document, found, facts in zip(pages, texts, expected, strict=True)
        for page, text, wanted in zip(document, found, facts["pages"], strict=True)
        if page["kind"] == "text"
    ]
    assert len(read) >= 10
    assert all(found == wanted for found, wanted in read)


def test_at_least_95_of_100_labels_are_right(texts: list[list[str]], expected: list[dict[str, Any]]) -> None:
    findings = [classify.label(document) for document in texts]
    right = sum(finding["label"] == facts["label"] for finding, facts in zip(findings, expected, strict=True))
    assert right >= 0.95 * COUNT


def test_at_least_95_of_100_facts_are_right(texts: list[list[str]], expected: list[dict[str, Any]]) -> None:
    checks = [
        classify.label(document)["fields"][field] == facts[field]
        for document, facts in zip(texts, expected, strict=True)
        for field in ("total", "date", "counterparty")
    ]
    assert sum(checks) >= 0.95 * len(checks)


def test_the_report_sums_a_document_up(pages: list[list[extract.Page]], texts: list[list[str]]) -> None:
    finding = classify.label(texts[0])
    report = classify.report(pages[0], texts[0], finding)
    assert report == {
        "document": "document-001.pdf",
        "pages": len(pages[0]),
        "scanned_pages": sum(page["kind"] == "image" for page in pages[0]),
        "words": report["words"],
        "label": finding["label"],
        "confidence": finding["confidence"],
        **finding["fields"],
    }
    assert report["words"] > 20
    assert json.loads(json.dumps(report)) == report
