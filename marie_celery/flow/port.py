"""Ports and their type contract.

The contract binds data messages. Control and error messages pass any port: a kill switch must not need a port
of its own on every node.
"""

from __future__ import annotations

import types
from dataclasses import dataclass
from typing import Any

from marie_celery.flow.errors import PortTypeError
from marie_celery.flow.message import Kind, Message

ERRORS_PORT = "errors"
"""A node that declares an output of this name gets its failures sent there as error messages."""


@dataclass(frozen=True, slots=True)
class Port:
    """`type` is a class or a union of classes (`int | str`); the default, `object`, is no contract."""

    name: str
    type: type[Any] | types.UnionType = object

    def __post_init__(self) -> None:
        for member in _members(self.type):
            # A parametrised generic passes for a class in places, but isinstance refuses it at run time.
            if not isinstance(member, type) or isinstance(member, types.GenericAlias):
                raise TypeError(f"port '{self.name}': {member!r} is not a class")

    @property
    def is_open(self) -> bool:
        return self.type is object

    @property
    def type_name(self) -> str:
        return " | ".join(member.__name__ for member in _members(self.type))

    def check(self, message: Message) -> None:
        if self.type is object or message.kind is not Kind.DATA:
            return
        if not isinstance(message.payload, self.type):
            raise PortTypeError(self.name, self.type_name, message.payload)

    def fits(self, target: Port) -> bool:
        """Whether everything that this port may send is welcome at `target`."""
        accepted = tuple(_members(target.type))
        return all(issubclass(member, accepted) for member in _members(self.type))


def _members(contract: type[Any] | types.UnionType) -> tuple[type[Any], ...]:
    return contract.__args__ if isinstance(contract, types.UnionType) else (contract,)
