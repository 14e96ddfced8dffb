"""What Redis and one Python loop cost alone: the calls of a job from a single client, without Celery between them.

    python -m benchmarks.floor [--jobs 2000] [--write]

One process plays scheduler and worker: it looks, chooses and dispatches, takes the message off the queue, starts and
finishes, with the relay and without. No pool, no events. What real workers need more than this is Celery, the
processes, and waiting.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

from celery import Celery

from benchmarks.report import Report, can_write
from marie_celery import Marie
from marie_celery.embedded import EmbeddedServer
from marie_celery.model.states import RunState
from marie_celery.planning import planner
from marie_celery.planning.share import share_in_thousandths
from marie_celery.scheduler.choice import choose
from marie_celery.scheduler.planners import LOOK_AHEAD, MOST_PER_EXECUTOR
from marie_celery.store.keys import attempt_id, split_attempt
from marie_celery.store.records import Started, Taken
from marie_celery.transport.transports import choose_transport

EXECUTOR, WORKER = "main", "floor@here"
SLOTS = 2
PINGS = 5_000
FEW = 200
SCRIPTS = ("peek", "dispatch", "start", "finish", "finish, and go on")


@dataclass
class Meter:
    """How often each kind of call was made, and the seconds that it took."""

    calls: Counter[str] = field(default_factory=Counter)
    seconds: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))

    def call(self, name: str, what: Callable[..., Any], *args: Any) -> Any:
        began = perf_counter()
        answer = what(*args)
        self.note(name, perf_counter() - began)
        return answer

    def note(self, name: str, seconds: float) -> None:
        self.calls[name] += 1
        self.seconds[name] += seconds

    def microseconds(self, name: str) -> float:
        return self.seconds[name] * 1e6 / self.calls[name]


class RedisMeter(Meter):
    """The same by the count of Redis itself. Asking for it takes longer than the call: the clock is of no use here."""

    def __init__(self, client: Any) -> None:
        super().__init__()
        self._client = client

    def call(self, name: str, what: Callable[..., Any], *args: Any) -> Any:
        self._client.config_resetstat()
        answer = what(*args)
        stats = self._client.info("commandstats")
        # A server that keeps functions is called by FCALL.
        micros = sum(stats.get(f"cmdstat_{each}", {}).get("usec", 0) for each in ("fcall", "evalsha"))
        self.note(name, micros / 1e6)
        return answer


class Floor:
    def __init__(self, url: str) -> None:
        self.app = Celery("floor", broker=url)
        self.marie = Marie(self.app)
        self.store = self.marie.store
        self.transport = choose_transport(self.app, self.store)
        self.planner = planner("global", self.store.settings.planning)
        self.share = share_in_thousandths(self.store.settings.new_dag_share)

        @self.marie.task(executor=EXECUTOR, name="floor.step")
        def step(x: int) -> int:
            return x + 1

        @self.marie.dag
        def flood(count: int) -> list[int]:
            return [step(number) for number in range(count)]

        @self.marie.dag
        def chain(count: int) -> int:
            x = 0
            for _ in range(count):
                x = step(x)
            return x

        self.dags = {"flood": flood, "chain": chain}
        self.app.finalize()

    def _finish(self, job: str, token: int, meter: Meter) -> int:
        meter.call("finish", self.store.finish, job, token, WORKER, "1")
        return 1

    def _go_on(self, job: str, token: int, meter: Meter) -> int:
        """Until nothing is ready; how many jobs that were."""
        done = 0
        taken: Taken | None = Taken(job, token, Started("", {}, {}, ""))
        while taken is not None:
            arguments = (taken.job_id, taken.token, WORKER, "completed", "1", "message")
            taken = meter.call("finish, and go on", self.store.end, *arguments).next
            done += 1
        return done

    def run(self, dag: str, jobs: int, meter: Meter, *, relays: bool) -> None:
        """All jobs of one run, one call after the other."""
        store = self.store
        burst_ms = store.settings.planning.burst_window_ms
        run = self.dags[dag].submit(jobs)
        while store.advance():
            pass
        store.renew(WORKER, {"host": "floor"}, {EXECUTOR: SLOTS})
        done = 0
        while done < jobs:
            text = meter.call("take the message", store.client.rpop, EXECUTOR)
            if text is None:  # what the end of a job does not send by itself
                outlook = meter.call("peek", store.peek, LOOK_AHEAD, MOST_PER_EXECUTOR)
                chosen = meter.call("choose", choose, self.planner, outlook, self.share, burst_ms)
                meter.call("dispatch", self.transport.send, chosen)
                continue
            job, token = split_attempt(json.loads(text)["headers"]["id"])
            meter.call("start", store.start, job, token, WORKER, attempt_id(job, token))
            done += self._go_on(job, token, meter) if relays else self._finish(job, token, meter)
        assert run.wait(5) is RunState.COMPLETED


def main() -> int:
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("--jobs", type=int, default=2_000)
    can_write(options)
    given = options.parse_args()
    report = Report()
    with EmbeddedServer() as server:
        floor = Floor(server.url)
        client = floor.store.client
        began = perf_counter()
        for _ in range(PINGS):
            client.ping()
        report.line("a round trip (PING)", f"{(perf_counter() - began) * 1e6 / PINGS:.0f} µs")
        for dag, relays in ((dag, relays) for relays in (True, False) for dag in floor.dags):
            by_clock, by_redis = Meter(), RedisMeter(client)
            floor.run(dag, given.jobs, by_clock, relays=relays)
            floor.run(dag, min(given.jobs, FEW), by_redis, relays=relays)
            title = f"{dag}, {'relay' if relays else 'no relay'}"
            for name, calls in by_clock.calls.items():
                is_known = name in SCRIPTS and by_redis.calls[name] > 0
                inside = f"{by_redis.microseconds(name):.0f} in Redis" if is_known else ""
                often = f"{by_clock.microseconds(name):.0f} µs × {calls / given.jobs:.2f} a job"
                report.line(f"{title}: {name}", often, inside)
            whole = sum(by_clock.seconds.values())
            each = f"{whole * 1e6 / given.jobs:.0f} µs a job"
            report.line(f"{title}: all of it", each, f"{given.jobs / whole:,.0f} jobs/s")
        floor.transport.close()
    return report.end("floor", write=given.write)


if __name__ == "__main__":
    sys.exit(main())
