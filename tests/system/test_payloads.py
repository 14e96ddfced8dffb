"""Large and secret results between real workers."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from marie_celery.cluster import Cluster

HERE = Path(__file__).parent
SIZE = 200_000


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("secret")


@pytest.fixture(autouse=True)
def its_app_is_the_current_one(secret: ModuleType) -> None:
    secret.app.set_current()


@pytest.fixture(scope="module")
def secret(folder: Path) -> Iterator[ModuleType]:
    path = os.pathsep.join([str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])])
    given = {"MARIE_CONFIG": "", "MARIE_PAYLOAD_STORE": str(folder / "payloads"), "MARIE_MAX_RESULT_BYTES": "100000"}
    with (
        Cluster("payload_app", environment={**given, "PYTHONPATH": path}, log=folder / "logs") as cluster,
        pytest.MonkeyPatch.context() as patch,
    ):
        for name in ("CELERY_BROKER_URL", "MARIE_REDIS_URL", *given):
            patch.setenv(name, cluster.environment[name])
        cluster.start_scheduler()
        cluster.start_worker("main", options=["-l", "warning"])
        sys.modules.pop("payload_app", None)
        yield importlib.import_module("payload_app")


def test_a_large_secret_passes_through_the_store(secret: ModuleType, folder: Path) -> None:
    run = secret.grown.submit(SIZE)
    found = run.result(timeout=60)
    assert (found["count"], found["last"], len(found["all"])) == (SIZE, f"secret {SIZE - 1:x}", SIZE)

    (file,) = (folder / "payloads" / run.id).iterdir()
    assert b"secret" not in file.read_bytes()
    kept = secret.marie.store.client.hgetall(secret.marie.store.keys.results(run.id))
    assert not [text for text in kept.values() if "secret" in text]
    assert max(map(len, kept.values())) < 1000


@pytest.mark.parametrize("batch", [None, 2])
def test_large_secrets_pass_through_maps(secret: ModuleType, folder: Path, batch: int | None) -> None:
    run = secret.grown_by_map.submit([SIZE, 3, SIZE // 2], batch)
    assert run.result(timeout=60) == [SIZE, 3, SIZE // 2]
    assert len(list((folder / "payloads" / run.id).iterdir())) == 2
