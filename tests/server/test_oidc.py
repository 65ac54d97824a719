"""Login by OpenID Connect: in a real login over HTTP, and against everything that an issuer or an attacker could send back."""

import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from jwt.algorithms import RSAAlgorithm
from tests.server.world import Time

from adjourn.errors import Conflict, InvalidDefinition
from adjourn.server import OidcSettings, Serving, Users, serving
from adjourn.server.oidc import LoginAttempt, OidcClient
from adjourn.server.problem import Problem

ROOT = Path(__file__).parents[2]
ISSUER = "https://id.example.com"
ROLES = (("ops", "operator"), ("admins", "admin"), ("eu", "approver of agent:refunds where team=eu"))
BACK = "https://ops.example.com/login/callback"


class Issuer:
    """An issuer that signs whatever a test wants."""

    def __init__(self, key: rsa.RSAPrivateKey) -> None:
        self.key, self.kid = key, "one"
        self.attempt = LoginAttempt("s" * 43)
        self.claims: dict[str, Any] = {
            "iss": ISSUER, "aud": "adjourn", "sub": "42", "iat": time.time(), "exp": time.time() + 60,
            "nonce": self.attempt.derived("nonce"), "email": "ana@example.com", "groups": ["admins", "eu"],
        }  # fmt: skip
        self.discovery: dict[str, Any] = {
            "issuer": ISSUER, "authorization_endpoint": f"{ISSUER}/authorize", "token_endpoint": f"{ISSUER}/token",
            "jwks_uri": f"{ISSUER}/jwks",
        }  # fmt: skip
        self.asked: list[str] = []
        self.sent: dict[str, list[str]] = {}
        self.token = ""
        self.status = 200

    def answer(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request.url.path)
        if request.url.path.endswith("openid-configuration"):
            return httpx.Response(self.status, json=self.discovery)
        if request.url.path == "/jwks":
            public: dict[str, Any] = RSAAlgorithm.to_jwk(self.key.public_key(), as_dict=True)
            return httpx.Response(200, json={"keys": [{**public, "kid": self.kid, "alg": "RS256", "use": "sig"}]})
        self.sent = parse_qs(request.content.decode())
        return httpx.Response(200, json={"id_token": self.token or self.signed()})

    def signed(self, **options: Any) -> str:
        given: dict[str, Any] = {"key": self.key, "algorithm": "RS256", "headers": {"kid": self.kid}, **options}
        return jwt.encode(self.claims, **given)

    def client(self, **settings: Any) -> OidcClient:
        given = OidcSettings(ISSUER, "adjourn", roles=ROLES, **settings)
        self.clock = Time()
        return OidcClient(given, transport=httpx.MockTransport(self.answer), clock=self.clock)

    async def login(self, client: OidcClient | None = None, **query: str) -> Any:
        asked = {"code": "c", "state": self.attempt.derived("state"), **query}
        return await (client or self.client()).recognise(self.attempt, asked, BACK)


@pytest.fixture(scope="module")
def key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


@pytest.fixture
def issuer(key: rsa.RSAPrivateKey) -> Issuer:
    return Issuer(key)


async def test_who_the_issuer_knows_is_recognised_and_the_verifier_is_sent(issuer: Issuer) -> None:
    found = await issuer.login(issuer.client(client_secret="s3cret"))
    assert (found.subject, found.name, found.groups) == ("42", "ana@example.com", ("admins", "eu"))
    assert issuer.sent["code_verifier"] == [issuer.attempt.derived("verifier")]
    assert (issuer.sent["redirect_uri"], issuer.sent["client_secret"]) == ([BACK], ["s3cret"])


async def test_a_login_begins_with_state_nonce_and_challenge(issuer: Issuer) -> None:
    asked = parse_qs(urlsplit(await issuer.client().address(issuer.attempt, BACK)).query)
    assert asked["code_challenge_method"] == ["S256"]
    assert asked["code_challenge"] == [issuer.attempt.challenge] != [issuer.attempt.derived("verifier")]
    assert (asked["state"], asked["redirect_uri"]) == ([issuer.attempt.derived("state")], [BACK])
    assert len({asked["state"][0], asked["nonce"][0], asked["code_challenge"][0]}) == 3
    assert issuer.attempt.secret not in str(asked)


WRONG: dict[str, dict[str, Any]] = {
    "another issuer": {"iss": "https://evil.example.com"},
    "another audience": {"aud": "other"},
    "several audiences": {"aud": ["adjourn", "other"]},
    "another party": {"aud": ["adjourn", "other"], "azp": "other"},
    "over": {"exp": 1.0},
    "from the future": {"iat": 1e12, "nbf": 1e12},
    "another login": {"nonce": "x"},
    "no nonce": {"nonce": None},
    "no expiry": {"exp": None},
    "no subject": {"sub": None},
    "no name": {"email": None},
    "odd name": {"email": ["root"]},
    "unverified address": {"email_verified": False},
    "odd groups": {"groups": 7},
}


@pytest.mark.parametrize("what", WRONG)
async def test_a_token_that_is_not_for_this_login_is_refused(issuer: Issuer, what: str) -> None:
    issuer.claims |= WRONG[what]
    issuer.claims = {name: value for name, value in issuer.claims.items() if value is not None}
    with pytest.raises(Problem) as caught:
        await issuer.login()
    assert caught.value.status == 401


async def test_a_token_that_the_issuer_did_not_sign_is_refused(issuer: Issuer) -> None:
    other = ec.generate_private_key(ec.SECP256R1())
    for token in (
        issuer.signed(key="", algorithm="none"),
        issuer.signed(key="s3cret-s3cret-s3cret-s3cret-s3cret", algorithm="HS256"),
        issuer.signed(key=other, algorithm="ES256"),
        issuer.signed(headers={"kid": "two"}),
        issuer.signed() + "x",
        "not.a.token",
    ):
        issuer.token = token
        with pytest.raises(Problem) as caught:
            await issuer.login(issuer.client(client_secret="s3cret-s3cret-s3cret-s3cret-s3cret"))
        assert caught.value.status == 401


@pytest.mark.parametrize(
    "query",
    [{"state": "x"}, {"state": ""}, {"code": ""}, {"error": "access_denied"}, {"iss": "https://evil.example.com"}],
)
async def test_an_answer_that_is_not_of_this_login_is_refused(issuer: Issuer, query: dict[str, str]) -> None:
    with pytest.raises(Problem) as caught:
        await issuer.login(None, **query)
    assert caught.value.status == 401
    assert "/token" not in issuer.asked, "a code that nobody began is not used"


async def test_without_the_cookie_of_the_login_nothing_opens(issuer: Issuer) -> None:
    issuer.attempt = LoginAttempt("")
    with pytest.raises(Problem):
        await issuer.login()


async def test_a_new_key_of_the_issuer_is_asked_for_but_not_with_every_token(issuer: Issuer) -> None:
    client = issuer.client()
    await issuer.login(client)
    issuer.kid = "two"
    with pytest.raises(Problem):
        await issuer.login(client)
    assert issuer.asked.count("/jwks") == 1
    issuer.clock.at += 31
    assert (await issuer.login(client)).subject == "42"
    await issuer.login(client)
    assert issuer.asked.count("/jwks") == 2


@pytest.mark.parametrize(
    "wrong",
    [{"issuer": "https://evil.example.com"}, {"token_endpoint": "http://id.example.com/token"}, {"jwks_uri": None}],
)
async def test_an_issuer_that_says_something_odd_of_itself_is_not_used(issuer: Issuer, wrong: dict[str, Any]) -> None:
    issuer.discovery |= wrong
    with pytest.raises(Problem) as caught:
        await issuer.login()
    assert caught.value.status == 502


async def test_an_issuer_that_is_away_lets_nobody_in(issuer: Issuer) -> None:
    issuer.status = 503
    with pytest.raises(Problem) as caught:
        await issuer.login()
    assert caught.value.status == 502


@pytest.mark.parametrize(
    "wrong",
    [
        {"issuer": "http://id.example.com"}, {"issuer": "id.example.com"}, {"client_id": ""}, {"roles": ()},
        {"roles": (("", "admin"),)},
    ],
)  # fmt: skip
def test_settings_that_cannot_be_safe_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidDefinition):
        given: dict[str, Any] = {"issuer": ISSUER, "client_id": "adjourn", "roles": ROLES}
        OidcSettings(**given | wrong)


def test_groups_become_a_role_and_grants() -> None:
    settings = OidcSettings(ISSUER, "adjourn", roles=ROLES)
    assert settings.rights(["admins", "ops"]) == ("operator", ()), "the first that fits, as they are written"
    assert settings.rights(["eu"]) == ("none", ("approver of agent:refunds where team=eu",))
    assert settings.rights(["others"]) is None
    assert settings.rights([]) is None


def test_a_name_of_somebody_else_is_not_taken_over() -> None:
    users = Users()
    users.add("root", "admin")
    with pytest.raises(Conflict, match="is another person"):
        users.recognised((ISSUER, "42"), "root", "admin", (), ())
    name, opens = users.recognised((ISSUER, "42"), "ana", "admin", ("leads",), ())
    cookie = users.open_session(name, opened_by=opens)
    with pytest.raises(Conflict):
        users.recognised((ISSUER, "43"), "Ana", "admin", (), ())
    assert users.recognised((ISSUER, "42"), "renamed", "viewer", (), ())[0] == "ana", "the issuer's own name counts"
    found = users.get("ana")
    assert found is not None and (found.role, found.groups) == ("viewer", ())
    assert users.session(cookie) == "ana"
    [key] = users.keys("ana")
    users.revoke(key.id)
    assert users.session(cookie) is None
    users.close()


# A real login


@pytest.fixture(scope="module")
def provider() -> Iterator[str]:
    """A real issuer on this machine."""
    command = [sys.executable, "-W", "ignore", "-m", "tests.server.issuer_process"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=ROOT, text=True
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        port = process.stdout.readline().strip()
        assert port, "the issuer did not start"
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            process.stdin.close()


@pytest.fixture
async def server(provider: str) -> AsyncIterator[Serving]:
    settings = OidcSettings(provider, "adjourn", client_secret="s3cret", roles=ROLES)
    async with serving("memory://", port=0, users=Users(), oidc=settings) as up:
        yield up


async def come_back(browser: httpx.AsyncClient, server: Serving, sub: str) -> httpx.Response:
    """Begin a login, agree at the issuer, and come back with what it says."""
    begun = await browser.get(f"{server.url}/login")
    assert begun.status_code == 303
    agreed = await browser.post(begun.headers["location"], data={"sub": sub})
    return await browser.get(
        agreed.headers["location"], headers={"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Dest": "document"}
    )


async def test_a_real_login_opens_a_session_with_the_groups_rights(server: Serving) -> None:
    async with httpx.AsyncClient(trust_env=False, timeout=60) as browser:
        assert (await browser.get(f"{server.url}/login/options")).json() == {"oidc": True}
        back = await come_back(browser, server, "ana")
        assert (back.status_code, back.headers["location"]) == (303, f"{server.url}/"), back.text
        me = (await browser.get(f"{server.url}/api/v1/me")).json()
        assert (me["name"], me["role"], me["groups"], me["link"]) == (
            "ana@example.com",
            "admin",
            ["admins", "leads"],
            False,
        )
        first = browser.cookies[server.guard.cookie]
        await come_back(browser, server, "ana")
        assert browser.cookies[server.guard.cookie] != first
        assert server.guard.users.session(first) is None, "a session from before the login ends"
        ended = await browser.post(
            f"{server.url}/api/v1/session/end", headers={"X-CSRF-Token": await csrf(browser, server)}
        )
        assert ended.status_code == 200
        assert (await browser.get(f"{server.url}/api/v1/me")).status_code == 401
        out = await browser.get(f"{server.url}/login/end")
        assert out.headers["location"].startswith(server.guard.oidc.settings.issuer if server.guard.oidc else "?")


async def csrf(browser: httpx.AsyncClient, server: Serving) -> str:
    return (await browser.get(f"{server.url}/api/v1/me")).json()["csrf"]


async def test_who_is_in_no_group_with_a_role_stays_outside(server: Serving) -> None:
    async with httpx.AsyncClient(trust_env=False, timeout=60) as browser:
        back = await come_back(browser, server, "eve")
        assert (back.status_code, back.json()["code"]) == (403, "no_role"), back.text
        assert server.guard.cookie not in browser.cookies
        assert server.guard.users.all() == []


async def test_a_code_that_another_browser_began_opens_nothing(server: Serving) -> None:
    async with httpx.AsyncClient(trust_env=False) as one, httpx.AsyncClient(trust_env=False) as two:
        begun = await one.get(f"{server.url}/login")
        agreed = await one.post(begun.headers["location"], data={"sub": "ana"})
        await two.get(f"{server.url}/login")
        for browser in (two, httpx.AsyncClient(trust_env=False)):
            stolen = await browser.get(agreed.headers["location"])
            assert (stolen.status_code, stolen.json()["code"]) == (401, "login_refused")
            assert server.guard.cookie not in browser.cookies
            await browser.aclose()


async def test_no_parameter_says_where_a_browser_goes(server: Serving) -> None:
    async with httpx.AsyncClient(trust_env=False) as browser:
        for path in ("login?next=https://evil.example.com", "login/end?back=https://evil.example.com"):
            answer = await browser.get(f"{server.url}/{path}")
            assert "evil" not in answer.headers["location"]
        assert (await browser.get(f"{server.url}/login", headers={"Host": "evil.example.com"})).status_code == 403
        assert (await browser.post(f"{server.url}/login")).status_code == 405
        assert (await browser.get(f"{server.url}/login/else")).status_code == 404


async def test_without_an_issuer_there_is_nothing_to_log_in_with() -> None:
    async with serving("memory://", port=0, users=Users()) as up, httpx.AsyncClient(trust_env=False) as browser:
        assert (await browser.get(f"{up.url}/login/options")).json() == {"oidc": False}
        for path in ("login", "login/callback", "login/end"):
            assert (await browser.get(f"{up.url}/{path}")).status_code == 404
