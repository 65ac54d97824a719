"""Chat rooms and mailboxes that an admin may add over HTTP. Apprise connects by itself, past our
check of addresses, so only services that are known are taken, and mail servers that are public."""

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote, urlencode

from adjourn.errors import Invalid, NotAllowed
from adjourn.server.notifications import chat
from adjourn.server.notifications import webhook as outlet

SERVICES: dict[str, tuple[str, ...]] = {
    "Slack": ("hooks.slack.com",),
    "Teams": (".logic.azure.com", ".api.powerplatform.com"),
    "Discord": ("discord.com",),
    "Google Chat": ("chat.googleapis.com",),
}
"""Chats by the hosts of the addresses that they give for a room. One that begins with a dot is the
end of a name."""
IMPLICIT_TLS = 465
"""The port of mail servers that encrypt from the first byte; others are told to begin."""


def service_of(url: str) -> str:
    """Which service an address belongs to; "" for none that is known."""
    host = outlet.check_url(url).hostname or ""
    for service, hosts in SERVICES.items():
        for known in hosts:
            if host == known or (known.startswith(".") and host.endswith(known)):
                return service
    return ""


def check_room(url: str) -> str:
    """The service of a room's address as the service gave it; raises `NotAllowed` for any other
    address."""
    try:
        service = service_of(url)
        if service:
            chat.check_address(url)
            return service
    except Invalid:
        pass
    raise NotAllowed(
        f"this is not the address of a room in {', '.join(SERVICES)}",
        consequence="nothing was added",
        advice=(
            "copy the full address of its incoming webhook; add other services with `adjourn "
            "notify add`"
        ),
    )


async def mail_address(mail: dict[str, Any], allow: Sequence[outlet.Network]) -> str:
    """Where Apprise delivers mail, from what a person fills in. Raises `NotAllowed` for a server
    that is not public or has no address.

    Args:
        mail: `server`, `port`, `user`, `password`, `to` and `sender`.
        allow: networks that may be reached although they are not public.
    """
    server, port = mail["server"], mail.get("port", 587)
    try:
        await outlet.resolve(server, port, allow)
    except (outlet.AddressBlocked, OSError) as e:
        raise NotAllowed(
            f"mail cannot be sent through {server!r:.100}: {e}", consequence="nothing was added"
        ) from None
    mode = "ssl" if port == IMPLICIT_TLS else "starttls"
    more = {"to": mail["to"], "mode": mode, "from": mail.get("sender") or mail["to"]}
    login = ""
    if mail.get("user"):
        login = f"{quote(mail['user'], safe='')}:{quote(mail.get('password', ''), safe='')}@"
    url = f"mailtos://{login}{server}:{port}?{urlencode(more)}"
    chat.check_address(url)
    return url
