"""Who asks, and what they may do. Decisions are for people: a run's own credentials can never decide."""

import hashlib
import hmac
import ipaddress
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit

from starlette.requests import Request

from adjourn.errors import InvalidDefinition
from adjourn.server.limits import Limit, client_of
from adjourn.server.problem import Problem
from adjourn.server.users import SESSION_LIFE, User, Users

Right = Literal["none", "read", "control", "decide", "halt", "admin"]
RIGHTS: dict[str, frozenset[Right]] = {
    "viewer": frozenset({"none", "read"}),
    "operator": frozenset({"none", "read", "control", "halt"}),
    "approver": frozenset({"none", "read", "decide"}),
    "admin": frozenset({"none", "read", "control", "decide", "halt", "admin"}),
    "run": frozenset({"none", "read"}),
}
SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
LOCAL = "@local"
"""How a session of the token of this start is written down."""
STREAMS, STREAMS_EACH = 1000, 60


@dataclass(frozen=True, slots=True)
class Identity:
    """Somebody who was recognised. `run`: not a person but that run's own credentials."""

    name: str
    role: str
    groups: tuple[str, ...] = ()
    csrf: str = ""
    run: str = ""

    def may(self, right: Right) -> bool:
        """Whether the role has this right; one that is not known has none."""
        return right in RIGHTS.get(self.role, frozenset())


Authenticate = Callable[[Request], Awaitable[Identity | None]]


class Guard:
    """Recognises callers, and refuses foreign hosts, foreign origins and floods.

    `origins`: where the console is served, for example `https://ops.example.com`; browsers may come from there only, and
    the Host header must be one of theirs. `token` makes whoever has it an admin called `token_name`. `authenticate` asks
    an application of your own who somebody is.
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
    ) -> None:
        self.origins = frozenset(_origin(o) for o in origins)
        self.hosts = frozenset(h for o in self.origins for h in _hosts(o))
        self.users = users if users is not None else Users()
        self.authenticate, self._token, self._token_name = authenticate, token, token_name
        self.secure = bool(self.origins) and all(o.startswith("https:") for o in self.origins)
        port = min((urlsplit(o).port or 0 for o in self.origins), default=0)
        # A cookie belongs to a host and all its ports, so each server has a name of its own.
        self.cookie = "__Host-adjourn" if self.secure else f"adjourn_{port}"
        self._requests, self._logins = Limit(rate, burst), Limit(0.5, 10)
        self._streams: dict[str, int] = {}

    def is_encrypted(self, host: str) -> bool:
        """Whether browsers reach this host by https only, perhaps through a proxy that speaks plainly with us."""
        schemes = {o.partition(":")[0] for o in self.origins if host.lower() in _hosts(o)}
        return schemes == {"https"}

    # Before anything is read

    def check_host(self, request: Request) -> None:
        """A page of another name that resolves here (DNS rebinding) has another Host header."""
        hosts = request.headers.getlist("host")
        if len(hosts) != 1 or hosts[0].lower() not in self.hosts:
            raise Problem(403, "wrong_host", f"this server does not answer to the name {', '.join(hosts)!r:.80}")

    def check_origin(self, request: Request) -> None:
        """A browser says where a request comes from; other programs do not say anything."""
        origin, site = request.headers.get("origin"), request.headers.get("sec-fetch-site", "none")
        if origin is not None and origin.lower() not in self.origins:
            raise Problem(403, "wrong_origin", f"requests from {origin!r:.80} are not taken")
        if site not in ("none", "same-origin"):
            raise Problem(403, "wrong_origin", "requests from other sites are not taken")

    def check_page(self, request: Request) -> None:
        """A link in a mail may open the console, in a window of its own; nobody may load it into theirs."""
        site = request.headers.get("sec-fetch-site", "none")
        dest = request.headers.get("sec-fetch-dest", "document")
        if site not in ("none", "same-origin") and dest != "document":
            raise Problem(403, "wrong_origin", "other sites may link to this page, and no more")

    def limit(self, request: Request, *, login: bool = False) -> None:
        """So many requests a second for each client; of attempts to log in, far fewer."""
        client = client_of(request.client.host if request.client else "")
        (self._logins if login else self._requests).take(client)

    # Who it is

    async def identify(self, request: Request) -> Identity:
        """Whose request this is: a bearer key, or a browser's session."""
        scheme, _, key = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and key:
            return self.recognise(key.strip())
        if self.authenticate is not None and (known := await self.authenticate(request)) is not None:
            return known
        cookie = request.cookies.get(self.cookie, "")
        name = self.users.session(cookie)
        who = self._named(name) if name is not None else None
        if who is None:
            advice = "send `Authorization: Bearer KEY`, or log in"
            raise Problem(401, "unauthorized", advice, {"WWW-Authenticate": 'Bearer realm="adjourn"'})
        csrf = csrf_of(cookie)
        if request.method not in SAFE:
            sent = request.headers.get("x-csrf-token", "")
            if not hmac.compare_digest(sent.encode(), csrf.encode()):
                raise Problem(403, "csrf", "the X-CSRF-Token header is missing or wrong; reload the page")
        return Identity(who.name, who.role, who.groups, csrf, who.run)

    def recognise(self, key: str) -> Identity:
        """The identity of a key; raises 401."""
        if self._token and hmac.compare_digest(_hash(key), _hash(self._token)):
            return Identity(self._token_name, "admin")
        found = self.users.by_key(key)
        if found is None:
            refused = {"WWW-Authenticate": 'Bearer realm="adjourn", error="invalid_token"'}
            raise Problem(401, "unauthorized", "this key is not known", refused)
        return _identity(found)

    def _named(self, name: str) -> Identity | None:
        if name == LOCAL:
            return Identity(self._token_name, "admin") if self._token else None
        found = self.users.get(name)
        return _identity(found) if found else None

    def login(self, key: str) -> tuple[str, Identity]:
        """A session for a browser: its cookie, and who it is."""
        who = self.recognise(key)
        local = bool(self._token) and hmac.compare_digest(_hash(key), _hash(self._token))
        cookie = self.users.open_session(LOCAL if local else who.name)
        return cookie, Identity(who.name, who.role, who.groups, csrf_of(cookie), who.run)

    def logout(self, request: Request) -> None:
        """Forget the session that a request shows."""
        self.users.end_session(request.cookies.get(self.cookie, ""))

    # Streams stay open, so they are counted

    def enter(self, who: Identity) -> Callable[[], None]:
        """Count a stream until the result is called; raises 429 if there are too many."""
        if self._streams.get(who.name, 0) >= STREAMS_EACH or sum(self._streams.values()) >= STREAMS:
            raise Problem(429, "too_many_streams", "too many streams are open; close one", {"Retry-After": "5"})
        self._streams[who.name] = self._streams.get(who.name, 0) + 1

        def leave() -> None:
            self._streams[who.name] -= 1
            if not self._streams[who.name]:
                del self._streams[who.name]

        return leave


def set_cookie(guard: Guard, cookie: str, host: str = "") -> str:
    """The Set-Cookie header for a session of whoever came to `host`; an empty cookie ends it."""
    age = int(SESSION_LIFE) if cookie else 0
    secure = "; Secure" if guard.secure or guard.is_encrypted(host) else ""
    return f"{guard.cookie}={cookie}; Max-Age={age}; Path=/; HttpOnly; SameSite=Strict{secure}"


def csrf_of(cookie: str) -> str:
    """The token that only a page of this origin can know: it is made of the cookie, which no script can read."""
    return hashlib.sha256(b"adjourn/csrf\0" + cookie.encode("utf-8", "replace")).hexdigest()[:40]


def _identity(user: User) -> Identity:
    return Identity(user.name, user.role, user.groups, run=user.run)


def _hash(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "replace")).digest()


def _origin(text: str) -> str:
    parts = urlsplit(text.lower())
    if (
        parts.scheme not in ("http", "https")
        or not parts.hostname
        or parts.path not in ("", "/")
        or "@" in parts.netloc
    ):
        raise InvalidDefinition(f"an origin is written like 'https://ops.example.com', not {text!r:.80}")
    port = "" if parts.port in (None, _port(parts.scheme)) else f":{parts.port}"
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{parts.scheme}://{host}{port}"


def _hosts(origin: str) -> set[str]:
    """The Host headers of an origin: a default port may be written or not."""
    parts = urlsplit(origin)
    return {parts.netloc} if parts.port else {parts.netloc, f"{parts.netloc}:{_port(parts.scheme)}"}


def _port(scheme: str) -> int:
    return 443 if scheme == "https" else 80


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach it."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"
