"""Who asks: keys, sessions, links and sign-ons become an `Identity`. What they may do: `rights`."""

import asyncio
import hashlib
import hmac
import secrets
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import urlsplit

from starlette.requests import Request

from adjourn.server.client_address import TrustedProxies
from adjourn.server.identity import Identity
from adjourn.server.problem import Problem
from adjourn.server.rate_limit import FailedLogins, RateLimit, client_of
from adjourn.server.request_checks import OTHER_NAME, hosts_of, plain_origin
from adjourn.server.users import SESSION_IDLE, SESSION_LIFE, User, Users

if TYPE_CHECKING:
    from adjourn.server.oidc import OidcClient

SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
STREAMS, STREAMS_EACH = 1000, 60
IDLE = "x-idle"
"""A header by which the console says that nobody has touched it for a while: such a request keeps
no session alive."""
T = TypeVar("T")


Authenticate = Callable[[Request], Awaitable[Identity | None]]


class Guard:
    """Recognises callers, and refuses floods; knows which hosts and origins are its own.

    Args:
        origins: where the console is served, for example `https://ops.example.com`; browsers may
            come from there only, and the Host header must be one of theirs.
        users: who may use it, by key.
        token: makes its user an admin; sessions that were opened with it end with this object.
        token_name: that admin's name.
        authenticate: asks an application of your own who the caller is.
        rate: requests a second for each address.
        burst: so many at once.
        proxies: networks whose `X-Forwarded-For` is believed.
        session_life: seconds after which a browser's session ends.
        session_idle: seconds after which it ends without use.
        oidc: by which people log in with OpenID Connect; None: they do not.
    """

    def __init__(
        self,
        origins: Iterable[str],
        *,
        users: Users | None = None,
        token: str = "",
        token_name: str = "operator",
        authenticate: Authenticate | None = None,
        rate: float = 200.0,
        burst: float = 400.0,
        proxies: Iterable[str] = (),
        session_life: float = SESSION_LIFE,
        session_idle: float = SESSION_IDLE,
        oidc: "OidcClient | None" = None,
    ) -> None:
        self.oidc = oidc
        self.origins = frozenset(plain_origin(o) for o in origins)
        self.hosts = frozenset(h for o in self.origins for h in hosts_of(o))
        if users is not None:
            self.users = users
        else:
            self.users = Users()
        self.authenticate, self._token, self._token_name = authenticate, token, token_name
        self.secure = bool(self.origins) and all(o.startswith("https:") for o in self.origins)
        port = min((urlsplit(o).port or 0 for o in self.origins), default=0)
        # A cookie belongs to a host and all its ports, so each server has a name of its own.
        if self.secure:
            self.cookie = "__Host-adjourn"
        else:
            self.cookie = f"adjourn_{port}"
        self.proxies = TrustedProxies(proxies)
        self.session_life, self.session_idle = session_life, session_idle
        self._requests, self._failed = RateLimit(rate, burst), FailedLogins()
        self._local: dict[str, tuple[float, float]] = {}
        self._streams: dict[str, int] = {}

    def is_encrypted(self, host: str) -> bool:
        """Whether browsers reach this host by https only, perhaps through a proxy that speaks
        plainly with us."""
        schemes = {o.partition(":")[0] for o in self.origins if host.lower() in hosts_of(o)}
        return schemes == {"https"}

    def origin_for(self, host: str) -> str:
        """The origin under which a browser came.

        Args:
            host: its Host header.
        """
        found = sorted(o for o in self.origins if host.lower() in hosts_of(o))
        if not found:
            raise Problem(403, "wrong_host", f"unknown host {host!r:.80}", advice=OTHER_NAME)
        return found[-1]  # https before http

    def limit(self, request: Request) -> None:
        """So many requests a second for each client."""
        self._requests.take(client_of(self.address(request)))

    def address(self, request: Request) -> str:
        """Where a request comes from, as far as it can be known."""
        peer = request.client.host if request.client else ""
        return self.proxies.client(peer, request.headers.getlist("x-forwarded-for"))

    # Who it is

    async def ask(self, work: Callable[[], T]) -> T:
        """Look at the users, or change them: in a thread, if another machine has them.

        Args:
            work: what is done; nothing of it may need the event loop.
        """
        if self.users.waits:
            return await asyncio.to_thread(work)
        return work()

    async def identify(self, request: Request, *, used: bool = True) -> Identity:
        """Whose request this is: a bearer key, or a browser's session.

        `used` False: the server asks by itself, which keeps no session alive.
        """
        scheme, _, key = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and key:
            return await self.ask(lambda: self.recognise(key.strip()))
        if (
            self.authenticate is not None
            and (known := await self.authenticate(request)) is not None
        ):
            return known
        cookie = request.cookies.get(self.cookie, "")
        is_used = used and IDLE not in request.headers
        who = await self.ask(lambda: self._of_session(cookie, used=is_used))
        if who is None:
            ask = {"WWW-Authenticate": 'Bearer realm="adjourn"'}
            advice = "send `Authorization: Bearer KEY`, or log in"
            raise Problem(401, "unauthorized", "login required", ask, advice=advice)
        if request.method not in SAFE:
            sent = request.headers.get("x-csrf-token", "")
            if not hmac.compare_digest(sent.encode(), who.csrf.encode()):
                what = "the X-CSRF-Token header is missing or wrong"
                raise Problem(403, "csrf", what, advice="reload the page")
        return who

    def recognise(self, key: str) -> Identity:
        """The identity of a key; raises 401."""
        if self._is_token(key):
            return Identity(self._token_name, "admin", local=True)
        found = self.users.by_key(key)
        if found is None:
            refused = {"WWW-Authenticate": 'Bearer realm="adjourn", error="invalid_token"'}
            advice = "check it, or ask for a new one: adjourn user key NAME"
            raise Problem(401, "unauthorized", "invalid API key", refused, advice=advice)
        return identity_of(found)

    async def person(self, name: str) -> Identity | None:
        """Who a user is now, with their rights; None if the user is unknown.

        Args:
            name: the user's name.
        """
        found = await self.ask(lambda: self.users.get(name))
        return identity_of(found) if found else None

    def _is_token(self, key: str) -> bool:
        return bool(self._token) and hmac.compare_digest(_hash(key), _hash(self._token))

    # Browsers

    def login(self, request: Request, key: str) -> tuple[str, Identity]:
        """A session for a browser that shows a key: its cookie, and who it is. Raises 401, or 429
        after too many wrong ones."""
        try:
            who = self.recognise(key)
        except Problem:
            self._failed.count(client_of(self.address(request)), key)
            raise
        if who.local:
            cookie = self._open_local()
        else:
            cookie = self.users.open_session(who.name, key, life=self.session_life)
        return cookie, replace(who, csrf=csrf_of(cookie))

    def login_by_link(self, request: Request, token: str) -> tuple[str, Identity]:
        """A session for a browser that came by the link of this start. A link with anybody's key
        opens nothing: whoever wrote it could let others act under that name."""
        if not self._is_token(token):
            self._failed.count(client_of(self.address(request)), token)
            raise Problem(
                401,
                "unauthorized",
                "this link belongs to an earlier start of the server",
                advice="log in with a key, or use the newest link that the server printed",
            )
        return self.login(request, token)

    def logout(self, request: Request) -> str:
        """Forget the session that a request shows; whose it was, "" if it was nobody's."""
        cookie = request.cookies.get(self.cookie, "")
        who = self._of_session(cookie, used=False)
        self._local.pop(csrf_of(cookie), None)
        self.users.end_session(cookie)
        return who.name if who else ""

    def _open_local(self) -> str:
        cookie, now = secrets.token_urlsafe(32), self.users.now()
        self._local = {
            name: (until, seen) for name, (until, seen) in self._local.items() if until > now
        }
        self._local[csrf_of(cookie)] = (now + self.session_life, now)
        return cookie

    def _of_session(self, cookie: str, *, used: bool) -> Identity | None:
        csrf, now = csrf_of(cookie), self.users.now()
        until, seen = self._local.get(csrf, (0.0, 0.0))
        if until > now and now - seen < self.session_idle:
            self._local[csrf] = (until, now if used else seen)
            return Identity(self._token_name, "admin", csrf=csrf, local=True)
        name = self.users.session(cookie, idle=self.session_idle, used=used)
        found = self.users.get(name) if name is not None else None
        if found:
            return replace(identity_of(found), csrf=csrf)
        return None

    # Streams stay open, so they are counted

    def enter(self, who: Identity) -> Callable[[], None]:
        """Count a stream until the result is called; raises 429 if there are too many."""
        if self._streams.get(who.name, 0) >= STREAMS_EACH or sum(self._streams.values()) >= STREAMS:
            raise Problem(
                429,
                "too_many_streams",
                "too many streams are open",
                {"Retry-After": "5"},
                advice="close one",
            )
        self._streams[who.name] = self._streams.get(who.name, 0) + 1

        def leave() -> None:
            self._streams[who.name] -= 1
            if not self._streams[who.name]:
                del self._streams[who.name]

        return leave


def set_cookie(guard: Guard, cookie: str, host: str = "") -> str:
    """The Set-Cookie header for a session of whoever came to `host`; an empty cookie ends it."""
    age = int(guard.session_life) if cookie else 0
    if guard.secure or guard.is_encrypted(host):
        secure = "; Secure"
    else:
        secure = ""
    return f"{guard.cookie}={cookie}; Max-Age={age}; Path=/; HttpOnly; SameSite=Strict{secure}"


def csrf_of(cookie: str) -> str:
    """The token that only a page of this origin can know: it is made of the cookie, which no script
    can read."""
    return hashlib.sha256(b"adjourn/csrf\0" + cookie.encode("utf-8", "replace")).hexdigest()[:40]


def _hash(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "replace")).digest()


def identity_of(user: User) -> Identity:
    """A user who was recognised."""
    return Identity(
        user.name,
        user.role,
        user.groups,
        run=user.run,
        grants=user.grants,
        tenant=user.tenant,
    )
