"""Orders of operators. They travel on control edges, so they pass whatever the data plane is busy with."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

from marie_celery.config import Settings
from marie_celery.errors import ConfigError, MarieError
from marie_celery.flow import Kind, Message, Node, Port
from marie_celery.model.priority import parse_priority
from marie_celery.scheduler.planners import PAUSE, RESUME
from marie_celery.scheduler.policy import check_allowed, policy_of
from marie_celery.store.command import Command
from marie_celery.store.store import Store

log = logging.getLogger(__name__)


class Inbox(Node):
    """Carries each order out and answers it. `pause` and `resume` are for this scheduler alone."""

    inputs = (Port("commands"),)
    outputs = (Port("orders", str),)

    def __init__(
        self, store: Store, settings: Settings, graph: Callable[[], dict[str, Any]], stop: Callable[[], None]
    ) -> None:
        super().__init__("inbox")
        self._store = store
        self._settings = settings
        self._stop = stop
        self._verbs: Mapping[str, Callable[..., Any]] = {
            "ping": lambda: "pong",
            "graph": graph,
            "pause": lambda: self._order(PAUSE),
            "resume": lambda: self._order(RESUME),
            "planner": self._planner,
            "reprioritise": self._reprioritise,
            "shutdown": lambda: (self._stop(), "stopping")[1],
        }

    def on_message(self, port: str, message: Message) -> None:
        try:
            command = Command.parse(message.payload)
        except (ValueError, KeyError, TypeError) as error:
            log.warning("an order that cannot be read was dropped: %s", error)
            return
        try:
            answer = {"result": self._do(command)}
        except (MarieError, TypeError, ValueError) as error:
            answer = {"error": str(error)}
        log.info("order '%s': %s", command.verb, answer)
        self._store.answer(command.id, answer)

    def _do(self, command: Command) -> Any:
        if command.verb not in self._verbs:
            raise ConfigError(f"there is no order '{command.verb}'; there are {', '.join(self._verbs)}")
        return self._verbs[command.verb](**command.arguments)

    def _order(self, text: str) -> str:
        self.emit("orders", text, kind=Kind.CONTROL)
        return text

    def _planner(self, name: str, by: str = "operator") -> int:
        check_allowed(name, self._settings)
        return self._store.replan(policy_of(name, self._settings, by), by)

    def _reprioritise(self, id: str, priority: int | str, by: str = "operator") -> bool:
        return self._store.reprioritise(id, priority=parse_priority(priority), by=by)
