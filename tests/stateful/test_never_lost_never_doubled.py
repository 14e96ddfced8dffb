"""Whatever clients, schedulers, workers, operators and crashes do, in whatever order: no job is lost, none is doubled.

The same machine runs on a real server and, for fewer steps because it is slower, on fakeredis.
"""

from __future__ import annotations

import pytest
import redis

from tests.stateful.harness import run_steps, stores

STEPS_ON_A_SERVER = 98_000
STEPS_ON_FAKEREDIS = 5_000


@pytest.mark.timeout(0)
def test_no_job_is_lost_or_doubled_on_a_server(
    real: redis.Redis, first_seed: int, soak_steps: int | None, tell: list[str]
) -> None:
    tell.append(f"stateful, server: --hypothesis-seed={first_seed}")
    steps, examples = run_steps(stores(real), soak_steps or STEPS_ON_A_SERVER, first_seed)
    tell.append(f"stateful, server: {steps} steps in {examples} examples")


@pytest.mark.timeout(0)
def test_no_job_is_lost_or_doubled_on_fakeredis(fake: redis.Redis, first_seed: int, tell: list[str]) -> None:
    tell.append(f"stateful, fakeredis: --hypothesis-seed={first_seed}")
    steps, examples = run_steps(stores(fake), STEPS_ON_FAKEREDIS, first_seed, batch=20, shrinks=False)
    tell.append(f"stateful, fakeredis: {steps} steps in {examples} examples")
