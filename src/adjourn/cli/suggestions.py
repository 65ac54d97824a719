"""Words that are like one that does not exist: what the person may have meant."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from adjourn.errors import Invalid
from adjourn.stores.audit import AuditFilter
from adjourn.views.audit_words import ACTS

if TYPE_CHECKING:
    from adjourn.runtime.runtime import Runtime

MOST = 3
NEWEST = 1000
"""Runs, and lines of the audit, whose names are known."""
LISTED = 20
"""Names that are listed where none is like the one that was given."""
NAMED = {
    "by": "line of the person",
    "verb": "verb",
    "agent": "line of the agent or flow",
    "tool": "line of the tool",
}
"""What a line of the audit is looked for by, and how a name that none has is called."""


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
    more = " and more" if len(names) > LISTED else ""
    return f"there are: {', '.join(names[:LISTED]) or 'none'}{more}"


async def check_runs_of(
    rt: "Runtime", agent: str = "", session: str = "", label: tuple[str, str] | None = None
) -> None:
    """Raise `Invalid` for a name that no run has: a list that is empty for it was mistyped.

    Args:
        rt: where the runs are.
        agent, session, label: as those of `Runtime.runs`.
    """
    if agent and not await rt.runs(agent=agent, limit=1):
        newest = await rt.runs(limit=NEWEST)
        check_known(agent, sorted({run.agent for run in newest}), "agent or flow")
    if session and not await rt.runs(session=session, limit=1):
        newest = await rt.runs(limit=NEWEST)
        check_known(session, sorted({run.session for run in newest if run.session}), "session")
    if label and not await rt.runs(label=label, limit=1):
        newest = await rt.runs(limit=NEWEST)
        pairs = {"=".join(pair) for run in newest for pair in run.labels.items()}
        check_known("=".join(label), sorted(pairs), "label")


async def check_lines_of(rt: "Runtime", wanted: AuditFilter, *, security: bool) -> None:
    """Raise `Invalid` for a name that no line of the audit has.

    Args:
        rt: where the audit is.
        wanted: what the lines had to fulfil of which there is none.
        security: whether they are those of the security log.
    """

    async def names(field: str) -> list[str]:
        """Those of the newest lines."""
        newest = await rt.store.recent("", NEWEST, security=security)
        return sorted({str(line.entry.get(field, "")) for line in newest} - {""})

    for field, what in NAMED.items():
        given = getattr(wanted, field)
        alone = AuditFilter(**{field: given})
        if not given or await rt.store.recent("", 1, security=security, wanted=alone):
            continue
        if field == "verb":
            check_known(given, ACTS, what)
        else:
            check_known(given, await names(field), what)


def check_known(given: str, known: Iterable[str], what: str) -> None:
    """Raise `Invalid` if `given` is none of `known`, naming those that are like it.

    Args:
        given: what the person typed; nothing is always known.
        known: the names that exist.
        what: what kind of name it is, for example "kind".
    """
    names = list(known)
    if given and given not in names:
        raise Invalid(f"{what} {given!r} not found", advice=advice(given, names))
