"""What of the events a person is told, by their own choice and by their rights at that moment; and how
a browser is told."""

import hashlib
import ssl
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from adjourn.core.codec import encode
from adjourn.core.interrupt import Interrupt
from adjourn.errors import UnknownRun
from adjourn.server.identity import Identity
from adjourn.server.notifications import webhook as outlet
from adjourn.server.notifications.web_push import LARGEST, VapidKey, encrypted, to_base64
from adjourn.server.run_access import place_of, visible_halts
from adjourn.stores.item_note import GROUP, NO_MARK, ItemMark
from adjourn.stores.outbox import Endpoint
from adjourn.stores.own_endpoint import OwnChoice, OwnEndpoint, QuietHours
from adjourn.stores.protocol import Halt, Store

VAPID = "web push"
"""The endpoint without an address that keeps the sender's key."""
SOON = 3600.0
"""What expires within so many seconds is told in quiet hours, too."""
DAY = 86_400
MORE = "  and more: open it to see all"
Recipients = Callable[[str], Awaitable[Identity | None]]
"""Who a person is now, with their rights; None if nobody has that name any more."""


def quiet_until(quiet: QuietHours | None, now: float) -> float:
    """When quiet hours end in which it is `now`; 0 if it is in none.

    Args:
        quiet: the hours.
        now: the time.
    """
    if quiet is None or quiet.begins == quiet.ends:
        return 0.0
    zone = ZoneInfo(quiet.zone)
    at = datetime.fromtimestamp(now, zone)
    minute = at.hour * 60 + at.minute
    if quiet.begins < quiet.ends:
        inside = quiet.begins <= minute < quiet.ends
    else:
        inside = minute >= quiet.begins or minute < quiet.ends
    if not inside:
        return 0.0
    day = at.date()
    if minute >= quiet.ends:
        day += timedelta(days=1)
    end = datetime(day.year, day.month, day.day, quiet.ends // 60, quiet.ends % 60, tzinfo=zone)
    # where clocks are put back, the same minute comes twice
    return max(end.timestamp(), now + 60)


def held_until(choice: OwnChoice, topic: str, item: Interrupt | None, now: float) -> float:
    """Until when a message waits for quiet hours to end; 0: it is sent now.

    Args:
        choice: what the person chose.
        topic: what it is about.
        item: what waits, if it is about that.
        now: the time.
    """
    until = quiet_until(choice.quiet, now)
    if not until or topic.startswith("halt."):
        return 0.0
    if item is not None and item.expires_at is not None:
        until = min(until, item.expires_at - SOON)
    return until if until > now else 0.0


def wants(choice: OwnChoice, who: Identity, agent: str, item: Interrupt | None) -> bool:
    """Whether a person chose to be told of this; their rights are another question.

    Args:
        choice: what they chose.
        who: the person.
        agent: the run's agent or flow; "" for a halt.
        item: what waits for a decision, if it is about that.
    """
    if agent and choice.agents and agent not in choice.agents:
        return False
    if item is None:
        return True
    tool = item.call.tool if item.call else ""
    if choice.tools and tool not in choice.tools:
        return False
    return not choice.groups or bool({*choice.groups} & {*item.groups})


def waits_for(who: Identity, item: Interrupt, mark: ItemMark) -> bool:
    """Whether an item waits for this person: assigned to them or to a group of theirs, or to nobody
    and for no other group.

    Args:
        who: the person.
        item: the item.
        mark: what people left on it.
    """
    if mark.assigned:
        return mark.assigned in (who.name, *(f"{GROUP}{group}" for group in who.groups))
    return not item.groups or bool({*item.groups} & {*who.groups})


class OwnDelivery:
    """Asks, for each message to one person, whether it is theirs to see and whether they want it.

    Args:
        store: the store.
        recipients: who a person is now.
    """

    def __init__(self, store: Store, recipients: Recipients) -> None:
        self._store, self.recipients = store, recipients

    async def concerns(
        self, who: Identity, choice: OwnChoice, data: dict[str, Any], item: Interrupt | None
    ) -> bool:
        """Whether a message is sent to a person at all.

        Args:
            who: the person, with the rights of now.
            choice: what they chose.
            data: what the message says.
            item: what waits for a decision, if it is about that and is still open.
        """
        if "scope" in data:
            return bool(visible_halts(who, [Halt(data["scope"], "", "", 0.0)]))
        try:
            place = place_of(await self._store.get(data["run_id"]))
        except UnknownRun:
            return False
        if not who.may_on("read", place) or not wants(choice, who, place.program, item):
            return False
        if "ref" not in data:
            return True
        if item is None:
            return False  # decided meanwhile
        marks = await self._store.marks([(item.run_id, item.local)])
        mark = marks.get((item.run_id, item.local), NO_MARK)
        if mark.snoozed.get(who.name, 0.0) > self._store.now():
            return False
        if not choice.mine:
            return True
        return who.may_on("decide", place) and waits_for(who, item, mark)


class PushDelivery:
    """Sends messages to browsers.

    Args:
        subject: where the sender can be asked, for the push service.
        allow: networks that may be reached although they are not public.
        tls: for the connection; None: the system's certificates.
    """

    def __init__(
        self, subject: str, allow: Sequence[outlet.Network], tls: ssl.SSLContext | None
    ) -> None:
        self._subject, self._allow, self._tls = subject, allow, tls

    async def send(
        self,
        endpoint: Endpoint,
        own: OwnEndpoint,
        key: VapidKey,
        message: dict[str, str],
        now: float,
    ) -> outlet.WebhookResponse:
        """Encrypt a message for a browser and hand it to its push service.

        Args:
            endpoint: the browser.
            own: its keys.
            key: the sender's.
            message: `title`, `text`, `path` and `tag`.
            now: the time.
        """
        body = encrypted(fitting(message), own.p256dh, own.auth)
        headers = {
            "Authorization": key.authorization(endpoint.url, self._subject, now),
            "Content-Encoding": "aes128gcm",
            "Content-Type": "application/octet-stream",
            "TTL": str(DAY),
            "Urgency": "high",
            # a newer message about the same takes the place of one that has not arrived
            "Topic": to_base64(hashlib.sha256(message["tag"].encode()).digest())[:32],
        }
        return await outlet.post(endpoint.url, body, headers, allow=self._allow, tls=self._tls)


def fitting(message: dict[str, str]) -> bytes:
    """A message as it is sent, short enough: arguments that find no room are left out, and that is
    said; the digest never is."""
    lines = message["text"].split("\n")
    while len(body := encode({**message, "text": "\n".join(lines)})) > LARGEST:
        arguments = [n for n, line in enumerate(lines) if line.startswith("  ") and line != MORE]
        if not arguments:
            return encode({**message, "text": MORE.strip()})
        lines[arguments[-1]] = MORE
        if len(arguments) > 1 or lines.count(MORE) > 1:
            lines = [line for n, line in enumerate(lines) if line != MORE or n == lines.index(MORE)]
    return body
