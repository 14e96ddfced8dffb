"""When a cron expression fires in a time zone that changes its clocks.

Moments are milliseconds since the epoch. Two rules, told apart by the field of the hours:

    every hour   `*/15 * * * *`   goes by real time: it fires at every moment at which the clock on the wall matches, so
                                  an hour that comes twice counts twice and one that never comes is left out
    some hours   `30 2 * * *`     every local time fires once: one that comes twice the first time that it comes, one
                                  that never comes at the moment at which the clocks were put forward

Several local times that never came fire once, together.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, tzinfo
from functools import cached_property
from zoneinfo import ZoneInfo

from croniter import croniter

from marie_celery.errors import ConfigError

FIELDS = 5
NICKNAMES = ("@hourly", "@daily", "@midnight", "@weekly", "@monthly", "@yearly", "@annually")

_EPOCH = datetime(1970, 1, 1)
_MILLISECOND = timedelta(milliseconds=1)
_DAY_MS = 86_400_000
_SECOND_MS = 1_000

_BY_CHANCE = re.compile(r"(?:^|[\s,])[hr](?:$|[\s,(/])", re.IGNORECASE)
_TO_ITSELF = re.compile(r"(?<!\w)(\w+)-\1(?!\w)", re.IGNORECASE)


def check_cron(cron: str) -> str:
    """The expression itself, if it says something and means what it says."""
    if cron.startswith("@"):
        if cron not in NICKNAMES:
            raise ConfigError(f"'{cron}' is unknown; there are {', '.join(NICKNAMES)}")
        return cron
    if len(cron.split()) != FIELDS:
        raise ConfigError(f"'{cron}' must have {FIELDS} fields: minute, hour, day, month, day of the week")
    if _BY_CHANCE.search(cron):
        raise ConfigError(f"'{cron}' leaves a field to chance, and schedulers have to agree; use jitter")
    if found := _TO_ITSELF.search(cron):
        # croniter reads 5-5 as every value.
        raise ConfigError(f"'{cron}' has a range from {found[1]} to itself; write {found[1]}")
    try:
        croniter(cron, _EPOCH).get_next(datetime)
    except (ValueError, KeyError) as error:
        never = "failed to find next date" in str(error)
        raise ConfigError(f"'{cron}' never comes" if never else f"'{cron}' is no cron expression: {error}") from None
    return cron


class Calendar:
    """All moments of a cron expression."""

    def __init__(self, cron: str, zone: ZoneInfo) -> None:
        self._cron = check_cron(cron)
        self._zone = zone

    @cached_property
    def every_hour(self) -> bool:
        return bool(croniter(self._cron, _EPOCH).expanded[1] == ["*"])

    def after(self, moment_ms: int) -> Iterator[int]:
        """The moments after this one, without end."""
        return self._by_real_time(moment_ms) if self.every_hour else self._by_local_time(moment_ms)

    def _by_real_time(self, moment_ms: int) -> Iterator[int]:
        for begin_ms, end_ms, offset_ms in _stretches(self._zone, moment_ms):
            for local in self._local_times(begin_ms + offset_ms):
                if local - offset_ms > end_ms:
                    break
                yield local - offset_ms

    def _by_local_time(self, moment_ms: int) -> Iterator[int]:
        last = moment_ms
        # What the clock on the wall has shown or passed has fired, so this begins late enough and never too late.
        for local in self._local_times(moment_ms + _offset_ms(self._zone, moment_ms)):
            found = _first_moment(self._zone, local)
            if found > last:
                last = found
                yield found

    def _local_times(self, after: int) -> Iterator[int]:
        """What the clock on the wall shows, as milliseconds since its own 1970."""
        times = croniter(self._cron, _EPOCH + timedelta(milliseconds=after))
        while True:
            yield (times.get_next(datetime) - _EPOCH) // _MILLISECOND


def _offset_ms(zone: tzinfo, moment_ms: int) -> int:
    moment = _EPOCH.replace(tzinfo=UTC) + timedelta(milliseconds=moment_ms)
    return (moment.astimezone(zone).utcoffset() or timedelta()) // _MILLISECOND


def _stretches(zone: tzinfo, after_ms: int) -> Iterator[tuple[int, int, int]]:
    """Spans of time (after, to the last millisecond) between changes of the clocks, with their offset."""
    begin = after_ms
    while True:
        # The first millisecond of the stretch tells its offset; a change is found within a day.
        offset = _offset_ms(zone, begin + 1)
        end = begin + _DAY_MS
        if _offset_ms(zone, end) != offset:
            end = _change(zone, begin + 1, end) - 1
        yield begin, end, offset
        begin = end


def _change(zone: tzinfo, before_ms: int, after_ms: int) -> int:
    """The moment, to the second, at which the offset between the two changes."""
    offset = _offset_ms(zone, before_ms)
    low, high = before_ms // _SECOND_MS, -(-after_ms // _SECOND_MS)
    while high - low > 1:
        middle = (low + high) // 2
        if _offset_ms(zone, middle * _SECOND_MS) == offset:
            low = middle
        else:
            high = middle
    return high * _SECOND_MS


def _first_moment(zone: tzinfo, local_ms: int) -> int:
    """When the clock on the wall first shows this, or else is put forward past it."""
    local = _EPOCH + timedelta(milliseconds=local_ms)
    offsets = [local.replace(tzinfo=zone, fold=fold).utcoffset() or timedelta() for fold in (0, 1)]
    early, late = sorted(local_ms - offset // _MILLISECOND for offset in offsets)
    if _offset_ms(zone, early) + early == local_ms:
        return early
    return late if early == late else _change(zone, early, late)
