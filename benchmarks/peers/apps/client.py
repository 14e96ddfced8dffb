"""The client of a system, in the environment of that system: `python client.py rq_app`.

The app's `workloads()` says how each workload is done. Each line of the input is `{"workload": …, "sizes": […]}`, each
line of the output what came of it.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence

from work import join

Answer = int | Sequence[int]


def serve(workloads: Mapping[str, Callable[..., Answer]]) -> None:
    """The time is from before the submission to the last result in the hands of the client."""
    # Libraries may print; what they say must not be taken for an answer.
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    for line in sys.stdin:
        order = json.loads(line)
        began = time.perf_counter()
        answer = workloads[order["workload"]](*order["sizes"])
        seconds = time.perf_counter() - began
        checked = answer if isinstance(answer, int) else join(answer)
        print(json.dumps({"seconds": seconds, "answer": checked}), file=answers)


if __name__ == "__main__":
    serve(importlib.import_module(sys.argv[1]).workloads())
