"""Kinds of jobs that are more than a call of a task."""

from __future__ import annotations

from enum import StrEnum


class Control(StrEnum):
    """A job without work of its own: no worker runs it, and it takes no slot."""

    MERGE = "merge"
    """Only waits for others."""
    MAP = "map"
    """Makes a job for each item of a list and ends with the list of their results."""
    BRANCH = "branch"
    """Takes one of two paths by the truth of a value."""
    SWITCH = "switch"
    """Takes the path that a value names."""
    CHOOSE = "choose"
    """Takes all paths that a value names."""
    PICK = "pick"
    """Joins the paths of a branch: its result is that of the path taken."""
    ITEM = "item"
    """The item that a mapped dag was made for."""
    GATHER = "gather"
    """What a mapped dag returns for its item."""


class Role(StrEnum):
    """What a job is for the run as a whole."""

    GATE = "gate"
    """Nothing else starts before it says yes."""
    ON_FAILURE = "on_failure"
    """Runs when all others have ended and one of them failed."""
    FINALLY = "finally"
    """Runs last, however the others ended."""
