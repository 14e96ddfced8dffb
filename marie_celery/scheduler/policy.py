"""Which planner is in force: what the settings say, unless an operator has said otherwise."""

from __future__ import annotations

import logging

from marie_celery.config import Settings
from marie_celery.errors import ConfigError
from marie_celery.planning import planner
from marie_celery.planning.policy import policy_fields
from marie_celery.planning.registry import needs_import
from marie_celery.store.store import Store

log = logging.getLogger(__name__)

BY_SETTINGS = "settings"


def policy_of(name: str, settings: Settings, by: str) -> dict[str, str]:
    """The policy for a planner by name, with the knobs of the settings. Raises ConfigError for an unknown one."""
    fields = policy_fields(
        planner(name, settings.planning),
        name=name,
        new_dag_share=settings.new_dag_share,
        max_active_dags=settings.max_active_dags,
        on_shortage=settings.on_shortage.value,
        max_skips=settings.max_skips,
    )
    return {**fields, "by": by}


def check_allowed(name: str, settings: Settings) -> None:
    """A name that came from Redis imports nothing that the settings do not name."""
    if needs_import(name) and name not in (settings.planner, *settings.planners):
        raise ConfigError(f"the planner '{name}' is not in the setting 'planners' of this scheduler")


def _is_allowed(name: str, settings: Settings) -> bool:
    try:
        check_allowed(name, settings)
    except ConfigError as error:
        log.error("%s; the one of the settings is put in force", error)
        return False
    return True


def put_in_force(store: Store, settings: Settings) -> str:
    """What a starting scheduler does. An operator's choice outlives restarts; the knobs are always the settings'."""
    present = store.policy()
    by = present.get("by", BY_SETTINGS)
    name = settings.planner
    if by != BY_SETTINGS and present["name"] != name and _is_allowed(present["name"], settings):
        log.warning("the planner '%s' set by %s stays; the settings say '%s'", present["name"], by, name)
        name = present["name"]
    else:
        by = BY_SETTINGS
    store.replan(policy_of(name, settings, by), by)
    for executor, own in settings.executors.items():
        store.declare_target(executor, own.target)
        store.set_shortage_mode(executor, own.on_shortage)
    for tenant, weight in settings.tenants.items():
        store.declare_weight(tenant, weight)
    for resource, declared in settings.resources.items():
        try:
            store.declare(resource, declared, by)
        except ConfigError as error:
            log.error("%s; it stays as it was", error)
    return name
