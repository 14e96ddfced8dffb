"""Every relative link of the documentation leads somewhere, to the very heading."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`[^`\n]*`")


def prose(page):
    return CODE.sub("", FENCE.sub("", page.read_text()))


def anchors(page):
    """As GitHub makes them: lower case, words joined by hyphens, a number for the second of a name."""
    found = []
    for heading in re.findall(r"^#{1,6} +(.+?) *$", FENCE.sub("", page.read_text()), re.MULTILINE):
        name = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        seen = sum(other == name or re.fullmatch(rf"{re.escape(name)}-\d+", other) is not None for other in found)
        found.append(f"{name}-{seen}" if seen else name)
    return found


def links():
    return [
        pytest.param(page, link, id=f"{page.relative_to(ROOT)}: {link}")
        for page in PAGES
        for link in LINK.findall(prose(page))
        if not re.match(r"[a-z]+:", link)
    ]


@pytest.mark.parametrize(("page", "link"), links())
def test_a_link_leads_somewhere(page, link):
    path, _, anchor = link.partition("#")
    target = (page.parent / path).resolve() if path else page
    assert target.exists(), f"{target} is not there"
    assert target.is_relative_to(ROOT)
    if anchor:
        assert anchor in anchors(target)


def test_the_readme_leads_to_every_page_of_the_documentation():
    readme = ROOT / "README.md"
    linked = {(ROOT / link.partition("#")[0]).resolve() for link in LINK.findall(prose(readme))}
    assert {page for page in PAGES if page.parent == ROOT / "docs"} <= linked


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text().splitlines()) < 120
