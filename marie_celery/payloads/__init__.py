"""Results on their way to Redis and back: compressed, encrypted, or kept elsewhere when they are large."""

from marie_celery.payloads.sealing import Payloads
from marie_celery.payloads.stores import PayloadStore

__all__ = ["PayloadStore", "Payloads"]
