"""Surveying, planning, dispatching: from a look at Redis to messages in the queues, as three nodes in a row."""

from __future__ import annotations

import logging

from marie_celery.config import Settings
from marie_celery.errors import ConfigError
from marie_celery.flow import Kind, Message, Node, Port
from marie_celery.planning import ExecutionPlanner, planner
from marie_celery.planning.registry import needs_import
from marie_celery.planning.share import share_in_thousandths
from marie_celery.scheduler.choice import choose
from marie_celery.scheduler.policy import check_allowed
from marie_celery.scheduler.services import Service
from marie_celery.scheduler.tours import choose_by_tours, look_at_stock
from marie_celery.scheduler.turns import Due, Plan, Turn
from marie_celery.store.codes import Code
from marie_celery.store.records import Outlook
from marie_celery.store.store import Store
from marie_celery.transport.transports import Transport

log = logging.getLogger(__name__)

LOOK_AHEAD = 16
"""So many beyond the room are shown to a planner of the user's own; ranks need no more than there is room for."""
MOST_PER_EXECUTOR = 256
HELD_UP = 5
"""So often in a row ranks may be put right before what is there is sent all the same."""

PAUSE, RESUME = "pause", "resume"


class Surveyor(Service):
    """Looks what could run. While ranks are out of date it lets them be put right first."""

    inputs = (Port("due", Due), Port("orders", str))
    outputs = (Port("turn", Turn), Port("outlook", Outlook))

    def __init__(self, store: Store) -> None:
        super().__init__("surveyor")
        self._store = store
        self._held_up = 0
        self._look_ahead = LOOK_AHEAD
        self.is_paused = False

    def on_message(self, port: str, message: Message) -> None:
        if message.kind is Kind.CONTROL:
            self.is_paused = message.payload == PAUSE
            self.report(self._after_order)
        else:
            self.report(self.turn)

    def _after_order(self) -> Turn:
        # What scripts send by themselves they send for a scheduler: one that goes on renders it anew.
        if self.is_paused:
            self._store.forget_messages()
        return self.turn()

    def turn(self) -> Turn:
        outlook = self._store.peek(self._look_ahead, MOST_PER_EXECUTOR)
        self._look_ahead = 0 if outlook.parks and not needs_import(outlook.planner) else LOOK_AHEAD
        free = any(room.free > 0 for room in outlook.rooms)
        dues = {duty: ms / 1000 for duty, ms in outlook.due_ms.items() if ms >= 0}
        if outlook.due_ms.get("reranker", -1) == 0 and self._held_up < HELD_UP:
            self._held_up += 1
            return Turn(self.name, dues=dues, next_seconds=None, slots_free=free)
        self._held_up = 0
        # A paused scheduler sends nothing, but what is due for others is still told: retries, SLAs, work that was left.
        if not self.is_paused and any(room.candidates for room in outlook.rooms):
            self.emit("outlook", outlook)
        return Turn(self.name, slots_free=free, dues=dues)


class Planner(Node):
    """Puts what could run in order. The planner in force is the one that Redis names."""

    inputs = (Port("outlook", Outlook),)
    outputs = (Port("plan", Plan),)

    def __init__(self, store: Store, settings: Settings) -> None:
        super().__init__("planner")
        self._store = store
        self._settings = settings
        self._share = share_in_thousandths(settings.new_dag_share)
        self._name = ""
        self._planner = self._take("global")

    def on_message(self, port: str, message: Message) -> None:
        outlook: Outlook = message.payload
        if outlook.planner != self._name:
            self._name = outlook.planner
            self._planner = self._take(outlook.planner)
        plan = self._plan(outlook)
        if plan.jobs or plan.skips:
            self.emit("plan", plan)

    def _plan(self, outlook: Outlook) -> Plan:
        if outlook.parks:
            return Plan(choose(self._planner, outlook, self._share, self._settings.planning.burst_window_ms), outlook)
        stock = look_at_stock(self._store)
        tours = choose_by_tours(outlook, stock, self._settings.on_shortage, self._settings.max_skips)
        return Plan(tours.jobs, outlook, tours.skips)

    def _take(self, name: str) -> ExecutionPlanner:
        """A name in Redis imports nothing that the settings do not name."""
        settings = self._settings.planning
        try:
            check_allowed(name, self._settings)
            return planner(name, settings)
        except ConfigError as error:
            log.error("%s; jobs go by their ranks", error)
            return planner("global", settings)


class Dispatcher(Service):
    """Books slots and hands the messages over."""

    inputs = (Port("plan", Plan),)

    def __init__(self, store: Store, transport: Transport) -> None:
        super().__init__("dispatcher")
        self._store = store
        self._transport = transport
        self._plan: Plan

    def on_message(self, port: str, message: Message) -> None:
        self._plan = message.payload
        self.report(self.turn)

    def turn(self) -> Turn:
        claims = self._transport.send(self._plan.jobs) if self._plan.jobs else []
        if self._plan.skips:
            self._store.note_skips(self._plan.skips)
        sent = sum(claim.code == Code.OK for claim in claims)
        # They have left their place to others, which a next look may find.
        parked = self._plan.outlook.parks and any(claim.code in (Code.SHORT, Code.EXHAUSTED) for claim in claims)
        log.debug("dispatched %d of %d", sent, len(claims))
        return Turn(self.name, worked=sent > 0 or parked)
