"""Words that are like one that does not exist: what the person may have meant."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from adjourn.errors import Invalid

if TYPE_CHECKING:
    from adjourn.runtime.runtime import Runtime

MOST = 3
NEWEST = 1000
"""Runs whose agents and flows are known."""
LISTED = 20
"""Names that are listed where none is like the one that was given."""


def near(given: str, known: Iterable[str]) -> list[str]:
    """At most three of `known` that are like `given`, the likest first."""
    from difflib import get_close_matches

    by_text: dict[str, str] = {}
    for name in known:
        by_text.setdefault(name.casefold(), name)
    found = get_close_matches(given.casefold(), by_text, n=MOST, cutoff=0.6)
    return [by_text[text] for text in found]


def meant(given: str, known: Iterable[str]) -> str:
    """` Did you mean 'runs'?`, with the names that are like `given`; nothing where there are
    none."""
    found = near(given, known)
    if not found:
        return ""
    return f" Did you mean {' or '.join(map(repr, found))}?"


def advice(given: str, known: Iterable[str]) -> str:
    """The same as the advice of an error; where nothing is like it, the names that exist."""
    names = list(known)
    said = meant(given, names).strip()
    if said:
        return said[:1].lower() + said[1:]
    if len(names) > LISTED:
        more = " and more"
    else:
        more = ""
    return f"there are: {', '.join(names[:LISTED]) or 'none'}{more}"


async def agents_of(rt: "Runtime") -> list[str]:
    """The agents and flows that the newest runs are of."""
    return sorted({run.agent for run in await rt.runs(limit=NEWEST)})


def check_known(given: str, known: Iterable[str], what: str) -> None:
    """Raise `Invalid` if `given` is none of `known`, naming those that are like it.

    Args:
        given: what the person typed; nothing is always known.
        known: the names that exist.
        what: what kind of name it is, for example "kind".
    """
    names = list(known)
    if given and given not in names:
        raise Invalid(f"there is no {what} {given!r}", advice=advice(given, names))
