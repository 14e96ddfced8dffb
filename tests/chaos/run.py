"""`python -m tests.chaos.run --minutes 10`: break everything for so long, then account for everything."""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from pathlib import Path

from tests.chaos.harness import Chaos


def say(text: str) -> None:
    print(text, flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--jobs", type=int, default=0, help="go on until so many were submitted")
    parser.add_argument("--seed", type=int, default=random.randrange(10**6), help="the same faults at the same times")
    parser.add_argument("--every", type=float, default=1.4, help="seconds between faults")
    parser.add_argument("--keep", type=Path, help="a directory for logs, ledger and data; else a temporary one")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="marie-chaos-") as temporary:
        directory = given.keep or Path(temporary)
        directory.mkdir(parents=True, exist_ok=True)
        report = Chaos(directory, given.seed, given.minutes * 60, given.jobs, given.every, say).run()
    print(report)
    return 1 if report.problems else 0


if __name__ == "__main__":
    sys.exit(main())
