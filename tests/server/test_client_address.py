"""Whose address a request comes from: what a client writes about itself is never believed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjourn.errors import InvalidDefinition
from adjourn.server.client_address import HOPS, TrustedProxies

PROXY, OTHER, CLIENT = "10.0.0.1", "10.0.0.2", "203.0.113.7"

CASES: list[tuple[str, list[str], str]] = [
    ("203.0.113.7", [], "203.0.113.7"),
    ("203.0.113.7", ["1.2.3.4"], "203.0.113.7"),  # not a proxy: its word counts for nothing
    (PROXY, [], PROXY),
    (PROXY, [CLIENT], CLIENT),
    (PROXY, [f"1.2.3.4, {CLIENT}"], CLIENT),  # the client wrote the first one
    (PROXY, ["1.2.3.4", CLIENT], CLIENT),  # in a header of its own
    (PROXY, [f"1.2.3.4, {CLIENT}, {OTHER}"], CLIENT),  # through two proxies
    (PROXY, [f"{OTHER}, {PROXY}"], OTHER),  # everybody is a proxy: the first of them
    (PROXY, ["nonsense"], PROXY),
    (PROXY, [""], PROXY),
    (PROXY, [f"{CLIENT}, unknown"], PROXY),
    (PROXY, [f"{CLIENT}, unknown, {OTHER}"], OTHER),
    (PROXY, ["203.0.113.7:51234"], CLIENT),
    (PROXY, ["[2001:db8::7]:443"], "2001:db8::7"),
    (PROXY, ["2001:db8::7"], "2001:db8::7"),
    (PROXY, ["::ffff:203.0.113.7"], CLIENT),
    ("::ffff:10.0.0.1", [CLIENT], CLIENT),
    ("fe80::1%eth0", [CLIENT], "fe80::1%eth0"),
    ("", [CLIENT], ""),
    ("unix", [CLIENT], "unix"),
]


@pytest.mark.parametrize(("peer", "forwarded", "client"), CASES)
def test_the_rightmost_address_that_is_no_proxy_is_the_client(peer: str, forwarded: list[str], client: str) -> None:
    assert TrustedProxies(["10.0.0.0/24"]).client(peer, forwarded) == client


def test_without_proxies_nobody_is_believed() -> None:
    assert TrustedProxies().client("127.0.0.1", ["1.2.3.4"]) == "127.0.0.1"


@given(st.lists(st.ip_addresses().map(str) | st.text(max_size=20), max_size=HOPS))
def test_whatever_a_client_writes_it_does_not_change_who_it_is(written: list[str]) -> None:
    proxies = TrustedProxies([PROXY])
    header = ", ".join([*written, CLIENT])
    assert proxies.client(PROXY, [header]) == CLIENT


def test_a_chain_without_end_is_not_walked() -> None:
    proxies = TrustedProxies(["10.0.0.0/8"])
    assert proxies.client(PROXY, [", ".join([CLIENT] + [OTHER] * 100_000)]) == OTHER


@pytest.mark.parametrize("network", ["", "10.0.0.0/33", "10.0.0.1/8", "proxy.example"])
def test_what_is_no_network_is_refused(network: str) -> None:
    with pytest.raises(InvalidDefinition, match=r"10\.0\.0\.0/8"):
        TrustedProxies([network])
