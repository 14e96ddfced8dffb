"""Runs the machine for so many steps, by a seed that is told."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import run_state_machine_as_test
from redis import Redis

from marie_celery.config import Settings
from marie_celery.store.scripts import script_names, source
from marie_celery.store.store import Store
from tests.stateful.machine import Machine

BATCH = 100
"""Examples from one seed; the next batch has the next seed."""
RULES_PER_EXAMPLE = 50


def stores(client: Redis) -> list[Store]:
    """The store as it is; one that leaves almost everything to `advance`; one with a limit over all executors."""
    usual = Settings(max_events=1_000)
    limited = usual.model_copy(update={"max_concurrency": 3})
    return [Store(client, usual), with_budget(client, usual, 2), with_budget(client, limited, 1)]


def with_budget(client: Redis, settings: Settings, budget: int) -> Store:
    """What takes a thousand jobs to happen happens with three."""
    store = Store(client, settings)
    store._keeps_functions = False
    for name in script_names():
        text = source(name).replace("local BUDGET = 1000\n", f"local BUDGET = {budget}\n")
        store._scripts[name] = client.register_script(text)
    return store


def run_steps(
    machines: Sequence[Store], wanted: int, first_seed: int, *, batch: int = BATCH, shrinks: bool = True
) -> tuple[int, int]:
    """Returns steps, examples."""
    phases = (Phase.generate, Phase.shrink) if shrinks else (Phase.generate,)
    tally: list[int] = []
    number = first_seed
    while sum(tally) < wanted:

        def machine() -> Machine:
            return Machine(list(machines), tally)

        run_state_machine_as_test(
            seed(number)(machine),  # type: ignore[arg-type]
            settings=settings(
                max_examples=batch,
                stateful_step_count=RULES_PER_EXAMPLE,
                deadline=None,
                phases=phases,
                database=None,
                print_blob=False,
                report_multiple_bugs=False,
                suppress_health_check=list(HealthCheck),
            ),
        )
        number += 1
    return sum(tally), len(tally)
