"""Conditions: tests of one argument, for the `when=` of a rule.

A condition is true, false, or raises: it was asked about something that it cannot judge. Then the
call is not executed, whatever the rule would have said. So a ready condition never guesses: what is
not plainly an address, a host or a path raises.
"""

import posixpath
import re
from collections.abc import Callable, Iterable
from typing import Any, Literal

import msgspec

from adjourn.core.codec import is_equal, is_finite, plain
from adjourn.core.pattern import InvalidPattern, whole
from adjourn.errors import InvalidDefinition, NotJSON


class Condition(msgspec.Struct, frozen=True, eq=False):
    """A test of one argument; made by `eq`, `gt`, `one_of`, … `~condition` is true where it is
    false."""

    operator: str
    operand: Any
    test: Callable[[Any], bool]

    @property
    def text(self) -> str:
        """The condition as people read it."""
        return f"{self.operator} {self.operand!r}"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Condition):
            return NotImplemented
        return (self.operator, self.operand) == (other.operator, other.operand)

    def __hash__(self) -> int:
        return hash((self.operator, self.operand))

    def __repr__(self) -> str:
        return f"Condition(operator={self.operator!r}, operand={self.operand!r})"

    def __invert__(self) -> "Condition":
        test = self.test
        if self.operator.startswith("not "):
            return Condition(
                self.operator.removeprefix("not "), self.operand, lambda x: not test(x)
            )
        return Condition(f"not {self.operator}", self.operand, lambda x: not test(x))


def condition(value: Any) -> Condition:
    """What stands in `when=`: a condition, or a value that means `eq`."""
    if isinstance(value, Condition):
        return value
    return eq(value)


# Values


def eq(value: Any) -> Condition:
    """Equal as JSON: `eq(1)` is not true for `True`.

    `value`: plain data, or what pydantic turns into it (a date, an enum …), as the argument itself
        is shown.
    """
    wanted = _plain(value, "eq")
    return Condition("==", wanted, lambda x: is_equal(x, wanted))


def ne(value: Any) -> Condition:
    """Not equal as JSON to `value`."""
    wanted = _plain(value, "ne")
    return Condition("!=", wanted, lambda x: not is_equal(x, wanted))


def one_of(*values: Any) -> Condition:
    """Equal as JSON to one of the `values`."""
    wanted: list[Any] = _plain(values, "one_of")
    return Condition("in", wanted, lambda x: any(is_equal(x, value) for value in wanted))


def _plain(value: Any, name: str) -> Any:
    try:
        return plain(value, name)
    except NotJSON:
        raise InvalidDefinition(
            f"{name}({value!r:.80}): arguments are JSON, and this value is not",
            advice="compare with a string, a number, a list …",
        ) from None


# Order


def gt(value: float | str) -> Condition:
    """Greater than `value`, a number or a string."""
    limit = _limit(value, "gt")
    return Condition(">", limit, lambda x: _comparable(x, limit) > limit)


def ge(value: float | str) -> Condition:
    """Greater than or equal to `value`, a number or a string."""
    limit = _limit(value, "ge")
    return Condition(">=", limit, lambda x: _comparable(x, limit) >= limit)


def lt(value: float | str) -> Condition:
    """Less than `value`, a number or a string."""
    limit = _limit(value, "lt")
    return Condition("<", limit, lambda x: _comparable(x, limit) < limit)


def le(value: float | str) -> Condition:
    """Less than or equal to `value`, a number or a string."""
    limit = _limit(value, "le")
    return Condition("<=", limit, lambda x: _comparable(x, limit) <= limit)


def _limit(value: Any, name: str) -> Any:
    """Anything else would be compared as the text that it has in JSON, where "99.5" is greater than
    "100.5"."""
    if not is_finite(value) and not isinstance(value, str):
        raise InvalidDefinition(
            f"{name}(...) must be given a number or a string, got {value!r:.80}"
        )
    return value


def _comparable(value: Any, limit: Any) -> Any:
    if isinstance(limit, str):
        alike = isinstance(value, str)
    else:
        alike = isinstance(value, int | float) and not isinstance(value, bool)
    if not alike:
        raise TypeError(f"{value!r:.80} cannot be compared with {limit!r:.80}")
    return value


# Texts


def matches(pattern: str) -> Condition:
    """The whole string matches the regular expression; `.` is any character, line feeds included.

    `pattern`: matched in linear time, so it may not look around or back. Write what is allowed, not
        what is forbidden.
    """
    try:
        compiled = whole(pattern)
    except InvalidPattern as e:
        raise InvalidDefinition(
            f"matches({pattern!r:.80}): {e}. Patterns are matched in linear time, in the "
            "syntax of Rust's regex, without look-around and backreferences: use email_in, "
            "host_in or path_under, or ~matches(...) for 'not'"
        ) from None
    return Condition("matches", pattern, compiled.fits)


_LABEL = r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
_LOCAL_PART = r"[A-Za-z0-9_][A-Za-z0-9_+'=~-]*(?:\.[A-Za-z0-9_+'=~-]+)*"
_NUMBER = r"[0-9]+|0x[0-9a-f]*"
_SCHEME = r"(?i:[a-z][a-z0-9+.-]*:)"
_NAME_AND_PORT = r"[^:]+:[0-9]+"
_END_OF_HOST = r"[/?#]"
_PORTS = {"http": 80, "https": 443, "ws": 80, "wss": 443}
_HIDDEN = r"[\x00-\x20\x7f-\xa0\\\u2028\u2029]"
MAX_ADDRESS, MAX_URL, MAX_PATH = 254, 8_192, 4_096


def email_in(*domains: str) -> Condition:
    """One bare e-mail address of one of these domains.

    `domains`: `"example.com"` is that domain alone, `"*.example.com"` whatever is below it,
        `".example.com"` both.
    What is not one plain ASCII address (a display name, two addresses, quotes, a line feed, a
    look-alike) raises, so the call is not executed.
    """
    allowed = _hosts(domains, "email_in", ports=False)

    def inside(value: Any) -> bool:
        text = _ascii(value, "an e-mail address", MAX_ADDRESS)
        local, at, domain = text.rpartition("@")
        if not at or not re.fullmatch(_LOCAL_PART, local):
            raise ValueError(
                f"{text!r:.80} is not one bare e-mail address, such as ana@example.com"
            )
        return _is_listed(_host(domain), {None}, allowed)

    return Condition("email in", sorted(domains), inside)


def host_in(*hosts: str) -> Condition:
    """A URL (http, https, ws, wss) whose host is one of these, or the bare name of such a host.

    `hosts`: `"example.com"` is that host alone, `"*.example.com"` whatever is below it,
        `".example.com"` both;
    `"example.com:8443"` for another port than the scheme's own. What parsers read in different ways
    (a user name, backslashes, blanks, numbers that stand for addresses, letters outside of ASCII)
    raises, so the call is not executed.
    """
    allowed = _hosts(hosts, "host_in", ports=True)

    def inside(value: Any) -> bool:
        host, ports = _authority(value)
        return _is_listed(host, ports, allowed)

    return Condition("host in", sorted(hosts), inside)


def _hosts(given: tuple[str, ...], name: str, *, ports: bool) -> list[tuple[str, str, int | None]]:
    """(kind, host, port) of each entry; the kinds are "=", "*." and "."."""
    if not given:
        raise InvalidDefinition(
            f"{name}(...) needs at least one name, such as {name}('example.com')"
        )
    return [_entry(one, name, ports=ports) for one in given]


def _entry(given: Any, name: str, *, ports: bool) -> tuple[str, str, int | None]:
    kind, text, port = "=", given, None
    try:
        if not isinstance(given, str):
            raise ValueError(f"it is {type(given).__name__}, not a string")
        if given.startswith("*."):
            kind, text = "*.", given[2:]
        elif given.startswith("."):
            kind, text = ".", given[1:]
        if "://" in given:
            raise ValueError("must be a host, not a URL")
        if ports:
            text, port = _without_port(text)
        return kind, _host(text), port
    except ValueError as e:
        raise InvalidDefinition(
            f"{name}({given!r:.80}): {e}",
            advice="write 'example.com', '*.example.com' (whatever is below it) or '.example.com' "
            "(both), an international name as xn--…",
        ) from None


def _is_listed(
    host: str, ports: set[int | None], allowed: Iterable[tuple[str, str, int | None]]
) -> bool:
    """Whether the host is in the list; raises ValueError if it is, but with none of these ports."""
    listed: set[int | None] = set()
    for kind, name, port in allowed:
        exact = kind != "*." and host == name
        below = kind != "=" and host.endswith(f".{name}")
        if exact or below:
            listed.add(port)
    if listed and not listed & ports:
        raise ValueError(f"{host!r} is listed, but not with this port")
    return bool(listed)


def _authority(value: Any) -> tuple[str, set[int | None]]:
    """The host of a URL or of a bare name, and how its port may be listed: None stands for the
    scheme's own."""
    if not isinstance(value, str):
        raise TypeError(
            f"a URL is a string, not {type(value).__name__}; judge a list with a function"
        )
    if len(value) > MAX_URL or re.search(_HIDDEN, value):
        raise ValueError(
            f"{value!r:.80} has spaces, control characters or backslashes, or is longer than {MAX_URL:,}"
        )
    scheme, slashes, rest = value.partition("://")
    if not slashes:
        if re.match(_SCHEME, value) and not re.fullmatch(_NAME_AND_PORT, value):
            raise ValueError(f"{value!r:.80} is neither a URL with '://' nor the name of a host")
        host, port = _host_and_port(value)
        return host, {port}
    own = _PORTS.get(scheme.lower())
    if own is None:
        raise ValueError(f"{value!r:.80}: only http, https, ws and wss URLs are judged")
    if "@" in rest.partition("/")[0]:
        raise ValueError(f"{value!r:.80} has a user name, or an '@' before its path")
    host, port = _host_and_port(re.split(_END_OF_HOST, rest, maxsplit=1)[0])
    if port in (None, own):
        return host, {None, own}
    return host, {port}


def _host_and_port(text: str) -> tuple[str, int | None]:
    text, port = _without_port(text)
    return _host(text), port


def _without_port(text: str) -> tuple[str, int | None]:
    if text.endswith("]"):
        return text, None
    host, colon, digits = text.rpartition(":")
    if not colon:
        return text, None
    if not re.fullmatch(r"[1-9][0-9]{0,4}", digits) or int(digits) > 65_535:
        raise ValueError(f"{text!r:.80} has no port between 1 and 65535 after its colon")
    return host, int(digits)


def _host(text: str) -> str:
    """A host in the one form in which it is compared; raises ValueError for every other way to
    write one."""
    host = text.lower()
    if text.startswith("[") and text.endswith("]"):
        return f"[{_address(_no_zone(text[1:-1]), 6)}]"
    if not text.isascii() or len(text) > 253:
        raise ValueError(f"{text!r:.80} is not a plain ASCII host")
    labels = host.split(".")
    if not all(re.fullmatch(_LABEL, label) for label in labels):
        raise ValueError(f"{text!r:.80} is not a plain host")
    if re.fullmatch(_NUMBER, labels[-1]):
        return _address(host, 4)  # 127.1, 0x7f.1, 2130706433: not everybody reads them alike
    return host


def _address(text: str, version: Literal[4, 6]) -> str:
    from ipaddress import IPv4Address, IPv6Address

    try:
        return str(IPv4Address(text) if version == 4 else IPv6Address(text))
    except ValueError:
        raise ValueError(
            f"{text!r:.80} is not an address in its usual form, such as 127.0.0.1 or [::1]"
        ) from None


def _no_zone(text: str) -> str:
    address = text if text.isascii() else ""
    if "%" in address or "." in address:
        raise ValueError(f"{text!r:.80} is not a plain IPv6 address")
    return address


def _ascii(value: Any, what: str, longest: int) -> str:
    if not isinstance(value, str):
        raise TypeError(
            f"{what} is a string, not {type(value).__name__}; judge a list with a function"
        )
    if not value.isascii() or len(value) > longest:
        raise ValueError(
            f"{value!r:.80} is not {what} in plain ASCII of at most {longest} characters"
        )
    return value


# Paths

_ENCODED = r"(?i:%(?:2e|2f|5c|00))"
_DRIVE = r"[A-Za-z]:"
_UNPRINTED = r"[\x00-\x1f\x7f\\]"


def path_under(folder: str) -> Condition:
    """A path that is `folder` or lies in it, once `..` is taken out. Symbolic links are the tool's
    own business.

    `folder`: absolute or relative, with `/`. A path that cannot be compared with it (a relative one
        with an absolute
    folder, `~`, a backslash, an encoded or full-width `..`, another spelling of the same letters)
    raises, so the call is not executed.
    """
    if not isinstance(folder, str) or not folder:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidDefinition(
            f"path_under(...) needs a folder such as '/srv/public', got {folder!r:.80}"
        )
    try:
        root = _path(folder)
    except ValueError as e:
        raise InvalidDefinition(f"path_under({folder!r:.80}): {e}") from None

    def inside(value: Any) -> bool:
        path = _path(value)
        if path.startswith("/") != root.startswith("/") or (
            path.split("/")[0] == ".." and path != root
        ):
            raise ValueError(f"{value!r:.80} cannot be placed inside or outside of {folder!r}")
        found = _is_below(path, root)
        if not found and _is_below(_folded(path), _folded(root)):
            raise ValueError(
                f"{value!r:.80} differs from {folder!r} only in upper and lower case, and may "
                "be the same folder"
            )
        return found

    return Condition("under", folder, inside)


under = path_under
"""The shorter name of `path_under`."""


def _is_below(path: str, root: str) -> bool:
    return root in (path, ".") or path.startswith(root.rstrip("/") + "/")


def _folded(path: str) -> str:
    from unicodedata import normalize

    return normalize("NFKC", path).casefold()


def _looks_like_a_part(char: str) -> bool:
    """Whether it is another character than '.' or '/' that some systems read as one of the marks of
    a path."""
    return char not in "./" and not {".", "/", "\\"}.isdisjoint(_folded(char))


def _path(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(
            f"a path is a string, not {type(value).__name__}; judge a list with a function"
        )
    if len(value) > MAX_PATH:
        raise ValueError(f"a path of {len(value):,} characters; at most {MAX_PATH:,} are judged")
    if re.search(_UNPRINTED, value):
        raise ValueError(f"{value!r:.80} has a control character or a backslash")
    if (
        value.startswith("~")
        or re.match(_DRIVE, value)
        or "://" in value
        or re.search(_ENCODED, value)
    ):
        raise ValueError(f"{value!r:.80} is not a plain path")
    if not value.isascii() and any(map(_looks_like_a_part, value)):
        raise ValueError(f"{value!r:.80} has a character that only looks like '.' or '/'")
    normal = posixpath.normpath(value)
    # POSIX keeps two leading slashes
    if normal.startswith("/"):
        return "/" + normal.lstrip("/")
    return normal
