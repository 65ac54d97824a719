"""Who asks, and what they may do. Decisions are for people: a run's own credentials can never decide."""

import hashlib
import hmac
import ipaddress
import secrets
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from starlette.requests import Request

from adjourn.server.problem import Problem
from adjourn.server.users import Users

Right = Literal["read", "control", "decide", "halt", "admin"]
ROLES: dict[str, frozenset[str]] = {
    "viewer": frozenset({"read"}),
    "operator": frozenset({"read", "control", "halt"}),
    "approver": frozenset({"read", "decide"}),
    "admin": frozenset({"read", "control", "decide", "halt", "admin"}),
}
COOKIE = "adjourn_session"
SESSION_LIFE = 12 * 3600.0


@dataclass(frozen=True, slots=True)
class Identity:
    """Somebody who was recognised."""

    name: str
    role: str
    groups: tuple[str, ...] = ()
    csrf: str = ""

    def may(self, right: Right) -> bool:
        """Whether the role has this right."""
        return right in ROLES[self.role]


@dataclass(slots=True)
class Session:
    """A browser that has logged in."""

    identity: Identity
    until: float


@dataclass(slots=True)
class Bucket:
    """Requests of one client: `level` drains with time."""

    level: float = 0.0
    at: float = 0.0


@dataclass
class Guard:
    """Recognises callers, and refuses foreign hosts, foreign origins and floods."""

    hosts: frozenset[str]
    token: str = ""
    token_name: str = "operator"
    users: Users | None = None
    rate: float = 200.0
    burst: float = 400.0
    _sessions: dict[str, Session] = field(default_factory=dict[str, Session])
    _buckets: dict[str, Bucket] = field(default_factory=dict[str, Bucket])

    def check_host(self, request: Request) -> None:
        """A page of another name that resolves here (DNS rebinding) has another Host header."""
        host = request.headers.get("host", "")
        if host.lower() not in self.hosts:
            raise Problem(403, "wrong_host", f"this server does not answer to the name {host!r:.80}")

    def check_origin(self, request: Request) -> None:
        """A browser says where a request comes from; other programs do not say anything."""
        origin = request.headers.get("origin")
        site = request.headers.get("sec-fetch-site", "none")
        if origin is not None and origin.lower() not in {
            f"{scheme}://{h}" for h in self.hosts for scheme in ("http", "https")
        }:
            raise Problem(403, "wrong_origin", f"requests from {origin!r:.80} are not taken")
        if origin is None and site not in ("none", "same-origin"):
            raise Problem(403, "wrong_origin", "requests from other sites are not taken")

    def limit(self, client: str, cost: float = 1.0) -> None:
        """So many requests a second for each client."""
        now = time.monotonic()
        bucket = self._buckets.setdefault(client, Bucket(0.0, now))
        bucket.level = max(0.0, bucket.level - (now - bucket.at) * self.rate) + cost
        bucket.at = now
        if len(self._buckets) > 10_000:
            self._buckets.clear()
        if bucket.level > self.burst:
            raise Problem(429, "too_many_requests", "slow down", {"Retry-After": "1"})

    def identify(self, request: Request) -> Identity:
        """Whose request this is: a bearer token or key, or a browser's session."""
        header = request.headers.get("authorization", "")
        scheme, _, key = header.partition(" ")
        if scheme.lower() == "bearer" and key:
            return self.recognise(key.strip())
        session = self._sessions.get(_hash(request.cookies.get(COOKIE, "")))
        if session is None or session.until < time.time():
            raise Problem(
                401, "unauthorized", "send `Authorization: Bearer KEY`, or log in", {"WWW-Authenticate": "Bearer"}
            )
        if request.method not in ("GET", "HEAD", "OPTIONS"):
            sent = request.headers.get("x-csrf-token", "")
            if not hmac.compare_digest(sent.encode(), session.identity.csrf.encode()):
                raise Problem(403, "csrf", "the X-CSRF-Token header is missing or wrong; reload the page")
        return session.identity

    def recognise(self, key: str) -> Identity:
        """The identity of a key."""
        if self.token and hmac.compare_digest(_hash(key).encode(), _hash(self.token).encode()):
            return Identity(self.token_name, "admin")
        found = self.users.by_key(key) if self.users is not None else None
        if found is None:
            raise Problem(401, "unauthorized", "this key is not known", {"WWW-Authenticate": "Bearer"})
        return Identity(found.name, found.role, found.groups)

    def login(self, key: str) -> tuple[str, Identity]:
        """A session for a browser: its cookie, and who it is."""
        known = self.recognise(key)
        cookie = secrets.token_urlsafe(32)
        identity = Identity(known.name, known.role, known.groups, secrets.token_urlsafe(24))
        self._sessions[_hash(cookie)] = Session(identity, time.time() + SESSION_LIFE)
        for old in [k for k, s in self._sessions.items() if s.until < time.time()]:
            del self._sessions[old]
        return cookie, identity

    def logout(self, cookie: str) -> None:
        """Forget a session."""
        self._sessions.pop(_hash(cookie), None)


def _hash(text: str) -> str:
    return hashlib.sha256(b"adjourn/session\0" + text.encode()).hexdigest()


def hosts_for(host: str, port: int, extra: Iterable[str] = ()) -> frozenset[str]:
    """The Host headers that this server answers to."""
    names = {host, *extra}
    if is_loopback(host):
        names |= {"localhost", "127.0.0.1", "[::1]"}
    found = {f"{n}:{port}" if ":" not in n.rpartition("]")[2] else n for n in names}
    return frozenset(x.lower() for x in found | ({*names} if port in (80, 443) else set()))


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach it."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"
