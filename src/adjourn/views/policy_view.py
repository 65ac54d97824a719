"""Which rules exist, and how often each asked: what the definitions and the audit say, and no
more."""

from collections.abc import AsyncIterator, Iterable, Mapping
from typing import Any, Literal

import msgspec

from adjourn.core.policy import DEFAULT
from adjourn.core.record_codec import readable
from adjourn.core.records import Asked
from adjourn.stores.audit import AuditFilter, FoundLine
from adjourn.stores.protocol import Filter, Store
from adjourn.views.audit_entry import AuditEntry

MOST = 5_000
"""Decisions that are counted, the newest first: a look has an end, however many there are."""
PAGE = 500
PERIOD = 30 * 86_400.0
"""Seconds that are looked back, where nothing else is said."""
OTHERWISE = "default "
"""How the last line of a policy begins: what is done where no rule matches."""
COUNTED = {"approve": "approved", "deny": "denied", "instead": "answered"}
"""Under which word a verdict on an approval is counted."""


class RuleUse(msgspec.Struct, frozen=True, kw_only=True):
    """A rule of an agent, and what came of its questions. `is_defined`: the agent that is known
    here has it now; another version of it had it otherwise. `asked` is the sum of those from
    `approved` to `open`, which wait at this moment. `stood`: calls that a standing decision
    answered; no one was asked. `verdict` and `matches` are the rule in parts: what it says, and of
    what; empty: of whatever no other rule is about.
    """

    agent: str
    rule: str
    verdict: Literal["allow", "ask", "deny"]
    matches: str
    is_defined: bool
    asked: int
    approved: int
    denied: int
    answered: int
    expired: int
    open: int
    stood: int


def parts_of(rule: str) -> tuple[Literal["allow", "ask", "deny"], str]:
    """What a rule says, and of what; it may be one of an older version, which began otherwise.

    Args:
        rule: as it is written.
    """
    text = rule.removeprefix(OTHERWISE)
    verdict, _, matches = text.partition(" ")
    if verdict not in ("allow", "ask", "deny"):
        return "ask", rule
    if text != rule:
        matches = ""
    return verdict, matches


class PolicyView(msgspec.Struct, frozen=True, kw_only=True):
    """The rules, by agent. Counted are decisions and expiries since `since`; `complete` False:
    only the newest of them. What a rule allowed or denied by itself is in no audit, and not
    counted."""

    rules: tuple[RuleUse, ...]
    since: float
    counted: int
    complete: bool


def rules_of(programs: Mapping[str, Any]) -> dict[str, list[str]]:
    """The rules of agents by their names, as each says it, and those of their tools.

    Args:
        programs: the agents and flows, by name.
    """
    found: dict[str, list[str]] = {}
    for name, program in programs.items():
        found[name] = list(program.fingerprint.get("policy", ()))
        tools = getattr(program, "tools", {})
        for tool in tools.values():
            if tool.rule is not None and tool.rule.text not in found[name]:
                found[name].append(tool.rule.text)
    return found


async def policies(store: Store, defined: Mapping[str, Iterable[str]], since: float) -> PolicyView:
    """The rules that are defined, and those that asked since a time.

    Args:
        store: where the audit is.
        defined: the rules of agents that are known here, see `rules_of`.
        since: in seconds since 1970.
    """
    counts = _Counts(defined)
    seen: set[tuple[str, str]] = set()
    counted = 0
    async for line in _decisions(store, since):
        counted += 1
        item = (line.scope, str(line.entry.get("interrupt", "")))
        ended = line.is_decided or line.entry["verb"] == "expire"
        if line.entry.get("under"):
            counts.take(line)
        elif ended and item not in seen:  # the newest line about an item says how it ended
            seen.add(item)
            counts.take(line)
    await counts.take_open(store)
    return PolicyView(rules=counts.uses(), since=since, counted=len(seen), complete=counted < MOST)


async def _decisions(store: Store, since: float) -> AsyncIterator[FoundLine]:
    """The lines about decisions and expiries, the newest of each first; at most `MOST` of each."""
    for verb in ("answer", "expire"):
        wanted = AuditFilter(verb=verb, since=since, refused=False)
        before, left = "", MOST
        while left > 0:
            lines = await store.recent(before, PAGE, wanted=wanted)
            for line in lines[:left]:
                yield line
            left -= len(lines)
            if len(lines) < PAGE:
                break
            before = AuditEntry.of(lines[-1]).cursor


class _Counts:
    """How often each rule asked, by agent and rule."""

    def __init__(self, defined: Mapping[str, Iterable[str]]) -> None:
        self._defined = {(agent, DEFAULT) for agent in defined}
        self._found: dict[tuple[str, str], dict[str, int]] = {}
        for agent, rules in defined.items():
            for rule in rules:
                self._defined.add((agent, rule))
                self._found[agent, rule] = {}

    def take(self, line: FoundLine) -> None:
        """Count what came of an approval; other interrupts have no rule."""
        opening = readable(line.opening)
        if not isinstance(opening, Asked) or opening.kind != "approval":
            return
        entry = line.entry
        word = "expired"
        if entry.get("under"):
            word = "stood"
        elif entry["verb"] != "expire":
            word = COUNTED.get(str(entry.get("verdict", "")), "answered")
        for rule in opening.rules:
            self._count(line.program, rule, word)

    async def take_open(self, store: Store) -> None:
        """Count what waits now."""
        for item in await store.inbox(Filter(kind="approval", limit=1000)):
            if item.call is None:
                continue
            agent = (await store.get(item.run_id)).program
            said = f", {item.call.rule}, "
            for rule in self._known(agent, said) or [item.call.rule]:
                self._count(agent, rule, "open")

    def _known(self, agent: str, said: str) -> list[str]:
        """The rules of an agent that are among those that asked."""
        own = [rule for name, rule in self._found if name == agent]
        return [rule for rule in own if f", {rule}, " in said]

    def _count(self, agent: str, rule: str, word: str) -> None:
        counts = self._found.setdefault((agent, rule), {})
        counts[word] = counts.get(word, 0) + 1

    def uses(self) -> tuple[RuleUse, ...]:
        """The rules, by agent, those that asked most first."""
        found: list[RuleUse] = []
        for (agent, rule), counts in self._found.items():
            verdict, matches = parts_of(rule)
            words = ("approved", "denied", "answered", "expired", "open")
            each = {word: counts.get(word, 0) for word in words}
            found.append(
                RuleUse(
                    agent=agent,
                    rule=rule,
                    verdict=verdict,
                    matches=matches,
                    is_defined=(agent, rule) in self._defined,
                    asked=sum(each.values()),
                    stood=counts.get("stood", 0),
                    **each,
                )
            )
        return tuple(sorted(found, key=lambda use: (use.agent, -use.asked, use.rule)))
