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


def needs_of(
    resources: Mapping[str, ResourceSettings], executor: str, task: Wishes | None = None, job: Wishes | None = None
) -> dict[str, Request]:
    """Manager → what a job takes of it. Managers that it takes nothing of are left out: they are never asked."""
    named = {**(task or {}), **(job or {})}
    unknown = sorted(set(named) - set(resources))
    if unknown:
        raise ConfigError(_explain(unknown[0], resources))
    requests = {
        name: _wished(name, _wished(name, Request(settings.consumption), task), job)
        for name, settings in resources.items()
        if name in named or executor in settings.executors
    }
    return {name: request for name, request in requests.items() if request.amount}


def _wished(name: str, request: Request, wishes: Wishes | None) -> Request:
    wish = (wishes or {}).get(name)
    if wish is None:
        return request
    given = wish if isinstance(wish, Mapping) else {"key" if isinstance(wish, str) else "amount": wish}
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
