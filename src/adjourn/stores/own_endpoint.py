"""A person's own way to be told: whose it is, what its browser needs, and what the person chose."""

import msgspec

from adjourn.core.codec import encode
from adjourn.stores.outbox import Endpoint


class QuietHours(msgspec.Struct, frozen=True):
    """When a person is left alone, every day.

    Attributes:
        begins: minutes after midnight.
        ends: minutes after midnight; before `begins`, it is those of the next day.
        zone: the name of the time zone, for example `Europe/Oslo`.
    """

    begins: int
    ends: int
    zone: str


class OwnChoice(msgspec.Struct, frozen=True):
    """Of which messages a person wants to be told. What is empty does not choose.

    Attributes:
        mine: of what waits for a decision only if this person may take it: it is assigned to them
            or to a group of theirs, or to nobody and asks for no other group.
        agents: of these agents and flows only.
        tools: of what waits for a decision only if it is about one of these tools.
        groups: of what waits for a decision only if it asks for one of these groups.
        quiet: when nothing is sent, but halts and what expires within the hour.
    """

    mine: bool = True
    agents: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    quiet: QuietHours | None = None


class OwnEndpoint(msgspec.Struct, frozen=True):
    """What an endpoint of one person keeps where others keep their signing secret.

    Attributes:
        person: whose it is.
        device: what the person calls it.
        p256dh: the browser's public key, for messages to it.
        auth: what only that browser and we know.
        choice: of what it is told.
    """

    person: str
    device: str = ""
    p256dh: str = ""
    auth: str = ""
    choice: OwnChoice = OwnChoice()

    def kept(self) -> str:
        """As it is kept in `Endpoint.secret`."""
        return encode(msgspec.to_builtins(self)).decode()


def own_endpoint(endpoint: Endpoint) -> OwnEndpoint | None:
    """Whose endpoint it is; None if it is nobody's own.

    Args:
        endpoint: the endpoint.
    """
    if endpoint.kind == "webhook" or not endpoint.secret or not endpoint.url:
        return None
    return msgspec.json.decode(endpoint.secret, type=OwnEndpoint)
