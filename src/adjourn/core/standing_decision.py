"""Decisions that stand for later calls: for which ones, as a person says it; and those that were made,
what they cover, and how long."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import timedelta
from functools import lru_cache
from typing import Any, cast

import msgspec

from adjourn.core.codec import decode, is_equal, is_finite
from adjourn.core.decision import chosen, decided_at
from adjourn.core.records import Asked, Decided
from adjourn.errors import InvalidAnswer

STANDS = "stands"
"""Under this name a decision says for which later calls it stands."""
UNDER = "under"
"""Under this name a decision names the interrupt whose decision it follows."""
ANY = "*"
"""The condition that all arguments fit."""
MAX_CONDITIONS, MAX_CONDITION = 20, 500
MAX_TIMES, MAX_LASTS = 10_000, 366 * 86_400.0
_CONDITION = r"\s*([^=<>\s][^=<>]*?)\s*(<=|>=|=|<|>)\s*(.*?)\s*"
Test = Callable[[Any], bool]


class Standing(
    msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True, kw_only=True
):
    """For which later calls of its tool a decision stands, in its run. Raises `ValueError` for what
    does not describe one.

    Attributes:
        where: conditions that the arguments must fit, all of them, such as `"order_id=44*"` or
            `"amount<=100"`; `("*",)`: whatever the arguments are; empty: the same arguments.
        lasts: for so many seconds, or a `timedelta`; None: as long as the run.
        times: for so many calls, the one that it is about included; None: any number.
    """

    where: tuple[str, ...] = ()
    lasts: float | None = None
    times: int | None = None

    def __post_init__(self) -> None:
        given: Any = self.lasts
        if isinstance(given, timedelta):
            msgspec.structs.force_setattr(self, "lasts", given.total_seconds())
        if len(self.where) > MAX_CONDITIONS:
            raise ValueError(f"where= has more than {MAX_CONDITIONS} conditions")
        if self.where != (ANY,):
            for text in self.where:
                condition(text)
        if self.times is not None and not _is_number(self.times, MAX_TIMES, int):
            raise ValueError(
                f"times= must be a number from 2 to {MAX_TIMES:,}, or None for any number of calls, "
                f"got {self.times!r:.80}"
            )
        if self.times == 1:
            raise ValueError("times= counts this call as well: give 2 or more")
        if self.lasts is not None and not _is_number(self.lasts, MAX_LASTS, int | float):
            raise ValueError(
                "lasts= must be seconds or a timedelta, at most a year, or None for as long as the "
                f"run, got {self.lasts!r:.80}"
            )

    @property
    def text(self) -> str:
        """What it says, in words."""
        words = ["the same arguments"]
        if self.where == (ANY,):
            words = ["any arguments"]
        elif self.where:
            words = [" and ".join(self.where)]
        if self.lasts:
            words.append(f"for {_length(self.lasts)}")
        if self.times:
            words.append(f"{self.times} times")
        return ", ".join([*words, "in this run"])


def _is_number(value: Any, most: float, kind: Any) -> bool:
    """Whether it is a number above 0, and at most `most`: a zero would read as no limit."""
    return isinstance(value, kind) and not isinstance(value, bool) and 0 < value <= most


def _length(seconds: float) -> str:
    for unit, name in ((86_400.0, "d"), (3_600.0, "h"), (60.0, "min")):
        if seconds >= unit and seconds % unit == 0:
            return f"{seconds / unit:.0f} {name}"
    return f"{seconds:g} s"


def read_terms(given: Any) -> Standing:
    """What somebody gives as `stands`, as plain data; raises `InvalidAnswer` for what is none."""
    try:
        return msgspec.convert(given, Standing)
    except (msgspec.ValidationError, ValueError) as e:
        raise InvalidAnswer(f"stands: {e}", consequence="nothing was decided") from None


def fits(where: Sequence[str], same: Any, args: Any) -> bool:
    """Whether arguments fit all conditions; without any, whether they are the `same`."""
    if not where:
        return is_equal(same, args)
    if tuple(where) == (ANY,):
        return True
    return all(_fits(text, args) for text in where)


def _fits(text: str, args: Any) -> bool:
    path, test = condition(text)
    value: object = args
    for key in path:
        if not isinstance(value, dict):
            return False
        table = cast("dict[str, object]", value)
        if key not in table:
            return False
        value = table[key]
    return test(value)


@lru_cache(maxsize=1024)
def condition(text: str) -> tuple[tuple[str, ...], Test]:
    """The argument that a condition is about, and its test; raises `ValueError` for what is
    none."""
    found = re.fullmatch(_CONDITION, text, re.DOTALL)
    if found is None or len(text) > MAX_CONDITION:
        raise ValueError(
            f"{text!r:.80} is not a condition: write NAME=VALUE, NAME=44* or NAME<=100, or * alone"
        )
    name, operator, value = found.groups()
    path = tuple(name.split("."))
    if operator == "=":
        return path, _equal(value)
    limit = _number(value)
    if limit is None:
        raise ValueError(f"{text!r:.80}: {operator} compares with a number, not {value!r:.40}")
    return path, _ordered(operator, limit)


def _equal(value: str) -> Test:
    if value.startswith('"'):
        try:
            exact: object = decode(value)
        except ValueError:
            exact = None
        if not isinstance(exact, str):
            raise ValueError(f"{value!r:.80} begins with a quote but is not a JSON string")
        return lambda given: isinstance(given, str) and given == exact
    if ANY in value:
        return lambda given: isinstance(given, str) and _is_like(value, given)
    literal: dict[str, Any] = {"true": True, "false": False, "null": None}
    if value in literal:
        meant: Any = literal[value]
    else:
        meant = _number(value)
        if meant is None:
            return lambda given: isinstance(given, str) and given == value
    return lambda given: is_equal(given, meant) or (isinstance(given, str) and given == value)


def _is_like(pattern: str, text: str) -> bool:
    """Whether the whole text fits, where each `*` is any characters. In linear time."""
    first, *middle, last = pattern.split(ANY)
    if len(text) < len(first) + len(last):
        return False
    if not text.startswith(first) or not text.endswith(last):
        return False
    at, end = len(first), len(text) - len(last)
    for part in middle:
        found = text.find(part, at, end)
        if found < 0:
            return False
        at = found + len(part)
    return True


def _number(text: str) -> int | float | None:
    if not re.fullmatch(r"-?(?:0|[1-9][0-9]{0,17})(?:\.[0-9]{1,18})?", text):
        return None
    if "." in text:
        return float(text)
    return int(text)


_ORDER: dict[str, Callable[[float, float], bool]] = {
    "<": lambda given, limit: given < limit,
    "<=": lambda given, limit: given <= limit,
    ">": lambda given, limit: given > limit,
    ">=": lambda given, limit: given >= limit,
}


def _ordered(operator: str, limit: float) -> Test:
    holds = _ORDER[operator]

    def test(given: Any) -> bool:
        return is_finite(given) and holds(given, limit)

    return test


class StandingDecision(msgspec.Struct, gc=False):
    """One that was made. `made`: what was asked; `uses`: the calls that it has answered, its own
    included; `ended`: why it stands no more, if somebody or something has ended it."""

    made: Asked
    decisions: list[Decided] = []
    uses: int = 1
    ended: str = ""

    @property
    def says(self) -> Standing | None:
        """For what it stands; None if those who decided did not say the same."""
        return terms_of(self.decisions)

    @property
    def denies(self) -> bool:
        """Whether it refuses calls."""
        return any(decided.verdict == "deny" for decided in self.decisions)

    @property
    def until(self) -> float:
        """When its time is over; 0.0 for never."""
        says = self.says
        ends: list[float] = []
        for decided in self.decisions:
            if says is not None and says.lasts:
                ends.append(decided_at(decided) + says.lasts)
            if self.made.valid_for:
                ends.append(decided_at(decided) + self.made.valid_for)
        return min(ends, default=0.0)

    def over(self, now: float) -> str:
        """Why it stands no more; "" if it does."""
        if self.ended:
            return self.ended
        if self.until and now >= self.until:
            return "expired"
        says = self.says
        if says is None:
            return "not agreed to by all"
        if says.times and self.uses >= says.times:
            return "used up"
        return ""


Known = Mapping[str, StandingDecision]
"""The standing decisions of a run, by the interrupts that they were made about."""


def stands(decided: Decided) -> Standing | None:
    """For what a decision stands, if it says so and can be read."""
    said: object = chosen(decided).get(STANDS)
    if said is None:
        return None
    if isinstance(said, dict):  # a record may say 0 for no limit
        said = {name: value for name, value in cast("dict[str, Any]", said).items() if value != 0}
    try:
        return msgspec.convert(said, Standing)
    except (msgspec.ValidationError, ValueError):
        return None


def terms_of(decisions: Sequence[Decided]) -> Standing | None:
    """For what decisions stand that were made together; None if they do not all say the same."""
    said = [stands(decided) for decided in decisions]
    if not said or any(one != said[0] for one in said):
        return None
    return said[0]


def under(decided: Decided) -> str:
    """The interrupt whose standing decision this one follows; "" if a person decided it."""
    found: object = chosen(decided).get(UNDER)
    if isinstance(found, str):
        return found
    return ""


def backing(known: Known, decided: Decided) -> tuple[Asked, Decided] | None:
    """What a person was asked and said, on which a decision under a standing one rests."""
    standing = known.get(under(decided))
    if standing is None:
        return None
    for original in standing.decisions:
        same = (original.by, original.groups, original.verdict)
        if same == (decided.by, decided.groups, decided.verdict):
            return standing.made, original
    return None


def covers(standing: StandingDecision, asked: Asked) -> bool:
    """Whether it is about what is asked: the same thing under the same rules, with arguments that
    fit."""
    made, says = standing.made, standing.says
    if says is None or made.kind != "approval" or asked.kind != "approval":
        return False
    if _bound(made) != _bound(asked):
        return False
    if asked.schema is False and says.where:  # as it is: not in other words either
        return False
    return fits(says.where, made.args, asked.args)


def _bound(asked: Asked) -> tuple[Any, ...]:
    """What a standing decision is bound to."""
    return (
        asked.tool,
        asked.definition,
        asked.describes,
        asked.effect,
        asked.undo,
        asked.under,
        asked.rules,
        asked.gate,
        asked.escalated_gate,
        asked.valid_for,
        asked.schema is False,
    )


def use_flaw(known: Known, asked: Asked, decisions: Iterable[Decided], now: float) -> str:
    """Why those of these decisions that follow a standing one do not count; "" if they do."""
    for decided in decisions:
        if not under(decided):
            continue
        standing = known.get(under(decided))
        if standing is None:
            return "the standing decision behind it was not found"
        if standing.ended:
            return f"the standing decision behind it was {standing.ended}"
        if standing.until and now >= standing.until:
            return "the standing decision behind it has expired"
        if backing(known, decided) is None:
            return f"{decided.by or 'a person'} has made no standing decision about it"
        if not covers(standing, asked):
            return "the standing decision behind it does not cover it"
    return ""
