"""Two minutes of chaos. `make chaos` has the long one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SECONDS = 120
# Another one is as good; this one makes a failure come back.
SEED = "20261118"


@pytest.mark.chaos
@pytest.mark.timeout(SECONDS * 4)
def test_everything_is_accounted_for_after_two_minutes_of_chaos(tmp_path: Path) -> None:
    # A process of its own: chaos binds an app to its server by the environment, which other tests share.
    command = [sys.executable, "-m", "tests.chaos.run", "--minutes", str(SECONDS / 60), "--seed", SEED]
    played = subprocess.run(
        [*command, "--keep", str(tmp_path)], cwd=ROOT, env=dict(os.environ), capture_output=True, text=True
    )
    assert played.returncode == 0, f"{played.stdout}\n{played.stderr}\nlogs in {tmp_path / 'logs'}"
    assert "everything is accounted for" in played.stdout
