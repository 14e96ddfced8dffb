"""`make demo`: twenty documents through the example pipeline on a cluster of its own."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from marie_celery import MarieError, Run, RunState
from marie_celery.cli.runs import coloured, sla_note
from marie_celery.clock import SystemClock
from marie_celery.cluster import Cluster
from workers.documents import make_documents

DOCUMENTS = 20
SECONDS = 180.0
console = Console(highlight=False, soft_wrap=True)


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="marie-demo-") as folder:
        logs = Path(folder, "logs")
        try:
            return run(Path(folder), logs)
        except (MarieError, TimeoutError) as error:
            console.print(f"[red]The demo failed:[/red] {error}")
            for log in sorted(logs.glob("*.log")):
                console.rule(log.name)
                console.print(log.read_text()[-2000:], markup=False)
            return 1


def run(folder: Path, logs: Path) -> int:
    console.print(f"Making {DOCUMENTS} documents …")
    paths = make_documents(folder / "post", DOCUMENTS)
    with Cluster("workers", log=logs) as cluster:
        # Set before the app is loaded here, so that this process talks to the same server.
        os.environ["CELERY_BROKER_URL"] = os.environ["MARIE_REDIS_URL"] = cluster.server.url
        console.print(f"Server at {cluster.server.url}; starting a scheduler and workers for extract, ocr, classify …")
        cluster.start_scheduler()
        for executor in ("extract", "ocr", "classify"):
            cluster.start_worker(executor, slots=2, options=["-l", "warning"])
        from workers.pipelines import document

        runs = [document.submit(str(path)) for path in paths]
        watch(cluster, runs)
        return show(paths, runs)


def watch(cluster: Cluster, runs: list[Run]) -> None:
    clock = SystemClock()
    end = clock.monotonic() + SECONDS
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=not sys.stdout.isatty()) as progress:
        jobs = progress.add_task("jobs", total=sum(run.status().jobs for run in runs))
        while True:
            cluster.check()
            views = [run.status() for run in runs]
            progress.update(jobs, completed=sum(view.done for view in views))
            waiting = [run for run, view in zip(runs, views, strict=True) if not view.state.terminal]
            if not waiting:
                return
            if clock.monotonic() > end:
                raise TimeoutError(f"{len(waiting)} runs are not done after {SECONDS:.0f} s")
            try:
                waiting[0].wait(timeout=0.25)
            except TimeoutError:
                continue


def show(paths: list[Path], runs: list[Run]) -> int:
    table = Table(box=None, pad_edge=False)
    for column in ("run", "document", "state", "time", "SLA", "label", "total"):
        table.add_column(column, no_wrap=True)
    completed = 0
    for path, run in zip(paths, runs, strict=True):
        view = run.status()
        report = run.result() if view.state is RunState.COMPLETED else {}
        completed += view.state is RunState.COMPLETED
        took = f"{((view.ended_ms or 0) - view.created_ms) / 1000:.2f} s"
        facts = [str(report.get(name) or "") for name in ("label", "total")]
        table.add_row(run.id, path.name, coloured(view.state), took, sla_note(view), *facts)
    console.print(table)
    console.print(f"{completed} of {len(runs)} runs completed.")
    return 0 if completed == len(runs) else 1


if __name__ == "__main__":
    raise SystemExit(main())
