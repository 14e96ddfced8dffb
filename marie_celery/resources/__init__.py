"""Resources that jobs share: who may have how much, and who is next. Pure: no Redis, no Celery, no clock."""

from marie_celery.resources.booking import Answer, Booking, Delta, Manager, Request
from marie_celery.resources.concurrency import ConcurrencyManager
from marie_celery.resources.discrete import DiscreteManager, item_variables
from marie_celery.resources.highlander import HighlanderManager
from marie_celery.resources.needs import needs_of
from marie_celery.resources.quantity import QuantityManager
from marie_celery.resources.rate import RateManager
from marie_celery.resources.settings import ResourceName, ResourceSettings, difference
from marie_celery.resources.together import Bookings, Needs, book_all, impossible
from marie_celery.resources.tours import FairTours, OnShortage, Poll, Queue, Start, WaitingJob

__all__ = [
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
    "book_all",
    "difference",
    "impossible",
    "item_variables",
    "needs_of",
]
