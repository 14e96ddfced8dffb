"""The example's tests need nothing but pytest and `marie_celery.testing`."""

from __future__ import annotations

from pathlib import Path

import pytest

from workers.documents import make_documents


@pytest.fixture(scope="session")
def marie_app() -> str:
    return "workers"


@pytest.fixture(scope="session")
def post(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """A few documents, each with its facts beside it."""
    return make_documents(tmp_path_factory.mktemp("post"), 4, seed=7)
