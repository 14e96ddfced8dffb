"""From the inputs of a job to its result as JSON: the same for a worker and for a run in this process."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from marie_celery.authoring.payload import decode_arguments, encode_result
from marie_celery.errors import PayloadError
from marie_celery.payloads import Payloads, Unsealed
from marie_celery.worker.batch import run_batch
from marie_celery.worker.coroutines import call

if TYPE_CHECKING:
    from marie_celery.authoring.task import Task

TRACEBACK_LIMIT = 16_384


class Call:
    """One call of a task's function, or several for a batch of items.

    `result_text` gives the results that the inputs refer to, as JSON; None where there is none. `payloads` knows how
    results are kept.
    """

    def __init__(
        self,
        task: Task[..., Any],
        inputs: str,
        result_text: Callable[[int], str | None],
        payloads: Payloads | Unsealed,
        *,
        is_batch: bool,
    ) -> None:
        cache: dict[int, Any] = {}

        def result_of(number: int) -> Any:
            if number not in cache:
                text = result_text(number)
                cache[number] = None if text is None else payloads.loads(text)
            return cache[number]

        args, kwargs = decode_arguments(inputs, result_of)
        self._task = task
        self._payloads = payloads
        self._is_batch = is_batch
        self.args: tuple[Any, ...] = tuple(args)
        self.kwargs = kwargs
        if not is_batch:
            self.args, self.kwargs = task.signature_of_function.restore_arguments(args, kwargs)

    def make(self, attempt: str, message: str = "") -> tuple[Any, str]:
        """The result, and as it is kept. `message` is the Celery message by which it can be stopped."""
        what = f"the result of {self._task.name}"
        if self._is_batch:
            values, texts = run_batch(self._task, self.args, self.kwargs, message)
            return values, self._payloads.seal_list(texts, attempt, what)
        value = call(self._task.function, self.args, self.kwargs, message)
        text = encode_result(value, self._task.signature_of_function)
        return value, self._payloads.seal(text, attempt, what)


def is_final(task: Task[..., Any], error: Exception) -> bool:
    """Whether the error itself forbids another try."""
    if isinstance(error, (PayloadError, *task.give_up_on)):
        return True
    return bool(task.retry_on) and not isinstance(error, task.retry_on)


def describe_error(error: BaseException) -> dict[str, str]:
    text = "".join(traceback.format_exception(error))
    return {"type": type(error).__name__, "message": str(error), "traceback": text[-TRACEBACK_LIMIT:]}
