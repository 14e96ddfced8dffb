"""What the jobs of a submission take of the resources, as the scripts read it: [name, amount, key] as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping

from marie_celery.authoring.nodes import Node
from marie_celery.authoring.reference import Ref
from marie_celery.errors import ConfigError
from marie_celery.resources import Request, ResourceSettings, Wishes, merge_wishes, needs_of


class NeedsOfJobs:
    def __init__(self, resources: Mapping[str, ResourceSettings]) -> None:
        self._resources = resources
        self._known: dict[tuple[int, str], str] = {}

    def of(self, node: Node, executor: str) -> str:
        """'' if it takes nothing. Raises ConfigError for what cannot be, now or ever."""
        options = node.options
        if options.concurrency_key is not None:
            return self._text(executor, merge_wishes(options.resources, {options.concurrency_key: _key(node)}))
        known = (id(options), executor)
        if known not in self._known:
            self._known[known] = self._text(executor, options.resources or {})
        return self._known[known]

    def highlander(self, needs: str | None) -> str:
        """The name of the resource (and key) among these of which there can be only one user."""
        for name, _, key in json.loads(needs or "[]"):
            if self._resources[name].kind == "highlander":
                return f"resource:{name}" + (f"/{key}" if key else "")
        return ""

    def _text(self, executor: str, wishes: Wishes) -> str:
        needs = needs_of(self._resources, executor, wishes)
        for name, request in needs.items():
            self._check(name, request)
        own = [name for name in needs if self._resources[name].kind == "own"]
        if len(own) > 1:
            # Each would keep for the job what the other has not granted yet, and two such jobs might wait for ever.
            raise ConfigError(f"it asks for {' and '.join(own)}: only one may have a manager of your own")
        row = [[name, request.amount, request.key] for name, request in sorted(needs.items())]
        return json.dumps(row) if row else ""

    def _check(self, name: str, request: Request) -> None:
        settings = self._resources[name]
        if settings.kind == "own":  # its definition may come from Redis, and imports nothing here
            return
        if not settings.manager().can_ever(request):
            raise ConfigError(
                f"it asks for {request.amount} of resource '{name}', which has never more than {settings.most}"
            )


def _key(node: Node) -> str:
    """The value of the parameter that `concurrency_key` names."""
    name = node.options.concurrency_key
    assert name is not None
    bound = node.task.signature_of_function.shape.bind(*node.args, **node.kwargs)
    bound.apply_defaults()
    if name not in bound.arguments:
        raise ConfigError(f"concurrency_key='{name}': the task has no parameter of that name")
    value = bound.arguments[name]
    if isinstance(value, Ref) or not isinstance(value, str | int):
        raise ConfigError(f"concurrency_key='{name}': its value must be text or a number that is known at submit")
    return str(value)
