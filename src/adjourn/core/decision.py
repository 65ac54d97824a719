"""A person's answer. (A policy's answer is a `Verdict`.)"""

from typing import Any, Literal, Self, cast

from adjourn.core.codec import plain
from adjourn.core.records import Decided
from adjourn.errors import InvalidAnswer


class Decision:
    """A person's answer: make one with `Decision.approve`, `Decision.deny` or `Decision.value`.

    Attributes:
        verdict: approve, deny or value.
        note: a comment for the audit; of a denial, the model reads it.
        edit: other arguments for an approved call.
        value: the answer to a question.
        scope: what an approval covers: `"once"` this call, `"run"` the same arguments again in this
            run.
    """

    __slots__ = ("edit", "note", "scope", "value_", "verdict")

    def __init__(
        self,
        verdict: Literal["approve", "deny", "value"],
        *,
        note: str = "",
        edit: dict[str, Any] | None = None,
        value: Any = None,
        scope: Literal["once", "run"] = "once",
    ) -> None:
        if verdict not in ("approve", "deny", "value"):
            raise InvalidAnswer(f"a decision must be 'approve', 'deny' or 'value', got {verdict!r}")
        if scope not in ("once", "run"):
            raise InvalidAnswer(
                f"scope must be 'once' or 'run' (this run, these exact arguments), got {scope!r}"
            )
        if not isinstance(note, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidAnswer(f"note= must be a string, got {note!r:.80}")
        if edit is not None and not isinstance(edit, dict):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidAnswer(
                f"edit= must be the whole new arguments as a dict, got {type(edit).__name__}"
            )
        self.verdict: Literal["approve", "deny", "value"] = verdict
        self.note = plain(note, "note")
        if edit is None:
            self.edit = None
        else:
            self.edit = plain(edit, "edit")
        self.value_ = plain(value, "answer")
        self.scope: Literal["once", "run"] = scope

    @classmethod
    def approve(
        cls,
        note: str = "",
        edit: dict[str, Any] | None = None,
        scope: Literal["once", "run"] = "once",
    ) -> Self:
        """Let the call run.

        Args:
            note: a comment for the audit.
            edit: run it with these arguments instead.
            scope: `"once"`, or `"run"`: also the same call again in this run.
        """
        return cls("approve", note=note, edit=edit, scope=scope)

    @classmethod
    def deny(cls, note: str = "") -> Self:
        """Refuse the call.

        Args:
            note: a comment, which the model reads.
        """
        return cls("deny", note=note)

    @classmethod
    def value(cls, value: Any, note: str = "") -> Self:
        """Answer a question.

        Args:
            value: the answer.
            note: a comment for the audit.
        """
        return cls("value", value=value, note=note)

    def __repr__(self) -> str:
        parts = [self.verdict]
        for name, given in (("note", self.note), ("edit", self.edit), ("value", self.value_)):
            if given:
                parts.append(f"{name}={given!r}")
        return f"Decision({', '.join(parts)})"


def chosen(decided: Decided) -> dict[str, Any]:
    """What a choice says: `{"choice": …}`, with a result or an amount; empty for every other
    answer."""
    value: object = decided.value
    if isinstance(value, dict):
        return cast("dict[str, Any]", value)
    return {}
