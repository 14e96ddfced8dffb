"""A run, as the client that submitted it sees it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from marie_celery.authoring.payload import LITERAL, PATH, REF, decode_value
from marie_celery.clock import Clock, SystemClock
from marie_celery.drawing import Picture
from marie_celery.errors import RunFailed, UnknownJob
from marie_celery.model.states import RunState
from marie_celery.payloads import Payloads
from marie_celery.store.connection import BLOCK_SLICE, clear_errors, connect_async
from marie_celery.store.keys import job_id
from marie_celery.store.picture import picture_of
from marie_celery.store.records import JobView, Returns, RunView
from marie_celery.store.why import Why, number_by_name, why

if TYPE_CHECKING:
    from marie_celery.authoring.task import Task
    from marie_celery.extension import Marie


class Run:
    """Waiting never polls: an ended run has a list that waiters turn in place (BLMOVE), however many they are."""

    def __init__(
        self,
        marie: Marie,
        run_id: str,
        clock: Clock | None = None,
        *,
        is_new: bool = True,
        returns: Returns | None = None,
    ) -> None:
        self.marie = marie
        self.id = run_id
        self.is_new = is_new
        """False if there can be only one (`highlander`) and it waited already: then this is that one."""
        self._clock = clock or SystemClock()
        self._returns = returns
        """Known to who has submitted it: then the results are all that is to be read when it has ended."""

    def status(self) -> RunView:
        return self.marie.reader.run(self.id)

    def jobs(self) -> Iterator[JobView]:
        return self.marie.reader.jobs(self.id)

    def wait(self, timeout: float | None = None) -> RunState:
        """The final state. Raises TimeoutError if there is none in time."""
        end = None if timeout is None else self._clock.monotonic() + timeout
        ended = self.marie.reader.end_of(self.id)  # an unknown run would be waited for in vain
        if ended is not None:
            return ended
        store = self.marie.store
        key = store.keys.done(self.id)
        with clear_errors(self.marie.url):
            while True:
                state = store.client.blmove(key, key, self._slice(end), "LEFT", "LEFT")
                if state is not None:
                    return RunState(state)
                self._check_time(end, timeout)

    async def wait_async(self, timeout: float | None = None) -> RunState:
        end = None if timeout is None else self._clock.monotonic() + timeout
        ended = self.marie.reader.end_of(self.id)
        if ended is not None:
            return ended
        key = self.marie.store.keys.done(self.id)
        client: Any = connect_async(self.marie.url)
        try:
            with clear_errors(self.marie.url):
                while True:
                    state = await client.blmove(key, key, self._slice(end), "LEFT", "LEFT")
                    if state is not None:
                        return RunState(state)
                    self._check_time(end, timeout)
        finally:
            await client.aclose()

    def _slice(self, end: float | None) -> float:
        # 0 would block for ever
        return BLOCK_SLICE if end is None else min(BLOCK_SLICE, max(0.001, end - self._clock.monotonic()))

    def _check_time(self, end: float | None, timeout: float | None) -> None:
        if end is not None and self._clock.monotonic() >= end:
            raise TimeoutError(f"run {self.id} is not done after {timeout} s")

    def result(self, timeout: float | None = None) -> Any:
        """What the dag returned, with the results in place. Raises RunFailed if the run did not complete."""
        return self._result(self.wait(timeout))

    async def result_async(self, timeout: float | None = None) -> Any:
        return self._result(await self.wait_async(timeout))

    def _result(self, state: RunState) -> Any:
        reader = self.marie.reader
        if state is not RunState.COMPLETED:
            raise RunFailed(self.id, state, reader.failed_jobs(self.id))
        text = self.status().output if self._returns is None else self._returns.output
        output = json.loads(text)
        numbers = sorted(_referenced(output))
        returns = self._returns or reader.returns(self.id, text, numbers)
        results = reader.results(self.id, numbers)
        if None in results.values():
            reader.run_state(self.id)  # no result, or no run any more
        return assemble(output, results, returns, self.marie.tasks(), Payloads.of(self.marie.store).loads)

    def draw(self) -> Picture:
        """A picture of its jobs and their states, now."""
        return picture_of(self.status(), self.jobs())

    def why(self, name: str | None = None) -> Why:
        """What the run waits for, or why its job of this name does not run."""
        store = self.marie.store
        if name is None:
            return why(store, self.id)
        number = number_by_name(store, self.id, name)
        if number is None:
            raise UnknownJob(name)
        return why(store, job_id(self.id, number))

    def cancel(self, why: str = "cancelled", by: str = "") -> bool:
        """End what has not ended. False if the run had ended already."""
        return self.marie.store.cancel_run(self.id, why, by)

    def __repr__(self) -> str:
        return f"<marie run {self.id}>"


def assemble(
    output: Any,
    results: Mapping[int, str | None],
    returns: Returns,
    tasks: Mapping[str, Task[..., Any]],
    loads: Callable[[str], Any] = json.loads,
) -> Any:
    """What the dag returned, with the results (JSON) in place, each as its task's annotation says."""

    def result_of(number: int) -> Any:
        text = results[number]
        value = None if text is None else loads(text)
        task = tasks.get(returns.tasks[number])
        if task is None or value is None:
            return value
        restore = task.signature_of_function.restore_result
        if number in returns.maps:
            return [None if item is None else restore(item) for item in value]
        return restore(value)

    return decode_value(output, result_of)


def _referenced(value: Any) -> set[int]:
    if isinstance(value, list):
        return set().union(*map(_referenced, value))
    if isinstance(value, dict):
        if REF in value and set(value) <= {REF, PATH}:
            return {value[REF]}
        return set().union(*map(_referenced, value.get(LITERAL, value).values()))
    return set()
