"""What a node costs in a run in this process, beside others that run graphs locally. Exits non-zero above the bar.

    python benchmarks/local.py [--rounds 7] [--without-peers]

The functions do next to nothing, so what is measured is the machinery: from the call that builds the graph to the
result in hand. Peers that are not in the standard library get an environment of their own below `.venv`; one that
cannot be had is skipped with a line.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
import venv
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from threading import Lock

BAR_US = 60.0
PEERS = {"dask": "dask", "prefect": "prefect>=3 fastapi<0.130"}
# Prefect takes milliseconds for a node: it gets fewer of them, and less often.
SCALES = {"prefect": 0.05}
ROUNDS = {"prefect": 2}
SECONDS_FOR_A_PEER = 240

Graph = dict[int, tuple[Callable[..., int], list[int]]]
"""Node → its function and the nodes whose results it takes."""


def add(*xs: int) -> int:
    return sum(xs) + 1


def chain(length: int) -> Graph:
    return {node: (add, [node - 1] if node else []) for node in range(length)}


def wide(width: int) -> Graph:
    return {**{node: (add, []) for node in range(width)}, width: (add, list(range(width)))}


def layered(layers: int, width: int) -> Graph:
    """Each layer of equals is summed up by one node, which all of the next take."""
    graph: Graph = {}
    before: list[int] = []
    for _ in range(layers):
        first = len(graph)
        graph.update({first + place: (add, before) for place in range(width)})
        graph[first + width] = (add, list(range(first, first + width)))
        before = [first + width]
    return graph


def shapes(scale: float) -> dict[str, Graph]:
    size = round(1000 * scale)
    return {"chain": chain(size), "wide": wide(size), "layered": layered(10, size // 10)}


def of_marie() -> Callable[[Graph], int]:
    from celery import Celery

    from marie_celery import Marie

    marie = Marie(Celery("benchmark"))
    add_task = marie.task(executor="main", name="benchmark.add")(add)

    @marie.dag(name="benchmark")
    def drawn(graph: Graph) -> object:
        made: dict[int, object] = {}
        for node, (_, parents) in graph.items():
            made[node] = add_task(*[made[parent] for parent in parents])
        return made[len(graph) - 1]

    def run(graph: Graph) -> int:
        found: int = drawn.run_local(graph).result()
        return found

    return run


def of_futures() -> Callable[[Graph], int]:
    """What one would write by hand: a job is handed to the pool when its last parent is done."""

    def run(graph: Graph) -> int:
        left = {node: len(parents) for node, (_, parents) in graph.items()}
        children: dict[int, list[int]] = {node: [] for node in graph}
        for node, (_, parents) in graph.items():
            for parent in parents:
                children[parent].append(node)
        results: dict[int, int] = {}
        lock, done = Lock(), Future[int]()
        with ThreadPoolExecutor() as pool:

            def perform(node: int) -> None:
                function, parents = graph[node]
                value = function(*[results[parent] for parent in parents])
                with lock:
                    results[node] = value
                    for child in children[node]:
                        left[child] -= 1
                    ready = [child for child in children[node] if not left[child]]
                for child in ready:
                    pool.submit(perform, child)
                if node == len(graph) - 1:
                    done.set_result(value)

            for root in [node for node, parents in left.items() if not parents]:
                pool.submit(perform, root)
            return done.result()

    return run


def of_dask() -> Callable[[Graph], int]:
    from dask.threaded import get  # type: ignore[import-not-found,unused-ignore]

    def run(graph: Graph) -> int:
        found: int = get({node: (function, *parents) for node, (function, parents) in graph.items()}, len(graph) - 1)
        return found

    return run


def of_prefect() -> Callable[[Graph], int]:
    from prefect import flow, task  # type: ignore[import-not-found,unused-ignore]

    @task
    def step(*xs: int) -> int:
        return add(*xs)

    @flow
    def drawn(graph: Graph) -> int:
        made: dict[int, object] = {}
        for node, (_, parents) in graph.items():
            made[node] = step.submit(*[made[parent] for parent in parents])
        found: int = made[len(graph) - 1].result()  # type: ignore[attr-defined]
        return found

    return drawn  # type: ignore[no-any-return,unused-ignore]


RUNNERS = {"marie_celery": of_marie, "concurrent.futures": of_futures, "dask": of_dask, "prefect": of_prefect}


def measure(name: str, rounds: int) -> dict[str, float]:
    """Shape → microseconds per node in the best round: the others tell more of the machine's other work."""
    run, scale = RUNNERS[name](), SCALES.get(name, 1.0)
    found = {}
    for shape, graph in shapes(scale).items():
        run(shapes(0.02)[shape])
        times = []
        for _ in range(min(rounds, ROUNDS.get(name, rounds))):
            began = time.perf_counter()
            run(graph)
            times.append((time.perf_counter() - began) / len(graph) * 1e6)
        found[shape] = min(times)
    return found


def measure_peer(name: str, rounds: int) -> dict[str, float] | str:
    """Its figures, or why there are none."""
    home = Path(__file__).parents[1] / ".venv" / f"peer-{name}"
    python = home / "bin" / "python"
    try:
        if not python.exists():
            venv.create(home, with_pip=True)
        _call([str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *PEERS[name].split()])
        environment = {**os.environ, "PREFECT_LOGGING_LEVEL": "ERROR", "PREFECT_HOME": str(home / "state")}
        output = _call([str(python), __file__, "--only", name, "--rounds", str(rounds)], environment)
        found: dict[str, float] = json.loads(output.splitlines()[-1])
        return found
    except (subprocess.SubprocessError, OSError, ValueError) as error:
        return str(error).splitlines()[0][:100]


def _call(command: list[str], environment: dict[str, str] | None = None) -> str:
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, timeout=SECONDS_FOR_A_PEER, env=environment
    )
    return done.stdout


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rounds", type=int, default=7)
    options.add_argument("--without-peers", action="store_true")
    options.add_argument("--only", choices=RUNNERS, help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.only:
        print(json.dumps(measure(given.only, given.rounds)))
        return 0
    figures: dict[str, dict[str, float] | str] = {
        name: measure(name, given.rounds) for name in ("marie_celery", "concurrent.futures")
    }
    if not given.without_peers:
        figures.update({name: measure_peer(name, given.rounds) for name in PEERS})
    ours = figures["marie_celery"]
    assert isinstance(ours, dict)
    print(f"{'µs per node':<20}" + "".join(f"{shape:>20}" for shape in ours))
    for name, found in figures.items():
        if isinstance(found, str):
            print(f"{name:<20}skipped: {found}")
            continue
        cells = (f"{found[shape]:.1f} ({found[shape] / ours[shape]:.2f}x)" for shape in ours)
        print(f"{name:<20}" + "".join(f"{cell:>20}" for cell in cells))
    worst = max(ours.values())
    print(f"worst of ours: {worst:.1f} µs, the bar is {BAR_US:.0f}")
    return 0 if worst <= BAR_US else 1


if __name__ == "__main__":
    sys.exit(main())
