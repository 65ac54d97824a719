"""The formats of strings that answers are checked for, each in linear time. A format that is not
here is not checked."""

import re
from collections.abc import Callable, Mapping
from datetime import date, time
from ipaddress import IPv4Address, IPv6Address

LONGEST = 2_000
"""Characters of a string that has one of these formats."""
_CLOCK = r"\d\d:\d\d(:\d\d(\.\d{1,9})?)?"
_ZONE = r"([Zz]|[+-]\d\d:\d\d)?"
_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_TIME = re.compile(_CLOCK + _ZONE, re.ASCII)
_EMAIL = re.compile(
    r"[^\s@<>()\[\],;:\"\\]{1,64}@[^\s@<>()\[\],;:\"\\.]+(\.[^\s@<>()\[\],;:\"\\.]+)+"
)
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[!#-;=?-\[\]_a-z~%]+")
_UUID = re.compile(r"[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")
_LABEL = r"[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_HOST = re.compile(rf"(?=.{{1,253}}\Z){_LABEL}(\.{_LABEL})*")
_DAYS = r"(\d{1,9}Y)?(\d{1,9}M)?(\d{1,9}W)?(\d{1,9}D)?"
_HOURS = r"(T(?=\d)(\d{1,9}H)?(\d{1,9}M)?(\d{1,9}(\.\d{1,9})?S)?)?"
_DURATION = re.compile(rf"P(?=[\dT]){_DAYS}{_HOURS}", re.ASCII)


def _is_date(text: str) -> bool:
    if not _DATE.fullmatch(text):
        return False
    date.fromisoformat(text)
    return True


def _is_time(text: str) -> bool:
    if not _TIME.fullmatch(text):
        return False
    time.fromisoformat(text[:5])
    seconds = re.match(r"\d\d:\d\d:(\d\d)", text)
    zone = re.search(r"[+-](\d\d):(\d\d)$", text)
    if zone is not None and not (int(zone[1]) < 24 and int(zone[2]) < 60):
        return False
    return seconds is None or int(seconds[1]) < 60


def _is_moment(text: str) -> bool:
    return len(text) > 10 and text[10] in "Tt " and _is_date(text[:10]) and _is_time(text[11:])


def _is_ipv4(text: str) -> bool:
    IPv4Address(text)
    return True


def _is_ipv6(text: str) -> bool:
    IPv6Address(text)
    return "%" not in text


def _matches(pattern: re.Pattern[str]) -> Callable[[str], bool]:
    return lambda text: pattern.fullmatch(text) is not None


FORMATS: Mapping[str, tuple[Callable[[str], bool], str]] = {
    "date": (_is_date, "a date such as 2031-01-31"),
    "time": (_is_time, "a time such as 14:30"),
    "date-time": (_is_moment, "a date and a time such as 2031-01-31T14:30:00+01:00"),
    "duration": (_matches(_DURATION), "a length of time such as PT45M, 45 minutes"),
    "email": (_matches(_EMAIL), "an e-mail address such as ana@example.com"),
    "uri": (_matches(_URI), "an address such as https://example.com/page"),
    "uuid": (_matches(_UUID), "a UUID such as 123e4567-e89b-12d3-a456-426614174000"),
    "ipv4": (_is_ipv4, "an IPv4 address such as 192.0.2.1"),
    "ipv6": (_is_ipv6, "an IPv6 address such as 2001:db8::1"),
    "hostname": (_matches(_HOST), "a host name such as mail.example.com"),
}
"""By name: the check, and what fits in words."""


def format_problem(name: str, text: str) -> str:
    """What the string must be, in words; "" if it is, or if the format is not checked."""
    if name not in FORMATS:
        return ""
    fits, words = FORMATS[name]
    try:
        if len(text) <= LONGEST and fits(text):
            return ""
    except ValueError:
        pass
    return words
