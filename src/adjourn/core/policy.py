"""Policy: rules that give a tool call a verdict. A pure question: same call, same verdict, with its reason."""

import copy
import dataclasses
import difflib
import fnmatch
import functools
import inspect
import posixpath
import re
import types
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import IntEnum
from typing import Any, Literal, cast

from adjourn.core.codec import plain
from adjourn.core.digest import digest
from adjourn.core.records import Slot
from adjourn.errors import InvalidDefinition

Duration = float | int | timedelta


def seconds(value: Duration, what: str = "a duration") -> float:
    """A duration in seconds; raises `InvalidDefinition` for anything that is not a positive, finite one."""
    if isinstance(value, timedelta):
        value = value.total_seconds()
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidDefinition(f"{what} must be seconds (a number, not negative) or a timedelta, not {value!r}")
    return float(value)


class Verdict(IntEnum):
    """What a policy says of a call. The greater is the stricter."""

    ALLOW = 0
    ASK = 1
    DENY = 2


@dataclass(frozen=True, slots=True)
class Condition:
    """A test of one argument; made by `eq`, `gt`, `one_of`, …"""

    text: str
    test: Callable[[Any], bool] = field(compare=False)


def eq(value: Any) -> Condition:
    """Equal, and of the same type: `eq(1)` is not true for `True`."""
    return Condition(f"== {value!r}", lambda x: x == value and isinstance(x, bool) == isinstance(value, bool))


def ne(value: Any) -> Condition:
    """Not equal."""
    same = eq(value).test
    return Condition(f"!= {value!r}", lambda x: not same(x))


def _number(x: Any) -> Any:
    if isinstance(x, bool):
        raise TypeError("a bool is not a number here")
    return x


def gt(value: Any) -> Condition:
    """Greater than."""
    return Condition(f"> {value!r}", lambda x: _number(x) > value)


def ge(value: Any) -> Condition:
    """Greater than or equal."""
    return Condition(f">= {value!r}", lambda x: _number(x) >= value)


def lt(value: Any) -> Condition:
    """Less than."""
    return Condition(f"< {value!r}", lambda x: _number(x) < value)


def le(value: Any) -> Condition:
    """Less than or equal."""
    return Condition(f"<= {value!r}", lambda x: _number(x) <= value)


def one_of(*values: Any) -> Condition:
    """Equal to one of the values."""
    tests = [eq(v).test for v in values]
    return Condition(f"in {list(values)!r}", lambda x: any(t(x) for t in tests))


def matches(pattern: str) -> Condition:
    """The whole text matches the regular expression."""
    try:
        compiled = re.compile(pattern, re.DOTALL)
    except re.error as e:
        raise InvalidDefinition(f"matches({pattern!r}): {e}") from None
    return Condition(f"matches {pattern!r}", lambda x: compiled.fullmatch(x) is not None)


def under(folder: str) -> Condition:
    """A path that lies in `folder` once `..` is taken out. Symbolic links are the tool's own business.

    Where a relative path leads nobody here knows: one that cannot be compared with `folder` is not executed.
    """
    root = _normal(folder)

    def inside(x: Any) -> bool:
        path = _normal(x)
        if path.startswith("/") != root.startswith("/") or (path.split("/")[0] == ".." and path != root):
            raise ValueError(f"{x!r:.80} cannot be placed inside or outside of {folder!r}")
        return root in (path, ".") or path.startswith(root.rstrip("/") + "/")

    return Condition(f"under {folder!r}", inside)


def _normal(path: str) -> str:
    normal = posixpath.normpath(path)
    return "/" + normal.lstrip("/") if normal.startswith("/") else normal  # POSIX keeps two leading slashes


When = Mapping[str, Condition | Any] | Callable[[dict[str, Any]], bool]


@dataclass(frozen=True, slots=True)
class Rule:
    """One line of a policy."""

    verdict: Verdict
    pattern: str
    when: When | None = None
    reason: str = ""
    expires_in: float = 0.0
    on_expiry: str = "deny"
    remind_every: float = 0.0
    approvers: int = 1
    groups: tuple[str, ...] = ()
    not_requester: bool = False
    queue: bool = False
    valid_for: float = 0.0
    each: bool = False
    name: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.pattern, str) or not self.pattern:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidDefinition(f"a rule's pattern is a tool's name or a glob, not {self.pattern!r}")
        if self.when is not None and not callable(self.when) and not isinstance(self.when, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidDefinition(
                f"when= takes {{argument: condition}} or a callable over the arguments, not {self.when!r}"
            )

    @property
    def identity(self) -> str:
        """Everything that it says, as a digest: what an approval covers. Of a function its name and what it is made of."""
        when: Any = None
        if callable(self.when):
            when = ["function", self.name or made_of(self.when)[0]]
        elif self.when is not None:
            when = [[k, v.text if isinstance(v, Condition) else f"== {v!r}"] for k, v in self.when.items()]
        said = [
            self.verdict.name, self.pattern, when, self.reason, self.expires_in, self.on_expiry, self.remind_every, self.approvers,
            sorted(self.groups), self.each, self.not_requester, self.queue, self.valid_for, self.name,
        ]  # fmt: skip
        return digest("rule", said)[:24]

    @property
    def slots(self) -> tuple[Slot, ...]:
        """Who must agree, says this rule."""
        if self.each:
            return tuple(Slot(self.identity, (g,), self.approvers, self.not_requester) for g in self.groups)
        return (Slot(self.identity, self.groups, self.approvers, self.not_requester),)

    @property
    def text(self) -> str:
        """The rule as people read it."""
        head = f"{self.verdict.name.lower()} {self.pattern}"
        if self.when is None:
            return head
        if callable(self.when):
            return f"{head} when {getattr(self.when, '__qualname__', type(self.when).__name__)}()"
        parts = [f"{k} {v.text if isinstance(v, Condition) else f'== {v!r}'}" for k, v in self.when.items()]
        return f"{head} when {' and '.join(parts)}"

    def applies(self, tool: str, args: dict[str, Any]) -> bool:
        """Whether it matches this call; may raise, which means: not executed."""
        if not fnmatch.fnmatchcase(tool, self.pattern):
            return False
        if self.when is None:
            return True
        if callable(self.when):
            answer = self.when(copy.deepcopy(args))  # what is shown and run is not for a condition to change
            if not isinstance(answer, bool):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise TypeError(f"the condition returned {type(answer).__name__}, not True or False")
            return answer
        absent = False
        for k, v in self.when.items():
            found, value = lookup(args, k)
            if not found:
                absent = True  # it may be what the tool itself makes of it
            elif not (v.test(value) if isinstance(v, Condition) else eq(v).test(value)):
                return False
        if absent:
            raise Absent
        return True

    def check(self, tools: Mapping[str, Any]) -> None:
        """Raise `InvalidDefinition` for a tool or an argument that does not exist. `tools`: name → schema."""
        named = [n for n in tools if fnmatch.fnmatchcase(n, self.pattern)]
        if not named and not any(c in self.pattern for c in "*?["):
            near = difflib.get_close_matches(self.pattern, tools, 3)
            raise InvalidDefinition(
                f"the rule «{self.text}» is about a tool that there is not"
                + (f"; near: {', '.join(near)}" if near else "")
            )
        if self.when is None or callable(self.when):
            return
        for key in self.when:
            if named and not any(_has(tools[n], key) for n in named):
                known = sorted({p for n in named for p in tools[n].get("properties", {})})
                raise InvalidDefinition(
                    f"the rule «{self.text}»: no tool it is about has an argument {key!r}; there are {', '.join(known) or 'none'}"
                )


class Absent(Exception):
    """A condition is about an argument that was not given."""


def lookup(args: Any, path: str) -> tuple[bool, Any]:
    """The argument of this name, or the value at this dotted path inside of one."""
    if not isinstance(args, dict):
        return False, None
    values = cast("dict[str, Any]", args)
    if path in values:
        return True, values[path]
    head, dot, rest = path.partition(".")
    if not dot or head not in values:
        return False, None
    return lookup(values[head], rest)


def _has(schema: Any, path: str, root: Any = None) -> bool:
    """Whether arguments of this schema may have something at this path."""
    root = schema if root is None else root
    if not isinstance(schema, dict):
        return schema is True
    schema = cast("dict[str, Any]", schema)
    if ref := schema.get("$ref", ""):
        return _has(root.get("$defs", {}).get(ref.rpartition("/")[2]), path, root)
    if any(_has(x, path, root) for word in ("anyOf", "oneOf", "allOf") for x in schema.get(word, ())):
        return True
    properties = schema.get("properties", {})
    if path in properties:
        return True
    head, dot, rest = path.partition(".")
    if dot and head in properties:
        return _has(properties[head], rest, root)
    if "properties" not in schema and schema.get("type", "object") != "object":
        return False
    return schema.get("additionalProperties", "properties" not in schema) is not False and not properties


def made_of(function: Callable[..., Any]) -> tuple[str, bool]:
    """What tells a function from another: its name, its code, and the plain values it holds; and whether that is all of it."""
    whole = True
    parts: list[Any] = []

    def held(value: Any) -> Any:
        nonlocal whole
        try:
            return ["=", plain(value, "value")]
        except Exception:
            if inspect.isfunction(value) or inspect.ismethod(value):
                return ["()", code_of(value)]
            whole = False
            return ["?", type(value).__qualname__]

    def code_of(function: Any) -> Any:
        nonlocal whole
        f: Any = inspect.unwrap(function)
        if isinstance(f, functools.partial):
            given = cast("functools.partial[Any]", f)
            keywords = {k: held(v) for k, v in given.keywords.items()}
            return ["partial", code_of(given.func), [held(a) for a in given.args], keywords]
        if inspect.ismethod(f):
            return [code_of(f.__func__), held_object(f.__self__)]
        if not inspect.isfunction(f):
            call = vars(cast("type[Any]", type(f))).get("__call__")
            if not inspect.isfunction(call):
                whole = False
                return type(f).__qualname__
            return [code_of(call), held_object(f)]
        cells = [held(c.cell_contents) for c in f.__closure__ or ()]
        return [
            f.__qualname__,
            _code(f.__code__),
            cells,
            held(f.__defaults__ and list(f.__defaults__)),
            held(f.__kwdefaults__),
        ]

    def held_object(o: Any) -> Any:
        nonlocal whole
        try:
            return [type(o).__qualname__, {k: held(v) for k, v in sorted(cast("dict[str, Any]", vars(o)).items())}]
        except TypeError:
            whole = False
            return type(o).__qualname__

    parts.append(code_of(function))
    return digest("function", parts), whole


def _code(code: types.CodeType) -> Any:
    consts = [_code(c) if isinstance(c, types.CodeType) else repr(c) for c in code.co_consts]
    return [code.co_code.hex(), consts, list(code.co_names), list(code.co_varnames), list(code.co_freevars)]


def allow(pattern: str, *, when: When | None = None, reason: str = "") -> Rule:
    """Let matching calls run."""
    return Rule(Verdict.ALLOW, pattern, when, reason)


def deny(pattern: str, *, when: When | None = None, reason: str = "") -> Rule:
    """Refuse matching calls; the model reads the reason."""
    return Rule(Verdict.DENY, pattern, when, reason)


def ask(
    pattern: str,
    *,
    when: When | None = None,
    reason: str = "",
    expires_in: Duration | None = None,
    on_expiry: Literal["deny", "cancel", "escalate"] = "deny",
    remind_every: Duration | None = None,
    approvers: int = 1,
    groups: Iterable[str] = (),
    not_requester: bool = False,
    queue: bool = False,
    valid_for: Duration | None = None,
    each: bool = False,
    name: str = "",
) -> Rule:
    """Stop before matching calls until a person decides."""
    if on_expiry not in ("deny", "cancel", "escalate"):
        raise InvalidDefinition(f"on_expiry is 'deny', 'cancel' or 'escalate', not {on_expiry!r}")
    if isinstance(approvers, bool) or not isinstance(approvers, int) or approvers < 1:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidDefinition(f"approvers must be a whole number of at least 1, not {approvers!r}")
    if isinstance(groups, str):
        raise InvalidDefinition(f"groups takes a list of names, not the string {groups!r}")
    groups = tuple(dict.fromkeys(groups))
    if each and len(groups) < 2:
        raise InvalidDefinition("each=True means one of each group: name at least two groups")
    return Rule(
        Verdict.ASK, pattern, when, reason,
        expires_in=_lasting(expires_in, "expires_in"),
        on_expiry=on_expiry,
        remind_every=_lasting(remind_every, "remind_every"),
        approvers=approvers, groups=tuple(groups), not_requester=not_requester, queue=queue,
        valid_for=_lasting(valid_for, "valid_for"), each=each, name=name,
    )  # fmt: skip


def _lasting(value: Duration | None, what: str) -> float:
    """0.0 for none; a duration of zero would read as none, so it is refused."""
    if value is None:
        return 0.0
    if not (length := seconds(value, what)):
        raise InvalidDefinition(f"{what} must be longer than 0; leave it out for none")
    return length


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict, why, and the rules of that verdict that matched."""

    verdict: Verdict
    reason: str = ""
    rules: tuple[Rule, ...] = ()


class Policy:
    """Rules for tool calls: the strictest match wins (DENY > ASK > ALLOW), whatever the order."""

    def __init__(self, rules: Iterable[Rule] = (), default: Literal["allow", "ask", "deny"] = "ask") -> None:
        self.rules = tuple(rules)
        for rule in self.rules:
            if not isinstance(rule, Rule):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise InvalidDefinition(f"a policy is made of allow(...), ask(...) and deny(...), not {rule!r}")
        known: dict[str, Rule] = {}
        for rule in self.rules:
            other = known.setdefault(rule.identity, rule)
            if other is not rule and callable(rule.when) and other.when is not rule.when and not made_of(rule.when)[1]:
                raise InvalidDefinition(
                    f"two rules «{rule.text}» differ only in what their functions hold, which cannot be told apart: "
                    "give each a name=, or use conditions such as gt(100)"
                )
        if default not in ("allow", "ask", "deny"):
            raise InvalidDefinition(f"default is 'allow', 'ask' or 'deny', not {default!r}")
        self.default = Verdict[default.upper()]

    def judge(self, tool: str, args: dict[str, Any]) -> Judgement:
        """The verdict for a call with these parsed arguments. Never raises: an error in a rule is a DENY."""
        found: list[Rule] = []
        for rule in self.rules:
            try:
                if rule.applies(tool, args):
                    found.append(rule)
            except Absent:
                if rule.verdict != Verdict.ALLOW:
                    found.append(dataclasses.replace(rule, verdict=Verdict.ASK))
            except Exception as e:
                return Judgement(Verdict.DENY, f"the rule «{rule.text}» could not be judged ({type(e).__name__}: {e})")
        if not found:
            return Judgement(self.default, f"no rule matches; the default is {self.default.name.lower()}")
        verdict = max(rule.verdict for rule in found)
        winners = tuple(rule for rule in found if rule.verdict == verdict)
        return Judgement(verdict, "; ".join(rule.reason for rule in winners if rule.reason), winners)

    @property
    def fingerprint(self) -> list[str]:
        """The policy by its words: what a run's approvals were judged by."""
        return [*sorted(rule.text for rule in self.rules), f"default {self.default.name.lower()}"]


def strictest(judgements: Iterable[Judgement]) -> Judgement:
    """The strictest of several; equal ones are taken together."""
    best = Judgement(Verdict.ALLOW)
    for j in judgements:
        if j.verdict > best.verdict:
            best = j
        elif j.verdict == best.verdict:
            best = Judgement(j.verdict, "; ".join(filter(None, (best.reason, j.reason))), (*best.rules, *j.rules))
    return best
