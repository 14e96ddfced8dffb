"""What a group of messages becomes on a full edge that merges.

Merge functions are Python, so they cannot run inside a script. The producer merges on what it saw and sends the
outcome with the mark of the message that it merged into; the script takes it only if that is still the newest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from marie_celery.flow import Kind, Message

Merge = Callable[[Message, Message], Message | None]


@dataclass(slots=True)
class Merged:
    """`newest` is what the message that waits last becomes, None if it stays as it is."""

    newest: Message | None = None
    appended: list[Message] = field(default_factory=list)
    count: int = 0


def merge_into(
    waiting: int, capacity: int, newest: Message | None, messages: Sequence[Message], merge: Merge
) -> Merged | None:
    """The outcome; None if there is neither room nor a way to merge. `merge` returns None if it cannot."""
    outcome = Merged()
    appended: list[Message] = []
    for message in messages:
        if message.kind is Kind.CONTROL:
            outcome.appended.append(message)
            continue
        target = appended[-1] if appended else newest
        if target is None or waiting + len(appended) < capacity:
            appended.append(message)
            continue
        merged = merge(target, message)
        if merged is not None:
            outcome.count += 1
            if appended:
                appended[-1] = merged
            else:
                newest = outcome.newest = merged
        elif waiting:
            return None
        else:
            # A group that cannot be merged enters an empty edge as it is: it could never pass otherwise.
            appended.append(message)
    outcome.appended += appended
    return outcome
