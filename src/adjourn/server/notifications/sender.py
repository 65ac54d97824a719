"""Delivering the outbox: Standard Webhooks, signed; chat and mail. At least once, in order for each
run, retried for days."""

import asyncio
import logging
import random
import secrets
import ssl
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, Self
from urllib.parse import quote

from adjourn.core.codec import decode, encode
from adjourn.core.interrupt import Interrupt
from adjourn.server.api.notifications import new_secret
from adjourn.server.notifications import chat
from adjourn.server.notifications import webhook as outlet
from adjourn.server.notifications.own_delivery import (
    VAPID,
    OwnDelivery,
    PushDelivery,
    Recipients,
    held_until,
)
from adjourn.server.notifications.web_push import VapidKey
from adjourn.stores.outbox import HELD, DeliveryAttempt, Endpoint, Notification
from adjourn.stores.own_endpoint import OwnChoice, OwnEndpoint, own_endpoint
from adjourn.stores.protocol import Filter, Store

log = logging.getLogger("adjourn.notify")

BACKOFF = (5.0, 300.0, 1800.0, 7200.0, 18_000.0, 36_000.0, 50_400.0, 72_000.0, 86_400.0)
"""How long to wait after each failed attempt; three days in all."""
AT_ONCE, EACH = 32, 8
HOLD = 60.0
IDLE, SOON = 30.0, 0.2
SEEN, CROWDED = 200, 1.0
"""So many letters are looked at; with more of them waiting, what is due now may be behind those,
and is asked for so often."""
LONGEST = 86_400.0
GONE = 410
NO_BROWSER = (404, GONE)
"""What a push service says of a browser that is no longer subscribed."""


async def add_webhook(
    store: Store,
    name: str,
    url: str,
    *,
    topics: Iterable[str] = (),
    allow: Iterable[str] = (),
    by: str = "",
) -> str:
    """Notify a webhook from now on. Returns its secret, which is shown once.

    Args:
        store: the store.
        name: its name.
        url: its address.
        topics: what it is notified of; none: everything.
        allow: networks that it may be in although they are not public.
        by: who adds it.
    """
    outlet.check_url(url, outlet.networks(allow))
    secret = new_secret()
    await store.endpoints(Endpoint(name, "webhook", url, secret, tuple(topics)), by=by)
    return secret


async def add_chat(
    store: Store,
    name: str,
    url: str,
    *,
    topics: Iterable[str] = (),
    by: str = "",
    person: str = "",
) -> None:
    """Notify a chat room or a mailbox from now on.

    Args:
        store: the store.
        name: its name.
        url: one of Apprise's, for example `mailto://…`.
        topics: what it is notified of; none: everything.
        by: who adds it.
        person: the user to whom it belongs: it is told only what they may see, and chose in
            their settings.
    """
    chat.check_address(url)
    own = OwnEndpoint(person, device=name, choice=OwnChoice()).kept() if person else ""
    await store.endpoints(Endpoint(name, "apprise", url, own, tuple(topics)), by=by)


class NotificationSender:
    """Delivers a store's notifications while it is open: `async with NotificationSender(store,
    url="https://ops.example.com"):`.

    Args:
        store: the store.
        url: where people find the console, for links.
        allow: networks that webhooks may reach although they are not public.
        backoff: seconds before each further attempt.
        tls: for webhooks; without it, the system's certificates.
        details: whether chat, mail and browsers are told the arguments of the call that waits.
        recipients: who a person is now, with their rights. Without it, nothing is delivered to
            people's own endpoints: a server that knows them does it.
    """

    def __init__(
        self,
        store: Store,
        *,
        url: str = "",
        allow: Iterable[str] = (),
        backoff: tuple[float, ...] = BACKOFF,
        tls: ssl.SSLContext | None = None,
        details: bool = True,
        recipients: Recipients | None = None,
    ) -> None:
        self._store, self._url, self._backoff, self._tls = store, url.rstrip("/"), backoff, tls
        self._details = details
        self.allowed = outlet.networks(allow)
        self._own = OwnDelivery(store, recipients) if recipients else None
        self._push = PushDelivery(self._url, self.allowed, tls)
        self._active: dict[asyncio.Task[None], str] = {}
        self._bell = asyncio.Event()
        self._loop: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._loop = asyncio.get_running_loop().create_task(self._run(), name="adjourn-post")
        return self

    async def __aexit__(self, *_: object) -> None:
        tasks = [*self._active, *([self._loop] if self._loop else [])]
        for task in tasks:
            task.cancel()  # what was on its way is due again when its hold is over
        await asyncio.gather(*tasks, return_exceptions=True)

    async def once(self) -> int:
        """Deliver what is due now and wait for the answers; how many letters it tried. For a loop
        of your own, or a timer."""
        tried = 0
        while True:
            await self._round()
            if not self._active:
                return tried
            tried += len(self._active)
            await asyncio.gather(*self._active, return_exceptions=True)

    async def send_test(self, endpoint: Endpoint, *, by: str) -> tuple[bool, str]:
        """Send a message that says only who sent it, once. Returns whether it arrived, and what the
        other side said.

        Args:
            endpoint: where to.
            by: who tries it.
        """
        text = f"Test from Adjourn, by {by}. Nothing to decide."
        try:
            if endpoint.kind == "apprise":
                await chat.send(endpoint.url, "Test from Adjourn", chat.shown(text))
                return True, "the service accepted it"
            if endpoint.kind == "push":
                message = {"title": "Test from Adjourn", "text": chat.shown(text)}
                answer = await self._to_browser(endpoint, {**message, "path": "/", "tag": "test"})
                return 200 <= answer.status < 300, f"it answered {answer.status}"
            answer = await self._send(
                endpoint,
                f"msg_test_{secrets.token_hex(12)}",
                {"type": "test", "data": {"text": text}},
            )
        except Exception as e:
            return False, f"{type(e).__name__}: {e}"[:300]
        return 200 <= answer.status < 300, f"it answered {answer.status}"

    async def _run(self) -> None:
        end = self._store.subscribe("", self._bell.set)
        try:
            while True:
                self._bell.clear()
                try:
                    wait = await self._round()
                except Exception as e:
                    log.warning("delivery failed; trying again later: %s", e)
                    wait = IDLE
                await asyncio.sleep(CROWDED if wait == CROWDED else SOON)  # a burst is one round
                try:
                    async with asyncio.timeout(wait):  # not wait_for: it may swallow a cancellation
                        await self._bell.wait()
                except TimeoutError:
                    continue
        finally:
            end()

    async def _round(self) -> float:
        """Take what is due and set it on its way; how long until something else may be."""
        endpoints = {e.name: e for e in await self._store.endpoints()}
        if not endpoints:
            return IDLE
        now = self._store.now()
        due = await self._store.letters("due", limit=SEEN)
        crowded = len(due) == SEEN
        if (crowded or any(x.due_at <= now for x in due)) and len(self._active) < AT_ONCE:
            busy = [name for name, n in Counter(self._active.values()).items() if n >= EACH]
            if self._own is None:
                busy += [e.name for e in endpoints.values() if own_endpoint(e) is not None]
            for letter in await self._store.post(
                take=min(EACH, AT_ONCE - len(self._active)), hold=HOLD, but=busy
            ):
                # else it is new, and its letter due again when the hold is over
                if letter.endpoint in endpoints:
                    self._start(endpoints[letter.endpoint], letter)
        later = [x.due_at - now for x in due if x.due_at > now]
        if crowded:
            return CROWDED
        return min([IDLE, *(max(SOON, t) for t in later)])

    def _start(self, endpoint: Endpoint, letter: Notification) -> None:
        task = asyncio.get_running_loop().create_task(
            self._deliver(endpoint, letter), name=f"adjourn-letter:{letter.n}"
        )
        self._active[task] = endpoint.name
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._active.pop(task, None)
        self._bell.set()
        if not task.cancelled() and (error := task.exception()) is not None:
            log.warning(
                "the result of a notification could not be recorded; trying again later: %s", error
            )

    async def _deliver(self, endpoint: Endpoint, letter: Notification) -> None:
        try:
            sent = await self._attempt(endpoint, letter)
        except (OSError, TimeoutError, ssl.SSLError) as e:
            sent = self._failed(letter, f"{type(e).__name__}: {e}")
        # also what must never be reached: it will not become public by trying again
        except Exception as e:
            sent = DeliveryAttempt(letter.n, letter.tries, f"{type(e).__name__}: {e}"[:300])
        if sent.error:
            level, end = (
                (logging.INFO, "trying again") if sent.again else (logging.WARNING, "giving up")
            )
            log.log(
                level, "notification %s to %s: %s; %s", letter.n, endpoint.name, sent.error, end
            )
        await self._store.post([sent])

    async def _attempt(self, endpoint: Endpoint, letter: Notification) -> DeliveryAttempt:
        message: dict[str, Any] = decode(letter.body)
        data, link = message["data"], self._link(message["data"])
        if (own := own_endpoint(endpoint)) is not None:
            return await self._attempt_own(endpoint, own, letter, data)
        if endpoint.kind == "apprise":
            item = await self._item(data) if self._details else None
            await chat.send(endpoint.url, *chat.words(letter.topic, data, link, item))
            return DeliveryAttempt(letter.n, letter.tries)
        message["data"]["link"] = link
        answer = await self._send(endpoint, letter.id, message)
        if 200 <= answer.status < 300:
            return DeliveryAttempt(letter.n, letter.tries)
        if answer.status == GONE:
            return DeliveryAttempt(
                letter.n,
                letter.tries,
                "the endpoint returned 410 Gone; notifications to it have stopped",
            )
        return self._failed(letter, f"it answered {answer.status}", answer.retry_after)

    async def _attempt_own(
        self, endpoint: Endpoint, own: OwnEndpoint, letter: Notification, data: dict[str, Any]
    ) -> DeliveryAttempt:
        """One attempt to tell one person: by the rights of now, and as they chose."""
        done = DeliveryAttempt(letter.n, letter.tries)
        who = await self._own.recipients(own.person) if self._own else None
        if self._own is None or who is None:
            await self._forget(endpoint)
            return done
        item = await self._item(data)
        if not await self._own.concerns(who, own.choice, data, item):
            return done
        if until := held_until(own.choice, letter.topic, item, self._store.now()):
            return DeliveryAttempt(letter.n, letter.tries, HELD, until)
        title, text = chat.words(letter.topic, data, "", item, details=self._details)
        if endpoint.kind == "apprise":
            where = f"\nOpen it: {link}" if (link := self._link(data)) else ""
            await chat.send(endpoint.url, title, text + where)
            return done
        path = _path(data)
        answer = await self._to_browser(
            endpoint, {"title": title, "text": text, "path": path, "tag": path}
        )
        if answer.status in NO_BROWSER:
            await self._forget(endpoint)
        elif not 200 <= answer.status < 300:
            return self._failed(letter, f"it answered {answer.status}", answer.retry_after)
        return done

    async def _forget(self, endpoint: Endpoint) -> None:
        """Nobody is there any more."""
        log.info("endpoint %s was removed: it no longer exists (410)", endpoint.name)
        await self._store.endpoints(drop=endpoint.name)

    async def _to_browser(
        self, endpoint: Endpoint, message: dict[str, str]
    ) -> outlet.WebhookResponse:
        kept = [e.secret for e in await self._store.endpoints() if e.name == VAPID]
        own = own_endpoint(endpoint)
        if not kept or own is None:
            raise OSError("the key that this browser subscribed to no longer exists")
        key = VapidKey.kept(kept[0])
        return await self._push.send(endpoint, own, key, message, self._store.now())

    async def _item(self, data: dict[str, Any]) -> Interrupt | None:
        """What waits, as it is now; None if it is decided or erased. The letter holds none of it:
        what is erased is in no letter."""
        if not data.get("ref"):
            return None
        waiting = await self._store.inbox(Filter(run=data["run_id"], limit=SEEN))
        return next((item for item in waiting if item.ref == data["ref"]), None)

    async def _send(
        self, endpoint: Endpoint, id: str, message: dict[str, Any]
    ) -> outlet.WebhookResponse:
        body = encode(message)
        headers = signed(endpoint, id, body, self._store.now())
        return await outlet.post(endpoint.url, body, headers, allow=self.allowed, tls=self._tls)

    def _failed(self, letter: Notification, error: str, retry_after: str = "") -> DeliveryAttempt:
        if letter.tries > len(self._backoff):
            return DeliveryAttempt(letter.n, letter.tries, error)
        wait = self._backoff[letter.tries - 1] * random.uniform(0.9, 1.2)
        if retry_after.isascii() and retry_after.isdigit():
            wait = min(max(wait, float(retry_after[:9])), LONGEST)
        return DeliveryAttempt(letter.n, letter.tries, error, self._store.now() + wait)

    def _link(self, data: dict[str, Any]) -> str:
        """Where a person looks at it. A page, always: nothing that is opened decides."""
        return f"{self._url}{_path(data)}" if self._url else ""


def _path(data: dict[str, Any]) -> str:
    if item := data.get("ref") or data.get("interrupt_id"):  # old letters have one or the other
        return f"/inbox/{quote(item, safe='')}"
    if "run_id" in data:
        return f"/runs/{quote(data['run_id'], safe='')}"
    return "/"


Postman = NotificationSender
"""Its name in programs that were written before."""


def signed(endpoint: Endpoint, id: str, body: bytes, now: float) -> dict[str, str]:
    """The headers of Standard Webhooks. Several secrets, separated by spaces, sign side by side
    while one replaces another."""
    from standardwebhooks.webhooks import Webhook

    at = datetime.fromtimestamp(int(now), UTC)
    signatures = [Webhook(secret).sign(id, at, body.decode()) for secret in endpoint.secret.split()]
    return {
        "Content-Type": "application/json",
        "User-Agent": "adjourn",
        "webhook-id": id,
        "webhook-timestamp": str(int(now)),
        "webhook-signature": " ".join(signatures),
    }
