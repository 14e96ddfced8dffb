"""The examples in docs/dags.md are dags that a cluster would take."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from marie_celery.authoring.compile import Compiler, Surroundings
from marie_celery.authoring.dag import Dag
from marie_celery.config import Settings

PAGE = Path(__file__).parents[3] / "docs" / "dags.md"


def test_every_example_can_be_submitted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("marie_celery.authoring.dag.DAGS", {})
    names: dict[str, Any] = {"__name__": "docs_dags"}
    for block in re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL):
        exec(block, names)
    found = [each for each in names.values() if isinstance(each, Dag)]
    assert len(found) >= 8
    for each in found:
        builder, output = each.build("scan.pdf")
        around = Surroundings(Settings(), ["extract", "ocr", "classify"])
        assert Compiler(builder, each.run_options, around).compile(output).jobs
