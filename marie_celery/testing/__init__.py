"""What you need to test your own DAGs. Load it in your `conftest.py`:

    pytest_plugins = ["marie_celery.testing"]

    @pytest.fixture(scope="session")
    def marie_app() -> str:
        return "documents"      # as for `celery -A`; only marie_cluster needs it

    benches.py   where a dag runs: this process, or a cluster of your app
    faults.py    failures on order
    looking.py   what became of the jobs of a run
    clusters.py  a cluster per app, for the time of the session
    fixtures.py  marie_local, marie_cluster
"""

from marie_celery.testing.benches import ClusterBench, LocalBench
from marie_celery.testing.faults import Faults, InjectedError
from marie_celery.testing.fixtures import (
    marie_app,
    marie_cluster,
    marie_clusters,
    marie_environment,
    marie_local,
    marie_worker_options,
)
from marie_celery.testing.looking import assert_order, assert_states, attempts, order, reasons, states

__all__ = [
    "ClusterBench",
    "Faults",
    "InjectedError",
    "LocalBench",
    "assert_order",
    "assert_states",
    "attempts",
    "marie_app",
    "marie_cluster",
    "marie_clusters",
    "marie_environment",
    "marie_local",
    "marie_worker_options",
    "order",
    "reasons",
    "states",
]
