"""The systems: what each needs, which processes do its work, and which settings were chosen for it.

Each has two processes for the jobs. `{bin}` is where the programs of its environment are, `{apps}` the folder of the
apps, `{url}` its Redis, `{port}` a free port for a system that brings a server of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from benchmarks.peers.environments import Environment, Npm, Own, Venv

Command = tuple[str, ...]

PREFORK = ("-c", "2", "-l", "error", "--without-gossip", "--without-mingle")


@dataclass(frozen=True)
class System:
    name: str
    title: str
    environment: Environment
    client: Command
    workers: tuple[Command, ...]
    choices: str
    """The decisions that were taken for it, for the documentation."""
    variables: Mapping[str, str] = field(default_factory=dict)
    most_rounds: int = 100
    """For one that takes minutes."""


def client_of(app: str) -> Command:
    return ("{bin}/python", "{apps}/client.py", app)


def marie(name: str, title: str, relay_seconds: str, choices: str, *, is_watched: bool = False) -> System:
    celery = ("{bin}/celery", "-A", "marie_app")
    # A stock worker: `marie worker` would have its events on.
    worker = (*celery, "worker", "-Q", "main", *PREFORK)
    watched: tuple[Command, ...] = ((*celery, "flower", "--address=127.0.0.1", "--port={port}", "--logging=error"),)
    return System(
        name,
        title,
        Own(),
        client_of("marie_app"),
        ((*celery, "marie", "scheduler"), (*worker, "-E") if is_watched else worker, *(watched if is_watched else ())),
        choices,
        {"MARIE_RELAY_SECONDS": relay_seconds, "MARIE_CONFIG": ""},
    )


MARIE = marie("marie", "marie_celery", "1", "default settings, one scheduler, prefork 2; each workload is one DAG")
PLAIN = marie(
    "marie-plain",
    "marie_celery, no relay",
    "0",
    "as the first, with `relay_seconds = 0`: each job is a Celery message of its own",
)
WATCHED = marie(
    "marie-watched",
    "marie_celery, watched",
    "1",
    "as the first, with the worker's events on (`-E`) and Flower listening",
    is_watched=True,
)
CELERY = System(
    "celery",
    "Celery",
    Venv("celery", ("celery[redis]==5.7.0",)),
    client_of("celery_app"),
    (("{bin}/celery", "-A", "celery_app", "worker", *PREFORK),),
    "prefork 2, `worker_prefetch_multiplier = 64`, early acks, no events; results in Redis; flood by `group`, "
    "the rest by canvas (`chain`, `chord`, `chain` of groups and joins)",
)
RQ = System(
    "rq",
    "RQ",
    Venv("rq", ("rq==2.12.0",)),
    client_of("rq_app"),
    (("{bin}/rq", "worker-pool", "default", "-n", "2", "-w", "rq.SimpleWorker", "--url", "{url}", "-q"),),
    "2 workers of `SimpleWorker`, which does not fork for each job; `enqueue_many` for each layer; jobs read the "
    "values of their `depends_on` themselves, as RQ passes none",
)
DASK = System(
    "dask",
    "Dask distributed",
    Venv("dask", ("distributed==2026.8.0",)),
    client_of("dask_app"),
    (
        ("{bin}/dask", "scheduler", "--host", "127.0.0.1", "--port", "{port}", "--no-dashboard"),
        ("{bin}/dask", "worker", "tcp://127.0.0.1:{port}", "--nworkers", "2", "--nthreads", "1", "--no-dashboard"),
    ),
    "scheduler and 2 workers with one thread as processes of their own; one `delayed` graph per workload, without "
    "fusing; no Redis: the state is in the scheduler's memory and ends with it",
)
BULLMQ = System(
    "bullmq",
    "BullMQ flows",
    Npm("bullmq", ("bullmq@6.7.0", "ioredis@6.0.0")),
    ("{bin}/node", "{apps}/bullmq_app.cjs"),
    (("{bin}/node", "{apps}/bullmq_app.cjs", "worker"),) * 2,
    "2 processes of Node with `concurrency: 10` (1 and 200 were slower in trials, 50 alike); `addBulk`, flows; results "
    "by `QueueEvents`; a job has one parent only, so a join adds the layer after it",
)
DRAMATIQ = System(
    "dramatiq",
    "Dramatiq",
    Venv("dramatiq", ("dramatiq[redis]==2.2.1",)),
    client_of("dramatiq_app"),
    (("{bin}/dramatiq", "dramatiq_app", "--processes", "2", "--threads", "4"),),
    "2 processes with 4 threads (in trials more did no better, 2 did better at joins and worse at the flood), results "
    "in Redis; `pipeline`, `group` with a completion callback that reads the results and sends the next layer",
)
PREFECT = System(
    "prefect",
    "Prefect",
    Venv("prefect", ("prefect==3.8.8", "fastapi==0.139.2")),
    client_of("prefect_app"),
    (("{bin}/prefect", "server", "start", "--host", "127.0.0.1", "--port", "{port}"),),
    "a local server (SQLite), the flow in the client, its tasks on two threads; no Redis; two rounds at most, "
    "as each takes a minute",
    {
        "PREFECT_API_URL": "http://127.0.0.1:{port}/api",
        "PREFECT_HOME": "{folder}",
        "PREFECT_LOGGING_LEVEL": "ERROR",
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    },
    most_rounds=2,
)

SYSTEMS = {system.name: system for system in (MARIE, PLAIN, WATCHED, CELERY, RQ, DASK, BULLMQ, DRAMATIQ, PREFECT)}
