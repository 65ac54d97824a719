"""A person's own ways to be told, as data."""

import msgspec

from adjourn.stores.outbox import Endpoint, EndpointKind
from adjourn.stores.own_endpoint import OwnEndpoint, QuietHours
from adjourn.views.filled_view import filled


class OwnEndpointView(msgspec.Struct, frozen=True, kw_only=True):
    """One of a person's own ways to be told, and what it is told of. `device` is what the person calls
    it, `address` a digest by which a browser knows its own again."""

    name: str
    kind: EndpointKind
    device: str
    address: str
    topics: tuple[str, ...]
    mine: bool
    agents: tuple[str, ...]
    tools: tuple[str, ...]
    groups: tuple[str, ...]
    quiet: QuietHours | None
    at: float

    @classmethod
    def of(cls, endpoint: Endpoint, own: OwnEndpoint, address: str) -> "OwnEndpointView":
        """An endpoint of a person, without its secrets."""
        return filled(
            cls,
            own.choice,
            name=endpoint.name,
            kind=endpoint.kind,
            device=own.device,
            address=address,
            topics=endpoint.topics,
            at=endpoint.at,
        )


class PushKeyView(msgspec.Struct, frozen=True, kw_only=True):
    """The key of this sender, with which a browser subscribes."""

    key: str
