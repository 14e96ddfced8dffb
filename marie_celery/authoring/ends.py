"""The jobs that a run has beside its graph: its gate, and what runs when all else has ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

from marie_celery.authoring.nodes import Node
from marie_celery.model.control import Role

if TYPE_CHECKING:
    from marie_celery.authoring.builder import Builder
    from marie_celery.authoring.options import RunOptions


def add_gate_and_ends(builder: Builder, options: RunOptions) -> None:
    """They come last, so that the numbers of the others are those of the function."""
    others = list(builder.nodes)
    if options.gate is not None:
        gate = builder.make(Node, options.gate, (), {}, options.gate.job_options, role=Role.GATE)
        for node in others:
            # What hangs on a branch hangs on the gate through it.
            node.gate = node.gate or gate
    for task, role in ((options.on_failure, Role.ON_FAILURE), (options.finally_, Role.FINALLY)):
        if task is not None:
            builder.make(Node, task, (), {}, task.job_options, role=role)
