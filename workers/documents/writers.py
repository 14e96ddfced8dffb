"""What stands in the documents. A writer returns the pages as lines, and the facts a reader should find."""

from __future__ import annotations

import datetime
import random
import textwrap
from collections.abc import Callable
from dataclasses import dataclass

from workers.documents.phrases import CLAUSES, FIRMS, GOODS, MATTERS, PEOPLE, REMARKS, SNACKS
from workers.documents.scan import COLUMNS


@dataclass(frozen=True)
class Facts:
    label: str
    date: str
    counterparty: str
    total: str | None


Pages = list[list[str]]
Writer = Callable[[random.Random], tuple[Pages, Facts]]


def invoice(chance: random.Random) -> tuple[Pages, Facts]:
    seller, buyer = chance.sample(FIRMS, 2)
    day = _day(chance)
    entries = [(*chance.choice(GOODS), chance.randint(1, 9)) for _ in range(chance.randint(3, 30))]
    net = sum(price * count for _, price, count in entries)
    tax = net * 19 // 100
    total = _money(net + tax)
    head = [
        f"INVOICE No. {day.year}-{chance.randint(100, 9999):04}",
        "",
        f"From: {seller}",
        f"Bill to: {buyer}",
        f"Invoice date: {day.isoformat()}",
        f"Payment due within {chance.choice((14, 30))} days",
        "",
        f"{'Description':<28}{'Qty':>5}{'Unit price':>12}{'Amount':>12}",
    ]
    rows = [
        f"{what:<28}{count:>5}{_money(price):>12}{_money(price * count):>12}"
        for what, price, count in entries
    ]
    foot = [
        "",
        f"Net amount: EUR {_money(net)}",
        f"VAT 19 %: EUR {_money(tax)}",
        f"Total due: EUR {total}",
        "",
        "Please transfer the amount to our bank account and quote the invoice number.",
    ]
    lines = head + rows
    pages = [lines[:24], lines[24:] + foot] if len(rows) > 16 else [lines + foot]
    return [_wrapped(page) for page in pages], Facts("invoice", day.isoformat(), seller, total)


def letter(chance: random.Random) -> tuple[Pages, Facts]:
    sender, reader = chance.sample(PEOPLE, 2)
    firm = chance.choice(FIRMS)
    day = _day(chance)
    remarks = chance.sample(REMARKS, chance.randint(3, 5))
    opening = [
        firm,
        f"{day.day} {day:%B} {day.year}",
        "",
        f"Dear {reader},",
        "",
        f"Thank you for writing to me about {chance.choice(MATTERS)}.",
    ]
    closing = ["", "Yours sincerely,", "", sender, firm]
    body = [line for remark in remarks for line in ("", remark)]
    pages = [opening + body, closing] if chance.random() < 0.25 else [opening + body + closing]
    return [_wrapped(page) for page in pages], Facts("letter", day.isoformat(), firm, None)


def contract(chance: random.Random) -> tuple[Pages, Facts]:
    client, contractor = chance.sample(FIRMS, 2)
    day = _day(chance)
    fee = _money(chance.randint(20, 900) * 10000)
    opening = [
        "SERVICE AGREEMENT",
        "",
        f"This agreement is made on {day.day} {day:%B} {day.year} between",
        f"{client} (the Client) and",
        f"{contractor} (the Contractor).",
        "",
        "1. Services and fee",
        "The Contractor shall perform the services described in the annex with due care.",
        f"The Client shall pay an agreed fee of EUR {fee} for them.",
    ]
    months = chance.choice((6, 12, 24, 36))
    clauses = [
        ["", f"{number}. {title}", text.format(months=months)]
        for number, (title, text) in enumerate(chance.sample(CLAUSES, chance.randint(3, 6)), start=2)
    ]
    signatures = [
        "",
        "IN WITNESS WHEREOF the parties have signed this agreement.",
        "",
        "The Client",
        "The Contractor",
    ]
    count = chance.randint(2, 4)
    pages = [list(opening), *([] for _ in range(count - 1))]
    for number, clause in enumerate(clauses):
        pages[min(number * count // len(clauses), count - 1)] += clause
    pages[-1] += signatures
    return [_wrapped(page) for page in pages], Facts("contract", day.isoformat(), contractor, fee)


def receipt(chance: random.Random) -> tuple[Pages, Facts]:
    shop = chance.choice(FIRMS)
    day = _day(chance)
    sold = [(*chance.choice(SNACKS), chance.randint(1, 3)) for _ in range(chance.randint(1, 6))]
    total = _money(sum(price * count for _, price, count in sold))
    lines = [
        shop,
        f"Till {chance.randint(1, 6)}   Cashier {chance.choice(PEOPLE).split()[0]}",
        f"{day:%d/%m/%Y} {chance.randint(8, 19):02}:{chance.randint(0, 59):02}",
        "",
        *(f"{count} x {what:<22}{_money(price * count):>8}" for what, price, count in sold),
        "",
        f"TOTAL EUR {total}",
        f"Paid by {chance.choice(('card', 'cash'))}   Change 0.00",
        "",
        "Thank you for shopping with us, please keep this receipt",
    ]
    return [lines], Facts("receipt", day.isoformat(), shop, total)


WRITERS: tuple[Writer, ...] = (invoice, letter, contract, receipt)


def _day(chance: random.Random) -> datetime.date:
    return datetime.date(2023, 1, 1) + datetime.timedelta(days=chance.randrange(900))


def _money(cents: int) -> str:
    return f"{cents / 100:,.2f}"


def _wrapped(lines: list[str]) -> list[str]:
    wrapped = [piece for line in lines for piece in textwrap.wrap(line, COLUMNS) or [""]]
    return wrapped[1:] if wrapped[0] == "" else wrapped
