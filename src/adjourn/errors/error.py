"""What every error is: what happened, what that means, what to do, and plain data about it."""

import re
from typing import Any, ClassVar

_WORD = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


class AdjournError(Exception):
    """The root of everything raised here. Each can be pickled: a process pool gives it back as it
    was.

    `code` is its class's name in snake case. `what` happened, with which `consequence`, and what to
    do: `advice`. `facts` are plain data about it; each is an attribute as well.
    """

    status: ClassVar[int] = 500
    code: ClassVar[str] = "adjourn_error"
    what: str = ""
    consequence: str = ""
    advice: str = ""
    _facts: tuple[str, ...] = ()

    def __init__(
        self, what: str = "", *, consequence: str = "", advice: str = "", **facts: Any
    ) -> None:
        """Make an error.

        Args:
            what: what happened, without a full stop.
            consequence: what that means, for example "nothing was recorded".
            advice: what to do next.
            facts: plain data about it, by name.
        """
        self.what = what
        if consequence:
            self.consequence = consequence
        if advice:
            self.advice = advice
        self._facts = tuple(facts)
        self.__dict__.update(facts)
        super().__init__(*(part for part in (what,) if part != ""))

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.code = _WORD.sub("_", cls.__name__).lower()

    def __str__(self) -> str:
        parts = (str(self.what), self.consequence, self.advice)
        return "; ".join(part for part in parts if part) or super().__str__()

    @property
    def facts(self) -> dict[str, Any]:
        """Plain data about it, by name."""
        return {name: getattr(self, name) for name in self._facts}

    @property
    def fields(self) -> dict[str, Any]:
        """Its parts and its facts, as data."""
        parts = {"what": str(self.what), "consequence": self.consequence, "advice": self.advice}
        return {**self.facts, "code": self.code, **parts}

    def __reduce__(self) -> tuple[Any, ...]:
        return restored, (type(self), self.args), dict(self.__dict__)


def restored(kind: type[BaseException], args: tuple[Any, ...]) -> BaseException:
    """An error as it was, without its arguments: its fields are in its dict."""
    error = kind.__new__(kind, *args)
    error.args = args
    return error


def bare(id: str) -> str:
    """The `id` or name as it stands in a sentence; in quotes if it could be taken for something else
    there."""
    if id and id.isprintable() and id == id.strip() and len(id) <= 200:
        return id
    return f"{id!r:.200}"


def counted(number: int, noun: str) -> str:
    """The `number` with its `noun`: `1 answer`, `2 answers`."""
    if number == 1:
        return f"{number:,} {noun}"
    return f"{number:,} {noun}s"
