"""Chaos: two schedulers, four workers and a Redis, all of which are killed, frozen, cut off and put wrong by turns
while DAGs flow. When it is over everything must be accounted for (`audit.py`).
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType

from marie_celery.embedded import EmbeddedServer
from tests.chaos.audit import Hit, Report, audit
from tests.chaos.faults import Fault, schedule
from tests.chaos.load import Load
from tests.chaos.members import APP, HERE, Member
from tests.chaos.proxy import Proxy

LEASE_SECONDS = 1.5
RUN_SECONDS = 4.0
MAX_EVENTS = 10_000_000
UNDER_WAY = 16
STEP_SECONDS = 0.02
SETTLE_SECONDS = 120.0


@dataclass
class Chaos:
    directory: Path
    seed: int
    seconds: float
    jobs: int = 0
    """It goes on until so many were submitted, however long that takes."""
    every: float = 1.4
    say: Callable[[str], None] = lambda text: None
    hits: list[Hit] = field(default_factory=list)

    def run(self) -> Report:
        self.say(f"seed {self.seed}: {self.seconds:.0f} s, {self.jobs} jobs at least, in {self.directory}")
        # Acknowledged writes must outlive a kill of Redis, or nobody could tell a lost job from lost data.
        server = EmbeddedServer(data_dir=self.directory / "redis", extra={"appendfsync": "always"})
        with server, Proxy(server.port) as proxy:
            module = self._app(server)
            self._members = [
                Member(kind, number, server, self._environment(proxy), self.directory / "logs")
                for kind, count in (("scheduler", 2), ("worker", 4))
                for number in range(count)
            ]
            try:
                self._play(module, server, proxy)
                report = audit(module.marie, self._load, self.hits, self._ledger, self._elapsed)
                report.problems += [f"{name} ended by itself" for name in self._fallen]
                return report
            finally:
                self._stop()

    @property
    def _ledger(self) -> Path:
        return self.directory / "ledger"

    def _environment(self, proxy: Proxy) -> dict[str, str]:
        url = f"redis://127.0.0.1:{proxy.port}/0"
        path = [str(HERE / "skew"), str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])]
        return {"CELERY_BROKER_URL": url, "MARIE_REDIS_URL": url, "PYTHONPATH": os.pathsep.join(path)}

    def _app(self, server: EmbeddedServer) -> ModuleType:
        """The app for this process, which goes to Redis directly."""
        os.environ.update(
            CELERY_BROKER_URL=server.url,
            MARIE_REDIS_URL=server.url,
            MARIE_CONFIG="",
            MARIE_LEASE_TTL_SECONDS=str(LEASE_SECONDS),
            MARIE_RUN_TTL_SECONDS=str(RUN_SECONDS),
            MARIE_MAX_EVENTS=str(MAX_EVENTS),
            CHAOS_LEDGER=str(self._ledger),
        )
        sys.path.insert(0, str(HERE))
        return __import__(APP)

    def _play(self, module: ModuleType, server: EmbeddedServer, proxy: Proxy) -> None:
        self._server, self._proxy, self._module = server, proxy, module
        self._later: list[tuple[float, Callable[[], None]]] = []
        self._fallen: list[str] = []
        self._ledger.touch()
        self._load = Load(module, random.Random(self.seed), UNDER_WAY)
        for member in self._members:
            member.start(skew=0)
        self._pump_until(lambda: self._ledger.stat().st_size > 0, 60.0, more=True)
        begin = time.monotonic()
        told = begin
        for fault in schedule(self.seed, self.every, RUN_SECONDS + 1.0):
            due = begin + fault.at
            self._pump_until(lambda due=due: time.monotonic() >= due, self.every * 2, more=True)  # type: ignore[misc]
            if time.monotonic() > begin + self.seconds and self._load.jobs >= self.jobs:
                break
            self._strike(fault)
            if time.monotonic() - told > 30:
                told = time.monotonic()
                self.say(f"{told - begin:5.0f} s: {len(self.hits)} faults, {self._load.jobs} jobs submitted")
        self._pump_until(lambda: not self._later, 2 * RUN_SECONDS, more=True)
        self._elapsed = time.monotonic() - begin
        self.say(f"{self._elapsed:5.0f} s: no more faults; waiting for what is under way")
        self._pump_until(lambda: self._load.is_done, SETTLE_SECONDS, more=False)
        store = module.marie.store
        slots = [store.keys.slots(name) for name in ("left", "right")]
        # Leases of attempts that were lost end by themselves.
        self._pump_until(lambda: not store.client.exists(*slots), 2 * RUN_SECONDS, more=False)

    def _pump_until(self, done: Callable[[], bool], seconds: float, *, more: bool) -> None:
        end = time.monotonic() + seconds
        while not done() and time.monotonic() < end:
            self._load.pump(more)
            now = time.monotonic()
            for fallen in [member for member in self._members if not member.is_alive]:
                self._fallen.append(fallen.name)
                fallen.start(skew=0)
            for due in [entry for entry in self._later if entry[0] <= now]:
                self._later.remove(due)
                due[1]()
            time.sleep(STEP_SECONDS)

    def _strike(self, fault: Fault) -> None:
        seconds, micros = self._module.marie.store.client.time()
        hit = Hit(fault.kind, time.monotonic(), seconds * 1000 + micros / 1000)
        getattr(self, f"_{fault.kind}")(fault, hit)
        self.hits.append(hit)

    def _pick(self, kind: str, fault: Fault) -> Member:
        members = [member for member in self._members if member.kind == kind]
        return members[fault.target % len(members)]

    def _kill_worker(self, fault: Fault, hit: Hit) -> None:
        worker = self._pick("worker", fault)
        hit.pids = worker.children()
        worker.kill()
        worker.start(fault.skew)

    def _kill_child(self, fault: Fault, hit: Hit) -> None:
        # Celery does not forgive the death of a process while the worker starts: that is for its supervisor.
        offering = {name for view in self._module.marie.store.capacity() for name in view.workers}
        workers = [member for member in self._members if f"{member.name}@chaos" in offering]
        children = [pid for worker in workers for pid in worker.children()]
        if children:
            hit.pids = [children[fault.target % len(children)]]
            with contextlib.suppress(ProcessLookupError):
                os.kill(hit.pids[0], signal.SIGKILL)

    def _kill_scheduler(self, fault: Fault, hit: Hit) -> None:
        scheduler = self._pick("scheduler", fault)
        scheduler.kill()
        scheduler.start(fault.skew)

    def _freeze_worker(self, fault: Fault, hit: Hit) -> None:
        worker = self._pick("worker", fault)
        hit.pids = worker.children()
        self._freeze(worker, fault)

    def _freeze_scheduler(self, fault: Fault, hit: Hit) -> None:
        self._freeze(self._pick("scheduler", fault), fault)

    def _freeze(self, member: Member, fault: Fault) -> None:
        member.freeze()
        # If it was killed in the meantime, waking its successor does no harm.
        self._later.append((time.monotonic() + fault.seconds, member.thaw))

    def _restart_redis(self, fault: Fault, hit: Hit) -> None:
        self._server.kill()
        time.sleep(fault.seconds)
        self._server.start()
        hit.at = time.monotonic()  # recovery counts from when it is back

    def _flush_scripts(self, fault: Fault, hit: Hit) -> None:
        self._module.marie.store.client.script_flush()
        self._module.marie.store.client.function_flush()

    def _reset_connections(self, fault: Fault, hit: Hit) -> None:
        self._proxy.reset_all()

    def _slow_network(self, fault: Fault, hit: Hit) -> None:
        self._proxy.latency = 0.05 * fault.seconds

        def quick() -> None:
            self._proxy.latency = 0.0

        self._later.append((time.monotonic() + fault.seconds, quick))

    def _stop(self) -> None:
        for member in self._members:
            with contextlib.suppress(ProcessLookupError, AttributeError):
                member.thaw()
                member.stop()
        for member in self._members:
            try:
                member.wait(20.0)
            except subprocess.TimeoutExpired:
                member.kill()
