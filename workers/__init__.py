"""The example application: a firm's post is split into pages, read, and sorted. One module per executor."""

from workers.app import app

__all__ = ["app"]
