"""The page of figures: each benchmark writes between two marks of its own, and leaves the text around them alone."""

from __future__ import annotations

from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "performance.md"


def replace_between(text: str, name: str, body: str) -> str:
    first, last = f"<!-- {name} -->", f"<!-- /{name} -->"
    if text.count(first) != 1 or text.count(last) != 1 or text.index(first) > text.index(last):
        raise ValueError(f"the page needs the marks {first} and {last} once each, in this order")
    before, _, rest = text.partition(first)
    _, _, after = rest.partition(last)
    return f"{before}{first}\n\n{body.strip()}\n\n{last}{after}"


def write(name: str, body: str) -> None:
    PAGE.write_text(replace_between(PAGE.read_text(), name, body))
    print(f"wrote the part '{name}' of {PAGE.name}")
