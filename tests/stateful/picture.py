"""All that Redis holds about the runs of the machine, read in one call so that looking after each step stays cheap."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from redis import Redis

from marie_celery.store.keys import job_id
from tests.stateful.graphs import EXECUTORS

PLACES = tuple(f"{line}{name}" for name in EXECUTORS for line in ("ready:", "new:", "stale:ready:", "stale:new:"))
SETS = (
    *PLACES,
    *(f"slots:{name}" for name in EXECUTORS),
    *("delayed", "held", "rerank", "sla", "dead", "active", "ended", "runs", "staging", "workers"),
)
JOB_FIELDS = ("state", "token", "reason", "epoch", "worker", "deps")

_LOOK = """
local P = KEYS[1]
local sets, runs, jobs, workers, executors = {}, {}, {}, {}, {}
for name in string.gmatch(ARGV[1], '%S+') do sets[name] = redis.call('ZRANGE', P .. name, 0, -1, 'WITHSCORES') end
for name in string.gmatch(ARGV[2], '%S+') do
  executors[name] = redis.call('HMGET', P .. 'executor:' .. name, 'capacity', 'target', 'paused')
end
for name in string.gmatch(ARGV[3], '%S+') do workers[name] = redis.call('HKEYS', P .. 'worker:' .. name .. ':jobs') end
for run, many in string.gmatch(ARGV[4], '(%x+):(%d+)') do
  local fields = redis.call('HGETALL', P .. 'run:' .. run)
  fields[#fields + 1] = 'ends_told'
  fields[#fields + 1] = redis.call('LLEN', P .. 'run:' .. run .. ':done')
  runs[run] = fields
  for number = 0, tonumber(many) - 1 do
    local id = run .. '-' .. string.format('%06d', number)
    jobs[id] = redis.call('HMGET', P .. 'job:' .. id, 'state', 'token', 'reason', 'epoch', 'worker', 'deps')
  end
end
local answer = { sets, executors, workers, runs, jobs, redis.call('LRANGE', P .. 'advance', 0, -1),
  redis.call('LLEN', P .. 'wake'), redis.call('HGET', P .. 'counters', 'fencedWrites') or '0' }
redis.call('DEL', P .. 'wake')
return cjson.encode(answer)
"""


@dataclass(frozen=True, slots=True)
class Picture:
    sets: Mapping[str, Mapping[str, int]]
    """Sorted set → member → score."""
    executors: Mapping[str, Sequence[str | None]]
    """capacity, target, paused"""
    workers: Mapping[str, Sequence[str]]
    """Worker → attempts that it runs."""
    runs: Mapping[str, Mapping[str, str]]
    jobs: Mapping[str, Sequence[str | None]]
    """By the order of JOB_FIELDS."""
    pieces: Sequence[str]
    """Work left for `advance`."""
    woken: bool
    """The scheduler was woken since the picture before."""
    fenced: int

    def state(self, job: str) -> str | None:
        return self.jobs[job][0] or None

    def token(self, job: str) -> int:
        return int(self.jobs[job][1] or 0)

    def reason(self, job: str) -> str:
        return self.jobs[job][2] or ""

    def epoch(self, job: str) -> int:
        return int(self.jobs[job][3] or 0)

    def worker(self, job: str) -> str:
        return self.jobs[job][4] or ""

    def holders(self, executor: str) -> Mapping[str, int]:
        return self.sets[f"slots:{executor}"]

    def capacity(self, executor: str) -> int:
        reported, target, _ = self.executors[executor]
        return int(target or reported or 0)

    def room(self, executor: str) -> int:
        """Slots for which a scheduler could send something."""
        paused = self.executors[executor][2]
        return 0 if paused else self.capacity(executor) - len(self.holders(executor))


class Camera:
    def __init__(self, client: Redis, prefix: str) -> None:
        self._look = client.register_script(_LOOK)
        self._prefix = prefix

    def look(self, workers: Iterable[str], runs: Mapping[str, int]) -> Picture:
        asked = [" ".join(SETS), " ".join(EXECUTORS), " ".join(workers)]
        asked.append(" ".join(f"{run}:{jobs}" for run, jobs in runs.items()))
        found = json.loads(self._look(keys=[self._prefix], args=asked))
        sets, executors, at_work, of_runs, jobs, pieces, woken, fenced = found
        return Picture(
            sets={name: _scores(flat) for name, flat in sets.items()},
            executors=executors or {},
            workers={name: _list(attempts) for name, attempts in at_work.items()} if at_work else {},
            runs={run: dict(zip(flat[::2], flat[1::2], strict=True)) for run, flat in of_runs.items()} if runs else {},
            jobs=jobs or {},
            pieces=_list(pieces),
            woken=bool(woken),
            fenced=int(fenced),
        )


def ids_of(run: str, jobs: int) -> list[str]:
    return [job_id(run, number) for number in range(jobs)]


def _list(found: Any) -> list[str]:
    """An empty table of Lua is an object in JSON."""
    return found or []


def _scores(flat: Any) -> dict[str, int]:
    return {member: int(float(score)) for member, score in zip(flat[::2], flat[1::2], strict=True)} if flat else {}
