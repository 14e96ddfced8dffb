import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MODULES = sorted((ROOT / "marie_celery").rglob("*.py"))
MAY_CALL_TIME = {"marie_celery/clock.py", "marie_celery/embedded/watcher.py"}


def test_imports_keep_the_contracts():
    command = [str(Path(sys.executable).parent / "lint-imports"), "--no-cache"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("module", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_only_the_clock_knows_the_module_time(module):
    if str(module.relative_to(ROOT)) in MAY_CALL_TIME:
        return
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.Import):
            assert "time" not in {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.module != "time"
