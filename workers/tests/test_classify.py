from __future__ import annotations

import pytest

from workers.classify import label


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Payment of this invoice is due; unit price and VAT below", "invoice"),
        ("Dear Ruth, thank you, I hope you are well. Yours sincerely", "letter"),
        ("The parties to this agreement shall give written notice", "contract"),
        ("Cashier 3, 2 x tea, paid by card, change 0.00", "receipt"),
    ],
)
def test_a_short_text_is_sorted_by_its_words(text: str, wanted: str) -> None:
    finding = label([text])
    assert finding["label"] == wanted
    assert 0.5 < finding["confidence"] <= 1


def test_words_that_say_nothing_leave_the_label_unknown() -> None:
    assert label(["xyzzy 42"]) == {
        "label": "unknown",
        "confidence": 0.0,
        "fields": {"total": None, "date": None, "counterparty": None},
    }
    assert label([])["label"] == "unknown"


def test_the_facts_may_be_spread_over_the_pages() -> None:
    pages = [
        "INVOICE\nFrom: Quince & Daughters\nInvoice date: 2024-02-29",
        "Net amount: EUR 1,000.00\nTotal due: EUR 1,190.00",
    ]
    assert label(pages)["fields"] == {
        "total": "1,190.00",
        "date": "2024-02-29",
        "counterparty": "Quince & Daughters",
    }


@pytest.mark.parametrize(
    ("written", "wanted"),
    [
        ("5 March 2024", "2024-03-05"),
        ("05/03/2024", "2024-03-05"),
        ("2024-03-05", "2024-03-05"),
        ("2024-02-30, then 2024-03-01", "2024-03-01"),
        ("on no day", None),
    ],
)
def test_dates_are_given_as_iso_writes_them(written: str, wanted: str | None) -> None:
    assert label([f"Dear Ruth, I write {written}"])["fields"]["date"] == wanted
