"""A job of a map with `batch`: the function is called for several items in turn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from marie_celery.authoring.payload import encode_result
from marie_celery.errors import Skip
from marie_celery.worker.coroutines import call

if TYPE_CHECKING:
    from marie_celery.authoring.task import Task


def run_batch(
    task: Task[..., Any], calls: Sequence[list[Any]], same: Mapping[str, Any], message: str
) -> tuple[list[Any], list[str]]:
    """The results, and each as JSON. An item that skips leaves its place empty."""
    values, texts = [], []
    for given in calls:
        args, kwargs = task.signature_of_function.restore_arguments(given, dict(same))
        try:
            value = call(task.function, args, kwargs, message)
        except Skip:
            value, text = None, "null"
        else:
            text = encode_result(value, task.signature_of_function)
        values.append(value)
        texts.append(text)
    return values, texts
