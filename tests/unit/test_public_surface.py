import subprocess
import sys

import marie_celery

PUBLIC = [
    "ConfigError", "CurrentJob", "DagError", "DuplicateRun", "Duplicates", "GlobalScheduler", "JoinRule",
    "LocalRun", "Marie", "MarieError", "PayloadError", "QueueFull", "RetryAfter", "RetryPolicy", "Run",
    "RunFailed", "RunState", "ServerError", "Skip", "UnknownJob", "UnknownRun", "Wait", "WorkState", "branch",
    "choose", "current_job", "dag", "merge", "optional", "switch", "task",
]  # fmt: skip

QUIET = """
import socket, subprocess, threading
def forbidden(*args, **kwargs):
    raise AssertionError("something was started")
socket.socket.connect = subprocess.Popen.__init__ = threading.Thread.start = forbidden
import marie_celery
from celery import Celery
app = Celery("quiet", broker="redis://localhost:1/0")
marie_celery.Marie(app)
print(threading.active_count())
"""


def test_the_public_names_are_these_and_no_other():
    assert sorted(marie_celery.__all__) == PUBLIC


def test_every_public_name_is_there():
    assert all(hasattr(marie_celery, name) for name in PUBLIC)


def test_importing_and_binding_connect_to_nothing_and_start_nothing():
    done = subprocess.run([sys.executable, "-c", QUIET], capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("1\n", 0), done.stderr
