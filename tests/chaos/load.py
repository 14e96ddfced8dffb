"""What flows while things break: DAGs of all kinds with a known outcome, a steady number of them under way."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from redis import RedisError

from marie_celery import DuplicateRun
from marie_celery.errors import ServerError


@dataclass(frozen=True, slots=True)
class Expected:
    state: str
    value: int | None
    jobs: int


def layered(layers: int, width: int) -> Expected:
    value = 0
    for _ in range(layers):
        value = width * (value + 1)
    return Expected("completed", value, layers * (width + 1))


OUTCOMES: dict[str, Callable[..., Expected]] = {
    "layered": layered,
    "chain": lambda length, seconds: Expected("completed", length, length),
    "retrying": lambda width: Expected("completed", 2 * width, 2 * width + 1),
    "hanging": lambda: Expected("completed", 2, 2),
    "failing": lambda width: Expected("failed", None, width + 3),
    "skipping": lambda width: Expected("completed", width, width + 3),
}


def next_dag(rng: random.Random) -> tuple[str, tuple[Any, ...]]:
    name = rng.choices(list(OUTCOMES), weights=[12, 3, 1, 1, 2, 2])[0]
    if name == "layered":
        return name, (rng.randint(2, 6), rng.randint(5, 20))
    if name == "chain":
        return name, (rng.randint(5, 15), rng.choice([0.0, 0.02, 0.2]))
    return name, () if name == "hanging" else (rng.randint(2, 8),)


class Load:
    """Submits under keys, so a submit whose answer was lost can be said again without a second run."""

    def __init__(self, module: Any, rng: random.Random, under_way: int) -> None:
        self._module = module
        self._rng = rng
        self._most = under_way
        self._open: set[str] = set()
        self._next: tuple[str, tuple[Any, ...]] | None = None
        self.expected: dict[str, Expected] = {}
        self.jobs = 0

    @property
    def is_done(self) -> bool:
        return not self._open

    def pump(self, more: bool) -> None:
        """Note what has ended and, if `more`, fill up. Does nothing while Redis is away."""
        store = self._module.marie.store
        try:
            runs = sorted(self._open)
            with store.client.pipeline(transaction=False) as pipe:
                for run in runs:
                    pipe.hexists(store.keys.run(run), "ended_at")
                ended = pipe.execute()
            self._open -= {run for run, done in zip(runs, ended, strict=True) if done}
            while more and len(self._open) < self._most:
                self._submit()
        except (RedisError, ServerError):
            return

    def _submit(self) -> None:
        # Kept until it is accepted for sure.
        self._next = self._next or next_dag(self._rng)
        name, arguments = self._next
        made = getattr(self._module, name).options(key=f"chaos-{len(self.expected)}", duplicates="reject_all")
        try:
            run = made.submit(*arguments).id
        except DuplicateRun as accepted_before:
            run = accepted_before.run_id
        self._next = None
        self.expected[run] = OUTCOMES[name](*arguments)
        self.jobs += self.expected[run].jobs
        self._open.add(run)
