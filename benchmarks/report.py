"""What a benchmark found: printed line by line, with the bars that it missed, and as a table for the page."""

from __future__ import annotations

import argparse
from dataclasses import dataclass, field

from benchmarks import page
from benchmarks.peers.tables import table


@dataclass
class Report:
    missed: list[str] = field(default_factory=list)
    lines: list[tuple[str, str, str]] = field(default_factory=list)

    def line(self, what: str, figure: str, bar: str = "", *, kept: bool = True) -> None:
        """A bar begins with ≤, < or ≥; other text in its place is a remark."""
        mark = "" if bar[:1] not in ("≤", "<", "≥") else "  ok" if kept else "  MISSED"
        print(f"  {what:<58} {figure:>22}   {bar}{mark}", flush=True)
        self.lines.append((what, figure, f"{bar}{mark.lower()}"))
        if not kept:
            self.missed.append(what)

    def markdown(self) -> str:
        return table(["what", "figure", "bar"], self.lines)

    def end(self, part: str, *, write: bool) -> int:
        """The exit code."""
        if write:
            page.write(part, self.markdown())
        if self.missed:
            print(f"missed: {'; '.join(self.missed)}")
        return 1 if self.missed else 0


def can_write(options: argparse.ArgumentParser) -> None:
    options.add_argument("--write", action="store_true", help=f"put the figures into docs/{page.PAGE.name}")
