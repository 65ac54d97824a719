"""Ready conditions: what is plainly inside is inside, what is plainly outside is outside, and everything else is not run."""

from datetime import date
from enum import Enum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjourn import (
    InvalidDefinition,
    Policy,
    Verdict,
    allow,
    ask,
    deny,
    email_in,
    eq,
    ge,
    gt,
    host_in,
    le,
    lt,
    matches,
    ne,
    one_of,
    path_under,
    under,
)
from adjourn.core.argument_conditions import Condition
from adjourn.core.policy_rule import Rule

COMPANY = email_in("example.com")
SITES = host_in("example.com", "*.example.org", ".example.net", "api.example.com:8443", "127.0.0.1", "[::1]:8080")
PUBLIC = path_under("/srv/public")


def judge(condition: Condition, value: Any) -> dict[str, Verdict]:
    """What each kind of rule makes of a value, where nothing else is said."""

    def verdict(rule: Rule, default: Any) -> Verdict:
        return Policy([rule], default=default).judge("t", {"x": value}).verdict

    return {
        "allow": verdict(allow("t", when={"x": condition}), "deny"),
        "ask": verdict(ask("t", when={"x": condition}), "allow"),
        "deny": verdict(deny("t", when={"x": condition}), "allow"),
        "ask unless": verdict(ask("t", when={"x": ~condition}), "allow"),
    }


INSIDE = {"allow": Verdict.ALLOW, "ask": Verdict.ASK, "deny": Verdict.DENY, "ask unless": Verdict.ALLOW}
OUTSIDE = {"allow": Verdict.DENY, "ask": Verdict.ALLOW, "deny": Verdict.ALLOW, "ask unless": Verdict.ASK}
NOT_RUN = dict.fromkeys(INSIDE, Verdict.DENY)
"""Whatever the rule: nobody guesses."""


@pytest.mark.parametrize(
    ("condition", "value"),
    [
        (COMPANY, "ana@example.com"),
        (COMPANY, "ana.maria+news@EXAMPLE.com"),
        (COMPANY, "o'neil_1@example.com"),
        (email_in("*.example.com"), "ana@mail.example.com"),
        (email_in("*.example.com"), "ana@a.b.example.com"),
        (email_in(".example.com"), "ana@example.com"),
        (email_in(".example.com"), "ana@mail.example.com"),
        (email_in("xn--bcher-kva.example"), "ana@xn--bcher-kva.example"),
        (SITES, "https://example.com"),
        (SITES, "https://example.com/"),
        (SITES, "HTTPS://Example.COM/a?b=c#d"),
        (SITES, "http://example.com:80/x"),
        (SITES, "https://example.com:443/x"),
        (SITES, "wss://example.com/socket"),
        (SITES, "example.com"),
        (SITES, "https://www.example.org/"),
        (SITES, "https://a.b.example.org/"),
        (SITES, "https://example.net"),
        (SITES, "https://www.example.net"),
        (SITES, "https://api.example.com:8443/v1"),
        (SITES, "api.example.com:8443"),
        (SITES, "http://127.0.0.1/"),
        (SITES, "http://[::1]:8080/"),
        (SITES, "http://[0:0:0:0:0:0:0:1]:8080/"),
        (SITES, "https://example.com/~ana@home/a:b"),
        (host_in("example.com:443"), "https://example.com/"),
        (PUBLIC, "/srv/public"),
        (PUBLIC, "/srv/public/a/b.txt"),
        (PUBLIC, "/srv/other/../public/ä.txt"),
        (PUBLIC, "//srv//public/./a"),
        (path_under("drafts"), "drafts/a"),
        (path_under("/"), "/anything"),
    ],
)
def test_what_is_inside_is_inside(condition: Condition, value: str) -> None:
    assert judge(condition, value) == INSIDE


@pytest.mark.parametrize(
    ("condition", "value"),
    [
        (COMPANY, "ana@mail.example.com"),
        (COMPANY, "ana@example.com.evil.net"),
        (COMPANY, "ana@notexample.com"),
        (COMPANY, "ana@example.co"),
        (COMPANY, "example.com@evil.net"),
        (COMPANY, "ana@xn--exmple-cua.com"),
        (email_in("*.example.com"), "ana@example.com"),
        (email_in("*.example.com"), "ana@evilexample.com"),
        (SITES, "https://www.example.com/"),
        (SITES, "https://example.com.evil.net/"),
        (SITES, "https://evil.net/example.com"),
        (SITES, "https://evil.net/?u=https://example.com"),
        (SITES, "https://evil.net:8443/"),
        (SITES, "https://example.org/"),
        (SITES, "https://evilexample.net/"),
        (SITES, "http://127.0.0.2/"),
        (SITES, "http://[::2]/"),
        (SITES, "xn--exmple-cua.com"),
        (PUBLIC, "/srv/public2/a"),
        (PUBLIC, "/srv/public/../secret"),
        (PUBLIC, "/etc/passwd"),
        (PUBLIC, "/srv"),
        (PUBLIC, "/"),
        (path_under("drafts"), "draftsX/a"),
    ],
)
def test_what_is_outside_is_outside(condition: Condition, value: str) -> None:
    assert judge(condition, value) == OUTSIDE


HOSTILE_ADDRESSES = [
    "", "ana", "@example.com", "ana@", "ana@@example.com", "ana@evil.net@example.com", "ana@example.com\n", "\nana@example.com",
    "ana@example.com\r\nBcc: eve@evil.net", "ana@example.com,eve@evil.net", "ana@example.com;eve@evil.net", "ana@example.com ",
    " ana@example.com", "ana @example.com", "Ana <ana@example.com>", "<ana@example.com>", '"ana eve@evil.net,"@example.com',
    "(comment)ana@example.com", "ana@example.com(evil.net)", "ana@example.com.", "ana@.example.com", "ana@example..com",
    "eve%evil.net@example.com", "evil.net!eve@example.com", ".ana@example.com", "ana.@example.com", "an..a@example.com",
    "-oQ/tmp@example.com", "ana@[127.0.0.1]", "ana@127.1", "ana@exam\u0440le.com", "ana@ｅｘａｍｐｌｅ.com", "ana@example。com",
    "ana@examp\u200ble.com", "ana@example.com\u2028", "ana@ex\u00adample.com", "ana@example.com\x00", "ana@example.com/evil.net",
    "ana@example.com:25", "mailto:ana@example.com", "a" * 300 + "@example.com", "аna@example.com", "ana@-example.com",
]  # fmt: skip
HOSTILE_URLS = [
    "", " ", "https://", "https:///example.com", "https:/example.com", "https:example.com", "//example.com", "/example.com",
    "https://example.com@evil.net/", "https://example.com:443@evil.net", "https://evil.net@example.com/", "https://@example.com/",
    "https://example.com\\@evil.net", "https://evil.net\\.example.com", "https:\\\\example.com", "https://example.com#@evil.net/",
    "https://example.com?@evil.net/", "https://example.com.", "https://example.com./", "https://example..com", "https://.example.com",
    "https://exam\tple.com", "https://example.com\n", "\nhttps://example.com", " https://example.com", "https://example.com /",
    "https://example.com\x00.evil.net", "https://example.com%00.evil.net", "https://example%2ecom", "https://ex%61mple.com",
    "https://ｅｘａｍｐｌｅ.com", "https://example。com", "https://exam\u0440le.com", "https://example.com／@evil.net", "https://ⓔxample.com",
    "https://examp\u200ble.com", "https://example.com:", "https://example.com:0", "https://example.com:99999", "https://example.com:80a",
    "https://example.com:8080/", "https://api.example.com/", "http://127.1/", "http://2130706433/", "http://0x7f.1/", "http://0177.0.0.1/",
    "http://127.0.0.1.:80/", "http://[::ffff:127.0.0.1]/", "http://[::1%eth0]:8080/", "http://[::1/", "http://::1/", "http://[::1]/",
    "ftp://example.com/", "file:///etc/passwd", "javascript:alert(1)", "data:text/html,x", "git@example.com:a/b", "example.com/path",
    "example.com?x", "example.com:", "user@example.com", "https://-example.com",
    "https://" + "a" * 300, "https://example.com/" + "a" * 9_000,
]  # fmt: skip
HOSTILE_PATHS = [
    "public/a", "./a", "../srv/public", "..", "", "~/a", "~root/a", "C:/srv/public", "c:a", "\\srv\\public", "/srv/public\\..\\..\\etc",
    "/srv/public/a\x00.txt", "/srv/public/a\nb", "/srv/public/%2e%2e/etc", "/srv/public/..%2Fetc", "/srv/public/..%5cetc",
    "/srv/public/．．/etc",
    "/srv/public／..／etc", "/srv/public/‥/etc", "/SRV/Public/a", "/srv/Public", "file:///srv/public/a", "/srv/public/" + "a" * 5_000,
    "/ſrv/public/a",
]  # fmt: skip


NO_STRINGS: list[Any] = [None, 5, True, [], ["ana@example.com"], {}]


@pytest.mark.parametrize(
    ("condition", "value"),
    [
        *((COMPANY, value) for value in HOSTILE_ADDRESSES),
        *((SITES, value) for value in HOSTILE_URLS),
        *((PUBLIC, value) for value in HOSTILE_PATHS),
        *((condition, value) for condition in (COMPANY, SITES, PUBLIC) for value in NO_STRINGS),
        (path_under("drafts"), "/srv/drafts/a"),
        (path_under("drafts"), "../here/drafts/a"),
        (path_under("drafts"), "Drafts/a"),
    ],
)
def test_what_is_not_plain_is_not_run_whatever_the_rule(condition: Condition, value: Any) -> None:
    assert judge(condition, value) == NOT_RUN


CHARACTERS = st.text(st.characters(exclude_categories=("Cs",)), max_size=40)


@given(CHARACTERS, CHARACTERS, st.sampled_from(["", "\n", "\r\n", "\x00", " ", "@", ".", "\\", "%", "\u3002"]))
def test_no_text_is_taken_for_an_address_of_the_company_that_does_not_end_with_its_name(
    before: str, after: str, between: str
) -> None:
    text = f"{before}{between}{after}"
    if judge(COMPANY, text) == INSIDE:
        assert text.lower().endswith("@example.com")
        assert text.count("@") == 1
        assert text.isascii()
        assert text.isprintable()


@given(CHARACTERS, CHARACTERS)
def test_no_url_is_taken_for_a_site_unless_its_host_is_one(before: str, after: str) -> None:
    for text in (
        f"https://{before}example.com{after}",
        f"{before}://example.com{after}",
        f"https://example.com{before}/{after}",
    ):
        if judge(host_in("example.com"), text) == INSIDE:
            _, _, rest = text.lower().partition("://")
            assert rest.startswith("example.com")
            assert rest.removeprefix("example.com")[:1] in ("", "/", "?", "#", ":")


# Patterns


@pytest.mark.parametrize(
    ("pattern", "value"),
    [
        (r"rm .*", "rm -rf /\n"),
        (r"rm .*", "rm \n-rf /"),
        (r".*@evil\.com", "\neve@evil.com"),
        (r".*", "\n\r\u2028"),
        (r"a|b", "b"),
        (r"(?i)drop table .*", "DROP TABLE x"),
        (r"(?x) a  b", "ab"),
    ],
)
def test_a_pattern_is_about_the_whole_string_line_feeds_included(pattern: str, value: str) -> None:
    assert judge(matches(pattern), value) == INSIDE


@pytest.mark.parametrize(
    ("pattern", "value"),
    [(r"a|b", "ab"), (r"a$", "a\n"), (r"^a", "\na"), (r"\d+", "1 "), (r"[a-z]+@corp\.com", "eve@corp.com\n"), ("", "\n")],
)  # fmt: skip
def test_a_pattern_is_about_nothing_but_the_whole_string(pattern: str, value: str) -> None:
    assert judge(matches(pattern), value) == OUTSIDE


# Values


class Color(Enum):
    RED = "red"


def test_values_are_compared_as_the_json_that_an_argument_is() -> None:
    assert judge(eq(Color.RED), "red") == INSIDE
    assert judge(eq(date(2026, 1, 2)), "2026-01-02") == INSIDE
    assert judge(one_of((1, 2), [3]), [1, 2]) == INSIDE
    assert judge(eq({"a": [1]}), {"a": [True]}) == OUTSIDE
    assert judge(ne([1]), [1.0]) == OUTSIDE


def test_not_is_not_and_not_not_is_the_condition_again() -> None:
    assert (~gt(5)).text == "not > 5"
    assert judge(~~gt(5), 6) == INSIDE
    assert (~~gt(5)) == gt(5)
    assert judge(~gt(5), "six") == NOT_RUN


def test_under_is_path_under() -> None:
    assert under is path_under
    assert path_under("/srv").text == "under '/srv'"


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: matches(r".*@(?!example\.com$).*"), "look-around.*email_in"),
        (lambda: matches(r"(a)\1"), "backreferences are not supported"),
        (lambda: matches("(?<=a)b"), "look-around"),
        (lambda: matches("("), "unclosed group"),
        (lambda: matches("a)|(?:b"), "unopened group"),
        (lambda: matches(r"(?x)a # b"), "unclosed group"),
        (lambda: matches("a" * 2_000), "2,000 characters"),
        (lambda: matches("((a{100}){100}){100}"), "too large"),
        (lambda: matches(5), "a string, not 5"),  # pyright: ignore[reportArgumentType]
        (lambda: email_in(), "at least one name"),
        (lambda: email_in("ana@example.com"), "not a plain host"),
        (lambda: email_in("example.com:25"), "not a plain host"),
        (lambda: email_in("bücher.example"), "xn--"),
        (lambda: host_in("https://example.com"), "must be a host, not a URL"),
        (lambda: host_in("*"), "not a plain host"),
        (lambda: host_in("example.*"), "not a plain host"),
        (lambda: host_in("*.*.com"), "not a plain host"),
        (lambda: host_in("example.com."), "not a plain host"),
        (lambda: host_in("127.1"), "127"),
        (lambda: host_in(5), "int, not a string"),  # pyright: ignore[reportArgumentType]
        (lambda: path_under(""), "a folder"),
        (lambda: path_under("~/drafts"), "not a plain path"),
        (lambda: path_under(None), "a folder"),  # pyright: ignore[reportArgumentType]
        (lambda: gt(None), "a number or a string"),  # pyright: ignore[reportArgumentType]
        (lambda: ge(True), "a number or a string"),
        (lambda: lt(float("nan")), "a number or a string"),
        (lambda: le(float("inf")), "a number or a string"),
        (lambda: gt(date(2026, 1, 1)), "a number or a string"),  # pyright: ignore[reportArgumentType]
        (lambda: eq(float("nan")), "arguments are JSON"),
        (lambda: one_of(1, print), "arguments are JSON"),
        (lambda: ne(object()), "arguments are JSON"),
    ],
)
def test_a_condition_that_could_never_work_is_refused_when_it_is_made(make: Any, says: str) -> None:
    with pytest.raises(InvalidDefinition, match=says):
        make()
