"""Which addresses a webhook may reach.

Whoever may set a webhook must not thereby be able to talk to what only the scheduler's machine can reach. So a host is
resolved once, every address that it has is checked, and the connection goes to an address that was checked: a second
look-up could give another answer.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator, Sequence
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address

Address = IPv4Address | IPv6Address
Resolver = Callable[[str, int], Sequence[str]]

# What a translator at the edge of an IPv6 network makes an IPv4 address of.
_TRANSLATED = IPv6Network("64:ff9b::/96")


def resolve(host: str, port: int) -> list[str]:
    """All addresses of a host, by the system's resolver."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


def checked_addresses(host: str, port: int, *, allow_private: bool, resolver: Resolver = resolve) -> list[str]:
    """The addresses to connect to. PermissionError if one leads into a private network: then all are suspect."""
    found = list(resolver(host, port))
    if not found:
        raise OSError(f"the host '{host}' has no address")
    if not allow_private:
        for address in found:
            if why := reason_to_refuse(address):
                raise PermissionError(f"{host} is at {address}, {why}; set alert_allow_private to reach it")
    return found


def reason_to_refuse(text: str) -> str:
    """'' if the address is one of the public network."""
    for address in _meant(ip_address(text)):
        for name in ("loopback", "link_local", "multicast", "unspecified", "private", "reserved", "site_local"):
            if getattr(address, f"is_{name}", False):
                return f"which is {name.replace('_', '-')}"
        if not address.is_global:
            return "which is not public"
    return ""


def _meant(address: Address) -> Iterator[Address]:
    """The address, and the IPv4 addresses that it carries inside."""
    if isinstance(address, IPv4Address):
        yield address
    elif address.ipv4_mapped is not None:
        yield address.ipv4_mapped
    elif address in _TRANSLATED:
        yield IPv4Address(int(address) & 0xFFFF_FFFF)
    else:
        yield address
        if address.sixtofour is not None:
            yield address.sixtofour
        if address.teredo is not None:
            yield from address.teredo
