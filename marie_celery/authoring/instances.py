"""Instances of a graph that a map makes for each item: the same jobs, with numbers of the run.

Inside the graph, jobs have numbers from `first` on, which no run has; all others are jobs of the run already, or belong
to a graph within this one and get their turn with it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from marie_celery.authoring.builder import INNER
from marie_celery.authoring.payload import LITERAL, REF, dumps
from marie_celery.model import ranges
from marie_celery.store.records import NewJob

Shift = Callable[[int], int]


class InnerGraph:
    def __init__(self, text: str) -> None:
        """From the field `graph` of a map."""
        given = json.loads(text)
        self._first: int = given["first"]
        self._jobs: list[NewJob] = [NewJob(fields, inputs) for inputs, fields in given["jobs"]]

    def __len__(self) -> int:
        return len(self._jobs)

    def instance(self, base: int, name: str, values: tuple[Any, ...]) -> list[NewJob]:
        """The jobs for one item, numbered from `base` on. The first of them is the item."""

        def shift(number: int) -> int:
            return number - self._first + base if self._first <= number < self._first + INNER else number

        jobs = [_shifted(job, shift) for job in self._jobs]
        jobs[0] = NewJob(jobs[0].fields, f"{dumps(list(values))}\n{{}}")
        return [NewJob({**job.fields, "name": f"{name}/{job.fields['name']}"}, job.inputs) for job in jobs]


def graph_text(first: int, jobs: list[NewJob]) -> str:
    return dumps({"first": first, "jobs": [[job.inputs, dict(job.fields)] for job in jobs]})


def _shifted(job: NewJob, shift: Shift) -> NewJob:
    fields = {name: _FIELDS[name](text, shift) if name in _FIELDS else text for name, text in job.fields.items()}
    return NewJob(fields, "\n".join(dumps(_references(json.loads(line), shift)) for line in job.inputs.split("\n")))


def _references(value: Any, shift: Shift) -> Any:
    if isinstance(value, list):
        return [_references(item, shift) for item in value]
    if not isinstance(value, dict):
        return value
    if REF in value:
        return {**value, REF: shift(value[REF])}
    if LITERAL in value:
        return {LITERAL: {key: _references(item, shift) for key, item in value[LITERAL].items()}}
    return {key: _references(item, shift) for key, item in value.items()}


def _number(text: str, shift: Shift) -> str:
    return str(shift(int(text)))


def _numbers(text: str, shift: Shift) -> str:
    return ranges.pack(map(shift, ranges.unpack(text)))


def _part(text: str, shift: Shift) -> str:
    number, *parts = json.loads(text)
    return dumps([shift(number), *parts])


def _paths(text: str, shift: Shift) -> str:
    return dumps([[name, _numbers(numbers, shift)] for name, numbers in json.loads(text)])


def _pieces(given: list[Any], shift: Shift) -> list[Any]:
    return [[shift(piece[0]), *piece[1:]] if isinstance(piece, list) else piece for piece in given]


def _gives(text: str, shift: Shift) -> str:
    return dumps([[name, _pieces(pieces, shift)] for name, pieces in json.loads(text)])


def _graph(text: str, shift: Shift) -> str:
    given = json.loads(text)
    return graph_text(given["first"], [_shifted(NewJob(fields, inputs), shift) for inputs, fields in given["jobs"]])


_FIELDS: Mapping[str, Callable[[str, Shift], str]] = {
    **dict.fromkeys(("children", "refs", "lists", "optional"), _numbers),
    **dict.fromkeys(("gate", "branch"), _number),
    "on": _part,
    "paths": _paths,
    "gives": _gives,
    "graph": _graph,
}
