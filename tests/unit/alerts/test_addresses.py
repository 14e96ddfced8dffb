from __future__ import annotations

import pytest

from marie_celery.alerts.addresses import checked_addresses, reason_to_refuse, resolve

PUBLIC = ["93.184.215.14", "8.8.8.8", "2606:4700:4700::1111", "::ffff:8.8.8.8", "2002:808:808::1", "64:ff9b::8.8.8.8"]
PRIVATE = {
    "127.0.0.1": "loopback",
    "127.8.9.10": "loopback",
    "0.0.0.0": "unspecified",
    "10.0.0.1": "private",
    "172.16.0.1": "private",
    "172.31.255.255": "private",
    "192.168.1.1": "private",
    "169.254.169.254": "link-local",
    "100.64.0.1": "not public",
    "192.0.2.1": "private",
    "198.18.0.1": "private",
    "224.0.0.1": "multicast",
    "239.255.255.250": "multicast",
    "240.0.0.1": "private",
    "255.255.255.255": "private",
    "::1": "loopback",
    "::": "unspecified",
    "fe80::1": "link-local",
    "fe80::1%eth0": "link-local",
    "fc00::1": "private",
    "fd12:3456::1": "private",
    "fec0::1": "",
    "ff02::1": "multicast",
    "2001:db8::1": "private",
    "::ffff:127.0.0.1": "loopback",
    "::ffff:10.0.0.1": "private",
    "::ffff:a9fe:a9fe": "link-local",
    "::127.0.0.1": "",
    "64:ff9b::127.0.0.1": "loopback",
    "64:ff9b::a9fe:a9fe": "link-local",
    "64:ff9b:1::1": "",
    "2002:7f00:1::1": "loopback",
    "2002:a00:1::1": "private",
    "2001:0:7f00:1::1": "",
}


@pytest.mark.parametrize("address", PUBLIC)
def test_a_public_address_may_be_reached(address: str) -> None:
    assert reason_to_refuse(address) == ""
    assert checked_addresses("h", 80, allow_private=False, resolver=lambda *_: [address]) == [address]


@pytest.mark.parametrize(("address", "why"), PRIVATE.items())
def test_an_address_that_is_not_public_is_refused_and_named(address: str, why: str) -> None:
    with pytest.raises(PermissionError, match="alert_allow_private") as error:
        checked_addresses("hooks.example", 80, allow_private=False, resolver=lambda *_: [address])
    assert f"hooks.example is at {address}, which is " in str(error.value)
    assert why in str(error.value)


@pytest.mark.parametrize("address", PRIVATE)
def test_it_may_be_reached_if_the_settings_say_so(address: str) -> None:
    assert checked_addresses("h", 80, allow_private=True, resolver=lambda *_: [address]) == [address]


def test_one_private_address_among_public_ones_makes_all_of_them_suspect() -> None:
    with pytest.raises(PermissionError, match=r"10\.0\.0\.1"):
        checked_addresses("h", 80, allow_private=False, resolver=lambda *_: ["8.8.8.8", "10.0.0.1"])


def test_a_host_without_an_address_cannot_be_reached() -> None:
    with pytest.raises(OSError, match="the host 'h' has no address"):
        checked_addresses("h", 80, allow_private=True, resolver=lambda *_: [])


@pytest.mark.parametrize("spelling", ["127.0.0.1", "2130706433", "0x7f000001", "0177.0.0.1", "127.1", "localhost"])
def test_every_spelling_of_this_machine_is_refused(spelling: str) -> None:
    assert "127.0.0.1" in resolve(spelling, 80) or "::1" in resolve(spelling, 80)
    with pytest.raises(PermissionError, match="loopback"):
        checked_addresses(spelling, 80, allow_private=False)
