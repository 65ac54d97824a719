"""Whose address a request comes from, also through proxies that are trusted to say so."""

import ipaddress
from collections.abc import Iterable

from adjourn.errors import InvalidDefinition

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Address = ipaddress.IPv4Address | ipaddress.IPv6Address
HOPS = 20
"""So many entries of X-Forwarded-For are looked at, from the right; a longer chain is nobody's
honest one."""


class TrustedProxies:
    """The networks whose word about a client's address is taken.

    Each proxy appends the address that it was called from to `X-Forwarded-For`, and whoever calls
    can write what they like before it. So the chain is read from the right, and the first address
    that is not a trusted proxy's is the client.
    """

    def __init__(self, networks: Iterable[str] = ()) -> None:
        """`networks`: addresses or networks in CIDR notation, for example `10.0.0.0/8`."""
        self._networks = [_network(text) for text in networks]

    def __contains__(self, host: str) -> bool:
        """Whether a host is one of the proxies."""
        found = _address(host)
        return found is not None and any(found in network for network in self._networks)

    def client(self, peer: str, forwarded: Iterable[str]) -> str:
        """The client's address: `peer`, or what trusted proxies say in their `X-Forwarded-For`
        headers.

        An entry that is no address ends the search: the last proxy that could be believed stands
        for its client.
        """
        if peer not in self:
            return peer
        found = peer
        entries = [entry for header in forwarded for entry in header.split(",")]
        for entry in reversed(entries[-HOPS:]):
            address = _address(entry)
            if address is None:
                return found
            found = str(address)
            if found not in self:
                return found
        return found


def _network(text: str) -> Network:
    try:
        return ipaddress.ip_network(text.strip())
    except ValueError as e:
        raise InvalidDefinition(
            f"a trusted proxy is an address or a network such as 10.0.0.0/8: {e}"
        ) from None


def _address(text: str) -> Address | None:
    """An address as proxies write it: perhaps with a port, perhaps in brackets."""
    host = text.strip()
    if host.startswith("["):
        host = host[1:].partition("]")[0]
    elif host.count(":") == 1:
        host = host.partition(":")[0]
    try:
        found = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return None
    mapped = found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else None
    return mapped or found
