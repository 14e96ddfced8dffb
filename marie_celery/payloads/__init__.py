"""Results on their way to Redis and back: compressed, encrypted, or kept elsewhere when they are large."""

from marie_celery.payloads.sealing import Payloads
from marie_celery.payloads.stores import PayloadStore
from marie_celery.payloads.unsealed import Unsealed

__all__ = ["PayloadStore", "Payloads", "Unsealed"]
