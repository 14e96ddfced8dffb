"""A picture as Mermaid text, which GitHub, GitLab and most wikis draw."""

from __future__ import annotations

import re

from marie_celery.drawing.colours import COLOURS
from marie_celery.drawing.picture import Picture


def mermaid(picture: Picture) -> str:
    lines = ["flowchart TD"]
    for number, shape in enumerate(picture.shapes):
        note = f"<br/>{escaped(shape.note)}" if shape.note else ""
        mark = f":::{shape.state}" if shape.state in COLOURS else ""
        lines.append(f'    n{number}["{escaped(shape.label)}{note}"]{mark}')
    lines += [f"    n{source} --> n{target}" for source, target in picture.edges]
    for state in sorted({shape.state for shape in picture.shapes} & COLOURS.keys()):
        fill, line = COLOURS[state]
        lines.append(f"    classDef {state} fill:{fill},stroke:{line},color:#1c1c1c")
    return "\n".join(lines) + "\n"


def escaped(text: str) -> str:
    """Whatever could mean something, to Mermaid or as HTML, by its number."""
    return re.sub(r"[^\w .,:/×%-]", lambda found: f"#{ord(found[0])};", text)
