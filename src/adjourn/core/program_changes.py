"""What a program was when a run started, by names and schemas; and what changed since."""

from collections.abc import Mapping, Set
from typing import Any

OPTIONAL = "?"
"""At the end of the name of an argument that may be left out."""


def changes(name: str, then: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """What a resumed run would trip over, each in words. Additions that cannot loosen anything are
    not changes."""
    if then == now:  # by far the most, each time that a run is taken
        return []
    found: list[str] = []
    old, new = then.get("name", name), now.get("name", name)
    kinds = (then.get("kind") == "flow", now.get("kind") == "flow")
    if kinds[0] != kinds[1]:
        return [
            (
                f"the run is of {'the flow' if kinds[0] else 'the agent'} {old!r}, and {new!r} "
                f"is {'a flow' if kinds[1] else 'an agent'}"
            )
        ]
    if old != new:
        found.append(f"the run is of {old!r}, not of {new!r}")
    if then.get("output", "") != now.get("output", ""):
        found.append("the output type is different")
    word = "chunk" if then.get("kind") == "flow" else "tool"
    extended = _extended(then.get("parameters", {}), now.get("parameters", {}))
    found += _tools(word, then.get("tools", {}), now.get("tools", {}), extended)
    found += _policy(then.get("policy", []), now.get("policy", []))
    found += _weaker(then.get("strictness", {}), now.get("strictness", {}))
    for hook in then.get("hooks", []):
        if hook not in now.get("hooks", []):
            found.append(f"hook «{hook}» was removed")
    kept = now.get("toolsets", [])
    for toolset in then.get("toolsets", []):
        if toolset not in kept:
            found.append(f"the toolset {toolset!r} is gone")
    for child, fingerprint in then.get("agents", {}).items():
        if child in now.get("agents", {}):
            found += [
                f"agent {child!r}: {what}"
                for what in changes(child, fingerprint, now["agents"][child])
            ]
        else:
            found.append(f"agent {child!r} is gone")
    return found


def _extended(
    then: Mapping[str, Mapping[str, str]], now: Mapping[str, Mapping[str, str]]
) -> set[str]:
    """Tools that only have more arguments than before, all of which may be left out: recorded calls
    mean what they meant."""
    found: set[str] = set()
    for name, old in then.items():
        new = now.get(name, {})
        kept = old.items() <= new.items()
        if kept and all(key.endswith(OPTIONAL) for key in new.keys() - old.keys()):
            found.add(name)
    return found


def _tools(
    word: str, then: Mapping[str, str], now: Mapping[str, str], extended: Set[str]
) -> list[str]:
    gone: list[str] = []
    changed: list[str] = []
    for name, meant in then.items():
        if name not in now:
            gone.append(f"{word} {name!r} is gone")
        elif now[name] != meant and name not in extended:
            changed.append(f"{word} {name!r} has another schema or effect")
    added = sorted(now.keys() - then.keys())
    if gone and added:
        gone.append(f"new: {', '.join(map(repr, added))} (renamed?)")
    return gone + changed


def _policy(then: list[str], now: list[str]) -> list[str]:
    found = [f"the policy's «{rule}» is gone" for rule in then if rule not in now]
    for rule in now:
        if rule not in then and rule.startswith(("allow", "default")):
            found.append(f"the policy's «{rule}» is new")
    return found


def _weaker(then: Mapping[str, list[Any]], now: Mapping[str, list[Any]]) -> list[str]:
    """Rules that still ask, but of fewer people, of others, of the requester too, or for longer.

    Of several rules with one text each old one needs a new one that is at least as strict.
    """
    found: list[str] = []
    for rule, gates in then.items():
        for gate in gates if rule in now else ():
            reasons = [_loosened(gate, other) for other in now[rule]]
            if all(reasons):
                found.append(f"the policy's «{rule}» is weaker: {min(reasons, key=len)}")
    return found


def _loosened(then: list[Any], now: list[Any]) -> str:
    """What the new gate no longer guarantees of the old one, in words; "" if it guarantees all of
    it."""
    (seats, not_requester, life), (new_seats, new_not_requester, new_life) = then, now
    for groups, count in seats:
        many = 0
        for of, people in new_seats:
            if not groups or (of and set(of) <= set(groups)):
                many += people
        if many < count:
            of = f" of {' or '.join(groups)}" if groups else ""
            return f"{many} instead of {count} must agree{of}"
    if not_requester and not new_not_requester:
        return "the requester may agree"
    if life and (not new_life or new_life > life):
        return "an approval holds longer"
    return ""
