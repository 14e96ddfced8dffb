"""Executor `classify`: says what a document is, and sums it up."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TypedDict

from workers.extract import Page
from workers.sorting.bayes import Classifier, words
from workers.sorting.examples import EXAMPLES
from workers.sorting.facts import Facts, find_facts

CLASSIFIER = Classifier(EXAMPLES)


class Finding(TypedDict):
    label: str
    confidence: float
    fields: Facts


class Report(TypedDict):
    document: str
    pages: int
    scanned_pages: int
    words: int
    label: str
    confidence: float
    total: str | None
    date: str | None
    counterparty: str | None


def label(texts: Sequence[str]) -> Finding:
    """What the document with these pages is: invoice, letter, contract, receipt or unknown, and its facts."""
    text = "\n".join(texts)
    best, confidence = CLASSIFIER.classify(text)
    return {"label": best, "confidence": round(confidence, 3), "fields": find_facts(best, text)}


def report(pages: Sequence[Page], texts: Sequence[str], finding: Finding) -> Report:
    """One flat record of a document, for a table."""
    return {
        "document": Path(pages[0]["pdf"]).name if pages else "",
        "pages": len(pages),
        "scanned_pages": sum(page["kind"] == "image" for page in pages),
        "words": sum(len(words(text)) for text in texts),
        "label": finding["label"],
        "confidence": finding["confidence"],
        **finding["fields"],
    }
