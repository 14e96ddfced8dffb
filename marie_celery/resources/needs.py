"""What a job takes: hard default < manager's configuration < task definition < job."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from marie_celery.errors import ConfigError
from marie_celery.resources.booking import Request
from marie_celery.resources.settings import ResourceSettings

Wish = int | str | Mapping[str, Any] | None
"""An amount, a key, both as {"amount": 2, "key": "acme"}, or None for what the manager says."""

Wishes = Mapping[str, Wish]


def merge_wishes(task: Wishes | None, job: Wishes | None) -> dict[str, Wish]:
    """What a call says over what its task says, amount and key apart."""
    merged = dict(task or {})
    for name, wish in (job or {}).items():
        merged[name] = {**_as_mapping(merged.get(name)), **_as_mapping(wish)} or None
    return merged


def needs_of(resources: Mapping[str, ResourceSettings], executor: str, wishes: Wishes) -> dict[str, Request]:
    """Manager → what a job takes of it. Managers that it takes nothing of are left out: they are never asked."""
    unknown = sorted(set(wishes) - set(resources))
    if unknown:
        raise ConfigError(_explain(unknown[0], resources))
    requests = {
        name: _wished(name, Request(settings.consumption), wishes.get(name))
        for name, settings in resources.items()
        if name in wishes or executor in settings.executors
    }
    return {name: request for name, request in requests.items() if request.amount}


def _as_mapping(wish: Wish) -> Mapping[str, Any]:
    if wish is None:
        return {}
    return wish if isinstance(wish, Mapping) else {"key" if isinstance(wish, str) else "amount": wish}


def _wished(name: str, request: Request, wish: Wish) -> Request:
    given = _as_mapping(wish)
    amount, key = given.get("amount", request.amount), given.get("key", request.key)
    if not isinstance(amount, int) or isinstance(amount, bool) or amount < 0 or not isinstance(key, str):
        raise ConfigError(f"resource '{name}': {wish!r} is neither an amount of 0 or more nor a key")
    if set(given) - {"amount", "key"}:
        raise ConfigError(f"resource '{name}': {wish!r} may have 'amount' and 'key', nothing else")
    return replace(request, amount=amount, key=key)


def _explain(name: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, known, n=1)
    hint = f"did you mean '{close[0]}'?" if close else f"the settings have {', '.join(sorted(known)) or 'none'}"
    return f"there is no resource '{name}' ({hint})"
