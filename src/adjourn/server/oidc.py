"""Login by OpenID Connect: authorisation code with PKCE. What comes back is checked against the
issuer's keys; groups say what a person may do. Needs `adjourn[oidc]`."""

import asyncio
import base64
import hashlib
import hmac
import secrets
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode, urlsplit

from adjourn.errors import InvalidDefinition
from adjourn.server.problem import Problem
from adjourn.server.request_checks import is_loopback
from adjourn.server.rights import GRANTABLE, parse_grant

if TYPE_CHECKING:
    import httpx

ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "EdDSA")
"""Only signatures that need the issuer's private key: with others, whoever knows a public key or our
secret could sign."""
LEEWAY = 30.0
"""Seconds by which the issuer's clock may differ from ours."""
FRESH, AGAIN = 3600.0, 30.0
"""Seconds for which the issuer's keys are kept, and after which they are asked for again because of an
unknown one."""
PATIENCE = 10.0
LARGEST = 1_000_000
LONGEST = 100
"""Characters of a group's name; and groups of a person."""


@dataclass(frozen=True, slots=True)
class OidcSettings:
    """How people log in by OpenID Connect.

    Attributes:
        issuer: the issuer's address, as its tokens say it.
        client_id: how the issuer knows this server.
        client_secret: for a confidential client; "" for a public one.
        roles: what members of a group may do, in this order: a role, or a grant. The first role
            that fits is the person's; all grants that fit are. Who fits none does not come in.
        name_claim: the claim that has the person's name.
        groups_claim: the claim that has the person's groups.
        scopes: what the issuer is asked for.
    """

    issuer: str
    client_id: str
    client_secret: str = ""
    roles: tuple[tuple[str, str], ...] = ()
    name_claim: str = "email"
    groups_claim: str = "groups"
    scopes: tuple[str, ...] = ("openid", "profile", "email")

    def __post_init__(self) -> None:
        _check_address(self.issuer, "the issuer")
        if not self.client_id:
            raise InvalidDefinition("login by OpenID Connect needs a client id")
        if not self.roles:
            raise InvalidDefinition(
                "login by OpenID Connect needs a role for a group, for example admins=admin"
            )
        for group, right in self.roles:
            if not group:
                raise InvalidDefinition(f"a role is for a group: GROUP=ROLE, got {right!r:.80}")
            if right not in GRANTABLE:
                parse_grant(right)

    def rights(self, groups: Iterable[str]) -> tuple[str, tuple[str, ...]] | None:
        """The role and the grants of a person in these groups; None: they do not come in.

        Args:
            groups: the person's groups.
        """
        given = [right for group, right in self.roles if group in set(groups)]
        roles = [right for right in given if right in GRANTABLE]
        grants = tuple(dict.fromkeys(right for right in given if right not in GRANTABLE))
        if not given:
            return None
        return (roles or ["none"])[0], grants


@dataclass(frozen=True, slots=True)
class LoginAttempt:
    """One login, from its beginning to its end. All of it follows from a secret that only the
    browser has, in a cookie: any server can end what another began."""

    secret: str

    @classmethod
    def new(cls) -> "LoginAttempt":
        """Another one."""
        return cls(secrets.token_urlsafe(32))

    def derived(self, what: str) -> str:
        """`state`, `nonce` or `verifier`."""
        text = f"adjourn/oidc/{what}\0{self.secret}".encode("utf-8", "replace")
        return base64.urlsafe_b64encode(hashlib.sha256(text).digest()).decode().rstrip("=")

    @property
    def challenge(self) -> str:
        """What the issuer is told of the verifier."""
        digest = hashlib.sha256(self.derived("verifier").encode()).digest()
        return base64.urlsafe_b64encode(digest).decode().rstrip("=")


@dataclass(frozen=True, slots=True)
class Recognised:
    """Somebody whom the issuer knows. `subject` is theirs for ever; names and groups change."""

    subject: str
    name: str
    groups: tuple[str, ...]


class OidcClient:
    """Speaks with the issuer."""

    def __init__(
        self,
        settings: OidcSettings,
        *,
        transport: "httpx.AsyncBaseTransport | None" = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        try:
            import httpx as _httpx  # noqa: F401  # pyright: ignore[reportUnusedImport]
            import jwt as _jwt  # noqa: F401  # pyright: ignore[reportUnusedImport]
        except ImportError as e:
            raise InvalidDefinition(
                f"login by OpenID Connect needs the extra `oidc`: pip install 'adjourn[oidc]' ({e})"
            ) from None
        self.settings = settings
        self._transport, self._clock = transport, clock
        self._found: dict[str, Any] = {}
        self._keys: dict[str, Any] = {}
        self._looked = self._asked = float("-inf")
        self._asking = asyncio.Lock()

    async def address(self, attempt: LoginAttempt, redirect: str) -> str:
        """Where a browser begins to log in.

        Args:
            attempt: the login.
            redirect: where the issuer sends the browser back to.
        """
        found = await self._discovered()
        asked = {
            "response_type": "code",
            "client_id": self.settings.client_id,
            "redirect_uri": redirect,
            "scope": " ".join(self.settings.scopes),
            "state": attempt.derived("state"),
            "nonce": attempt.derived("nonce"),
            "code_challenge": attempt.challenge,
            "code_challenge_method": "S256",
        }
        return _with_query(found["authorization_endpoint"], asked)

    async def logout_address(self, back: str) -> str:
        """Where a browser ends its session with the issuer; `back` itself if there is no such
        place.

        Args:
            back: where the issuer sends the browser afterwards.
        """
        end = (await self._discovered()).get("end_session_endpoint")
        if not isinstance(end, str):
            return back
        _check_endpoint(end)
        asked = {"client_id": self.settings.client_id, "post_logout_redirect_uri": back}
        return _with_query(end, asked)

    async def recognise(
        self, attempt: LoginAttempt, query: Mapping[str, str], redirect: str
    ) -> Recognised:
        """Who has logged in, if all that the issuer sent is as it must be. Raises 401 or 502.

        Args:
            attempt: the login that this browser began.
            query: what the issuer sent back with the browser.
            redirect: as it was when the login began.
        """
        state = query.get("state", "")
        if not attempt.secret or not _same(state, attempt.derived("state")):
            raise _refused("this login was not begun by this browser, or too long ago; try again")
        if "iss" in query and query["iss"] != self.settings.issuer:
            raise _refused("the answer comes from another issuer")
        if "error" in query:
            raise _refused(f"the issuer refused: {query['error']!r:.80}")
        if not query.get("code"):
            raise _refused("the issuer sent no code")
        token = await self._exchanged(attempt, query["code"], redirect)
        claims = await self._checked(token, attempt)
        return self._person(claims)

    async def _exchanged(self, attempt: LoginAttempt, code: str, redirect: str) -> str:
        found = await self._discovered()
        sent = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": redirect,
            "code_verifier": attempt.derived("verifier"),
            "client_id": self.settings.client_id,
        }
        if self.settings.client_secret:
            sent["client_secret"] = self.settings.client_secret
        answer = await self._ask("POST", found["token_endpoint"], sent)
        token = answer.get("id_token")
        if not isinstance(token, str):
            raise _refused("the issuer sent no id token")
        return token

    async def _checked(self, token: str, attempt: LoginAttempt) -> dict[str, Any]:
        """The claims of a token that the issuer signed for us, now, for this login."""
        import jwt

        settings = self.settings
        try:
            head = jwt.get_unverified_header(token)
            key = await self._key(str(head.get("kid", "")), str(head.get("alg", "")))
            claims: dict[str, Any] = jwt.decode(
                token,
                key,
                algorithms=[key.algorithm_name],
                audience=settings.client_id,
                issuer=settings.issuer,
                leeway=LEEWAY,
                options={"require": ["exp", "iat", "iss", "aud", "sub"]},
            )
        except jwt.PyJWTError as e:
            raise _refused(f"the issuer's token is not valid: {e}") from None
        parties = claims["aud"]
        is_shared = isinstance(parties, list) and len(parties) > 1  # pyright: ignore[reportUnknownArgumentType]
        if (is_shared or "azp" in claims) and claims.get("azp") != settings.client_id:
            raise _refused("the issuer's token is for another client")
        if not _same(str(claims.get("nonce", "")), attempt.derived("nonce")):
            raise _refused("the issuer's token belongs to another login")
        return claims

    def _person(self, claims: Mapping[str, Any]) -> Recognised:
        subject, name = claims["sub"], claims.get(self.settings.name_claim)
        groups = claims.get(self.settings.groups_claim, [])
        if not isinstance(name, str) or not name:
            raise _refused(f"the issuer's token has no claim {self.settings.name_claim!r}")
        if name == claims.get("email") and claims.get("email_verified") is False:
            raise _refused("the issuer has not verified this e-mail address")
        if isinstance(groups, str):
            groups = [groups]
        if not isinstance(groups, list):
            raise _refused(f"the claim {self.settings.groups_claim!r} is not a list of names")
        named: list[str] = []
        for group in groups:  # pyright: ignore[reportUnknownVariableType]
            if isinstance(group, str) and 0 < len(group) <= LONGEST and group.isprintable():
                named.append(group)
        return Recognised(str(subject), name, tuple(dict.fromkeys(named))[:LONGEST])

    # What the issuer publishes

    async def _discovered(self) -> dict[str, Any]:
        async with self._asking:
            if not self._found or self._clock() - self._looked > FRESH:
                place = f"{self.settings.issuer.rstrip('/')}/.well-known/openid-configuration"
                found = await self._ask("GET", place)
                if found.get("issuer") != self.settings.issuer:
                    raise _broken(f"it names the issuer {found.get('issuer')!r:.80}")
                for name in ("authorization_endpoint", "token_endpoint", "jwks_uri"):
                    _check_endpoint(found.get(name))
                self._found, self._looked = found, self._clock()
            return self._found

    async def _key(self, kid: str, algorithm: str) -> Any:
        """The issuer's key of this name. A new one is asked for: issuers change theirs."""
        import jwt

        if algorithm not in ALGORITHMS:
            raise jwt.InvalidAlgorithmError(f"signed with {algorithm!r:.20}")
        found = await self._discovered()
        async with self._asking:
            since = self._clock() - self._asked
            if since > FRESH or (self._named(kid) is None and since > AGAIN):
                self._asked = self._clock()
                published = await self._ask("GET", found["jwks_uri"])
                self._keys = _keys_in(published)
        key = self._named(kid)
        if key is None or key.algorithm_name != algorithm:
            raise jwt.InvalidKeyError("signed with a key that the issuer does not publish")
        return key

    def _named(self, kid: str) -> Any:
        """The key of a name; for a token that names none, the only one."""
        if not kid and len(self._keys) == 1:
            [key] = self._keys.values()
            return key
        return self._keys.get(kid)

    async def _ask(
        self, method: str, place: str, sent: Mapping[str, str] | None = None
    ) -> dict[str, Any]:
        """A JSON object from the issuer. Redirects are not followed."""
        import httpx

        try:
            async with httpx.AsyncClient(timeout=PATIENCE, transport=self._transport) as client:
                answer = await client.request(
                    method, place, data=sent, headers={"Accept": "application/json"}
                )
                if sent is not None and 400 <= answer.status_code < 500:
                    raise _refused("the issuer did not accept the code; try again")
                if answer.status_code != 200 or len(answer.content) > LARGEST:
                    raise _broken(f"it answered with {answer.status_code}")
                value: Any = answer.json()
        except (httpx.HTTPError, ValueError) as e:
            raise _broken(f"it cannot be reached: {type(e).__name__}") from None
        if not isinstance(value, dict):
            raise _broken("it did not answer with an object")
        return value  # pyright: ignore[reportUnknownVariableType]


def _keys_in(published: Mapping[str, Any]) -> dict[str, Any]:
    """The keys for signatures that we can check, by their names."""
    import jwt

    found: dict[str, Any] = {}
    entries: Any = published.get("keys", [])
    for entry in entries:
        try:
            if entry.get("use", "sig") == "sig":
                key = jwt.PyJWK(entry)
                if key.algorithm_name in ALGORITHMS:
                    found[str(entry.get("kid", ""))] = key
        except (jwt.PyJWTError, AttributeError, TypeError, ValueError):
            continue
    return found


def _with_query(address: str, asked: Mapping[str, str]) -> str:
    if "?" in address:
        return f"{address}&{urlencode(asked)}"
    return f"{address}?{urlencode(asked)}"


def _same(one: str, two: str) -> bool:
    return hmac.compare_digest(one.encode("utf-8", "replace"), two.encode("utf-8", "replace"))


def _check_address(address: str, what: str) -> None:
    parts = urlsplit(address)
    is_safe = parts.scheme == "https" or (
        parts.scheme == "http" and is_loopback(parts.hostname or "")
    )
    if not is_safe or not parts.hostname or parts.query or parts.fragment:
        raise InvalidDefinition(f"{what} must be an https address, got {address!r:.80}")


def _check_endpoint(address: Any) -> None:
    try:
        _check_address(str(address).partition("?")[0], "an endpoint")
    except InvalidDefinition:
        raise _broken(f"its endpoint {address!r:.80} is not an https address") from None


def _refused(why: str) -> Problem:
    return Problem(401, "login_refused", why)


def _broken(why: str) -> Problem:
    return Problem(502, "issuer_unreachable", f"login is not available: the issuer failed: {why}")
