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
from adjourn.stores.outbox import DeliveryAttempt, Endpoint, Notification
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
    store: Store, name: str, url: str, *, topics: Iterable[str] = (), by: str = ""
) -> None:
    """Notify a chat room or a mailbox from now on.

    Args:
        store: the store.
        name: its name.
        url: one of Apprise's, for example `mailto://…`.
        topics: what it is notified of; none: everything.
        by: who adds it.
    """
    chat.check_address(url)
    await store.endpoints(Endpoint(name, "apprise", url, "", tuple(topics)), by=by)


class NotificationSender:
    """Delivers a store's notifications while it is open: `async with NotificationSender(store,
    url="https://ops.example.com"):`.

    Args:
        store: the store.
        url: where people find the console, for links.
        allow: networks that webhooks may reach although they are not public.
        backoff: seconds before each further attempt.
        tls: for webhooks; without it, the system's certificates.
        details: whether chat and mail are told the arguments of the call that waits.
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
    ) -> None:
        self._store, self._url, self._backoff, self._tls = store, url.rstrip("/"), backoff, tls
        self._details = details
        self._allow = outlet.networks(allow)
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
                return True, "the service took it"
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
                    log.warning("delivering stopped and goes on in a while: %s", e)
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
            log.warning("a letter could not be settled and is due again later: %s", error)

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
                (logging.INFO, "it is tried again")
                if sent.again
                else (logging.WARNING, "nobody will try again")
            )
            log.log(level, "letter %s to %s: %s; %s", letter.n, endpoint.name, sent.error, end)
        await self._store.post([sent])

    async def _attempt(self, endpoint: Endpoint, letter: Notification) -> DeliveryAttempt:
        message: dict[str, Any] = decode(letter.body)
        link = self._link(message["data"])
        if endpoint.kind == "apprise":
            item = await self._item(message["data"])
            await chat.send(endpoint.url, *chat.words(letter.topic, message["data"], link, item))
            return DeliveryAttempt(letter.n, letter.tries)
        message["data"]["link"] = link
        answer = await self._send(endpoint, letter.id, message)
        if 200 <= answer.status < 300:
            return DeliveryAttempt(letter.n, letter.tries)
        if answer.status == GONE:
            return DeliveryAttempt(
                letter.n, letter.tries, "410: it does not want to be told any more"
            )
        return self._failed(letter, f"it answered {answer.status}", answer.retry_after)

    async def _item(self, data: dict[str, Any]) -> Interrupt | None:
        """What waits, as it is now; None if it is decided, erased, or not to be shown. The letter
        holds none of it: what is erased is in no letter."""
        if not self._details or not data.get("ref"):
            return None
        waiting = await self._store.inbox(Filter(run=data["run_id"], limit=SEEN))
        return next((item for item in waiting if item.ref == data["ref"]), None)

    async def _send(
        self, endpoint: Endpoint, id: str, message: dict[str, Any]
    ) -> outlet.WebhookResponse:
        body = encode(message)
        headers = signed(endpoint, id, body, self._store.now())
        return await outlet.post(endpoint.url, body, headers, allow=self._allow, tls=self._tls)

    def _failed(self, letter: Notification, error: str, retry_after: str = "") -> DeliveryAttempt:
        if letter.tries > len(self._backoff):
            return DeliveryAttempt(letter.n, letter.tries, error)
        wait = self._backoff[letter.tries - 1] * random.uniform(0.9, 1.2)
        if retry_after.isascii() and retry_after.isdigit():
            wait = min(max(wait, float(retry_after[:9])), LONGEST)
        return DeliveryAttempt(letter.n, letter.tries, error, self._store.now() + wait)

    def _link(self, data: dict[str, Any]) -> str:
        """Where a person looks at it. A page, always: nothing that is opened decides."""
        if not self._url:
            return ""
        if item := data.get("ref") or data.get("interrupt_id"):  # old letters have one or the other
            return f"{self._url}/inbox/{quote(item, safe='')}"
        if "run_id" in data:
            return f"{self._url}/runs/{quote(data['run_id'], safe='')}"
        return f"{self._url}/"


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
