"""Resources that jobs share: who may have how much, and who is next. Pure: no Redis, no Celery, no clock."""

from marie_celery.resources.booking import Answer, Booking, Delta, Manager, Request
from marie_celery.resources.concurrency import ConcurrencyManager
from marie_celery.resources.discrete import DiscreteManager, item_variables
from marie_celery.resources.highlander import HighlanderManager
from marie_celery.resources.needs import Wishes, merge_wishes, needs_of
from marie_celery.resources.quantity import QuantityManager
from marie_celery.resources.rate import RateManager
from marie_celery.resources.settings import ResourceName, ResourceSettings, changed, difference
from marie_celery.resources.together import Bookings, Needs, book_all, impossible
from marie_celery.resources.tours import MAX_SKIPS, FairTours, OnShortage, Poll, Queue, Start, WaitingJob

__all__ = [
    "MAX_SKIPS",
    "Answer",
    "Booking",
    "Bookings",
    "ConcurrencyManager",
    "Delta",
    "DiscreteManager",
    "FairTours",
    "HighlanderManager",
    "Manager",
    "Needs",
    "OnShortage",
    "Poll",
    "QuantityManager",
    "Queue",
    "RateManager",
    "Request",
    "ResourceName",
    "ResourceSettings",
    "Start",
    "WaitingJob",
    "Wishes",
    "book_all",
    "changed",
    "difference",
    "impossible",
    "item_variables",
    "merge_wishes",
    "needs_of",
]
