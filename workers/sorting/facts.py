"""Amount, date and counterparty of a document, found by the phrases that usually surround them."""

from __future__ import annotations

import datetime
import re
from typing import TypedDict

AMOUNT = r"(?:EUR|USD|GBP)\s*(?P<amount>\d[\d,]*\.\d\d)"
TOTALS = (rf"\btotal due:?\s*{AMOUNT}", rf"\btotal:?\s*{AMOUNT}", rf"\bfee of\s+{AMOUNT}")
DATES = (
    (r"\b\d{4}-\d\d-\d\d\b", "%Y-%m-%d"),
    (r"\b\d\d/\d\d/\d{4}\b", "%d/%m/%Y"),
    (r"\b\d{1,2} (?:January|February|March|April|May|June|July|August|September|October|November|December) "
     r"\d{4}\b", "%d %B %Y"),
)  # fmt: skip
COUNTERPARTIES = {
    "invoice": r"^From:\s*(?P<name>.+)$",
    "contract": r"^(?:and )?(?P<name>.+?)\s+\(the Contractor\)",
    "letter": r"\A\s*(?P<name>\S.*)$",
    "receipt": r"\A\s*(?P<name>\S.*)$",
}


class Facts(TypedDict):
    total: str | None
    date: str | None
    counterparty: str | None


def find_facts(label: str, text: str) -> Facts:
    """None stands for what the text does not tell."""
    return {"total": _total(text), "date": _date(text), "counterparty": _counterparty(label, text)}


def _total(text: str) -> str | None:
    for pattern in TOTALS:
        if found := re.search(pattern, text, re.IGNORECASE):
            return found["amount"]
    return None


def _date(text: str) -> str | None:
    """The first date that the calendar has, as ISO writes it."""
    one_line = " ".join(text.split())
    candidates = [
        (found.start(), found[0], form) for pattern, form in DATES for found in re.finditer(pattern, one_line)
    ]
    for _, written, form in sorted(candidates):
        try:
            return datetime.datetime.strptime(written, form).date().isoformat()
        except ValueError:
            continue
    return None


def _counterparty(label: str, text: str) -> str | None:
    pattern = COUNTERPARTIES.get(label)
    found = re.search(pattern, text, re.MULTILINE) if pattern else None
    return found["name"].strip() if found else None
