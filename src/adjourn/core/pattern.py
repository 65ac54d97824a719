"""Regular expressions that are matched in linear time, whatever the text.

A backtracking engine needs 13 seconds for 26 characters of `(a+)+$`. This one is pydantic-core's
(Rust's `regex`): it never goes back, and therefore knows neither look-around nor backreferences.
What remains is the product of pattern and text, and that is bounded here.
"""

import re
from functools import lru_cache
from typing import Any

LONGEST = 1_000
"""Characters of a pattern."""
HEAVIEST = 20_000
"""Weight of a pattern: its parts, counted as often as they are repeated."""
WORK = 5_000_000
"""Weight times characters of the text: about 0.05 s at worst, all of it without letting others go
on."""

_COUNT = r"\{(\d{1,9})(?:,(\d{0,9}))?\}"
_REASON = r"(?s:error: (.+))"
_CLASS_WEIGHT = 8
"""A class such as `\\w` has hundreds of ranges."""


class InvalidPattern(ValueError):
    """A pattern that cannot be matched in linear time, or no pattern at all."""


class Pattern:
    """A compiled pattern; made by `whole` and `anywhere`."""

    def __init__(self, text: str, compiled: Any) -> None:
        self.text = text
        self.weight = weight_of(text)
        self._compiled = compiled

    def fits(self, text: Any) -> bool:
        """Whether it matches `text`; raises TypeError and ValueError for what it cannot be asked
        about."""
        if not isinstance(text, str):
            raise TypeError(f"a pattern is for strings, not for {type(text).__name__}")
        if self.work(text) > WORK:
            raise ValueError(f"a string of {len(text):,} characters is too long for this pattern")
        text.encode()  # a lone surrogate would read as "does not match"
        return self._compiled.isinstance_python(text)

    def work(self, text: str) -> int:
        """What matching this text costs at worst, in units of about 10 ns."""
        return self.weight * len(text)


@lru_cache(maxsize=512)
def whole(text: str) -> Pattern:
    """The pattern as a description of a whole string, line feeds included; raises
    `InvalidPattern`."""
    _checked(text)  # by itself: `a)|(?:b` would close the brackets that are put around it
    return Pattern(text, _compiled(rf"(?s)\A(?:{text})\z"))


@lru_cache(maxsize=512)
def anywhere(text: str) -> Pattern:
    """The pattern as something to find in a string, as JSON Schema has it; raises
    `InvalidPattern`."""
    return Pattern(text, _checked(text))


def _checked(text: Any) -> Any:
    if not isinstance(text, str):
        raise InvalidPattern(f"a pattern is a string, not {text!r:.80}")
    if len(text) > LONGEST:
        raise InvalidPattern(f"it has {len(text):,} characters; at most {LONGEST:,} are read")
    if weight_of(text) > HEAVIEST:
        raise InvalidPattern("its repetitions are too large; use smaller counts")
    return _compiled(text)


def _compiled(expression: str) -> Any:
    from pydantic_core import (  # loaded with the first pattern
        SchemaError,
        SchemaValidator,
        core_schema,
    )

    schema = core_schema.str_schema(pattern=expression, regex_engine="rust-regex", strict=True)
    try:
        return SchemaValidator(schema)
    except SchemaError as e:
        found = re.search(_REASON, str(e))
        if found:
            reason = found[1]
        else:
            reason = str(e).rpartition("SchemaError: ")[2]
        raise InvalidPattern(" ".join(reason.split())) from None


def weight_of(text: str) -> int:
    """How many parts a pattern has, counted as often as they are repeated: what one character of a
    text costs at most."""
    groups: list[int] = [0]
    last, place = 0, 0
    while place < len(text):
        char = text[place]
        step = 1
        if char == "(":
            groups.append(0)
            last = 0
        elif char == ")" and len(groups) > 1:
            last = groups.pop()
            groups[-1] += last
        elif char == "{" and (count := re.match(_COUNT, text[place : place + 24])):
            times = max(int(count[1]), int(count[2] or 1), 1)
            groups[-1] += last * (times - 1)
            last *= times
            step = len(count[0])
        elif char not in "*+?|^$":
            step, last = _part(text, place)
            groups[-1] += last
        place += step
    return max(1, sum(groups))


def _part(text: str, place: int) -> tuple[int, int]:
    """The length and the weight of one character, escape or class."""
    if text[place] == "\\":
        return 2, _CLASS_WEIGHT if text[place + 1 : place + 2] in (
            "w",
            "W",
            "d",
            "D",
            "s",
            "S",
            "p",
            "P",
            "b",
            "B",
        ) else 1
    if text[place] != "[":
        return 1, 1
    depth, end = 0, place
    while end < len(text):
        if text[end] == "\\":
            end += 1
        elif text[end] == "[":
            depth += 1
        elif text[end] == "]":
            depth -= 1
            if depth == 0:
                break
        end += 1
    return end - place + 1, _CLASS_WEIGHT
