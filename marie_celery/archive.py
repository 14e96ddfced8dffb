"""Where ended runs go before they are forgotten: JSON lines in a folder, or a function of your own."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any

from marie_celery.errors import ConfigError
from marie_celery.payloads import Payloads
from marie_celery.store.reading import Reader

Sink = Callable[[Mapping[str, Any]], None]


class JsonLines:
    """One line per run, one file per day of its end. A run may stand there twice if a process died in between."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __call__(self, record: Mapping[str, Any]) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        day = datetime.fromtimestamp(record["ended_ms"] / 1000, UTC).date()
        with (self._folder / f"runs-{day}.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(record, default=str) + "\n")


def sink_of(archive: str | None) -> Sink | None:
    """The setting `archive`: a folder, or module:function."""
    if not archive:
        return None
    if ":" not in archive:
        return JsonLines(Path(archive))
    module, _, name = archive.partition(":")
    try:
        found: Sink = getattr(import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise ConfigError(f"archive '{archive}' cannot be imported: {error}") from None
    if not callable(found):
        raise ConfigError(f"archive '{archive}' is no function")
    return found


def record_of(reader: Reader, run_id: str, payloads: Payloads) -> dict[str, Any]:
    """A run with its jobs, inputs, results and errors, as JSON carries it. Large results come along."""
    run = reader.run(run_id)
    jobs = [asdict(job) for job in reader.jobs(run_id)]
    results = reader.results(run_id, range(run.jobs))
    for number, job in enumerate(jobs):
        job["inputs"] = reader.inputs(job["job_id"])
        result = results.get(number)
        job["result"] = None if result is None else payloads.portable(result)
    return {**asdict(run), "jobs": jobs}
