"""A person's answer. (A policy's answer is a `Verdict`.)"""

from typing import TYPE_CHECKING, Any, Literal, Self, cast, get_args

from adjourn.core.codec import plain
from adjourn.core.record_parts import RecordedWord
from adjourn.core.records import Asked, Decided
from adjourn.errors import InvalidAnswer

if TYPE_CHECKING:
    from adjourn.core.standing_decision import Standing

DecisionWord = Literal[RecordedWord, "instead", "dismiss"]
WORDS: tuple[DecisionWord, ...] = get_args(DecisionWord)
DecisionVerb = Literal["approve", "deny", "answer"]
"""The verbs of a runtime by which a person decides: `answer` takes every word but the first two."""
VERBS: tuple[DecisionVerb, ...] = get_args(DecisionVerb)
INSTEAD = "instead"
"""Under this name a denial has the result that a person gave in the place of a call."""
DISMISSED = "dismissed"
"""Under this name a denial says that it drops a question."""
LARGEST_EXTENSION = 10**15
"""A person extends a limit by at most so much: what is added up in a run stays a number."""


class Decision:
    """A person's answer: make one with `Decision.approve`, `Decision.deny`, `Decision.value`,
    `Decision.instead` or `Decision.dismiss`.

    Attributes:
        verdict: approve, deny, value, instead or dismiss.
        note: a comment for the audit; of a denial, the model reads it.
        edit: other arguments for an approved call.
        value: the answer to a question, or the result in the place of a call.
        scope: what an approval covers: `"once"` this call, `"run"` the same arguments again in this
            run.
        stands: for which later calls of this run it stands as well; None: for none.
    """

    __slots__ = ("edit", "note", "scope", "stands", "value_", "verdict")

    def __init__(
        self,
        verdict: DecisionWord,
        *,
        note: str = "",
        edit: dict[str, Any] | None = None,
        value: Any = None,
        scope: Literal["once", "run"] = "once",
        stands: "Standing | None" = None,
    ) -> None:
        if verdict not in WORDS:
            raise InvalidAnswer(f"a decision must be one of {WORDS}, got {verdict!r}")
        if scope not in ("once", "run"):
            raise InvalidAnswer(
                f"scope must be 'once' or 'run' (this run, these exact arguments), got {scope!r}"
            )
        if not isinstance(note, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidAnswer(f"note= must be a string, got {note!r:.80}")
        if edit is not None and not isinstance(edit, dict):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidAnswer(
                f"edit= must be a dict of all new arguments, got {type(edit).__name__}"
            )
        self.verdict: DecisionWord = verdict
        self.note = plain(note, "note")
        if edit is None:
            self.edit = None
        else:
            self.edit = plain(edit, "edit")
        self.value_ = plain(value, "answer")
        self.scope: Literal["once", "run"] = scope
        if stands is not None and (verdict not in ("approve", "deny") or edit is not None):
            raise InvalidAnswer(
                "stands= is for an approval or a denial, without an edit",
                consequence="nothing was decided",
            )
        if stands is not None and scope != "once":
            raise InvalidAnswer("pass scope= or stands=, not both: stands= says it all")
        self.stands = stands

    @classmethod
    def approve(
        cls,
        note: str = "",
        edit: dict[str, Any] | None = None,
        scope: Literal["once", "run"] = "once",
        stands: "Standing | None" = None,
    ) -> Self:
        """Let the call run.

        Args:
            note: a comment for the audit.
            edit: run it with these arguments instead.
            scope: `"once"`, or `"run"`: also the same call again in this run.
            stands: for which later calls of this run it stands as well.
        """
        return cls("approve", note=note, edit=edit, scope=scope, stands=stands)

    @classmethod
    def deny(cls, note: str = "", stands: "Standing | None" = None) -> Self:
        """Refuse the call.

        Args:
            note: a comment, which the model reads.
            stands: which later calls of this run it refuses as well.
        """
        return cls("deny", note=note, stands=stands)

    @classmethod
    def value(cls, value: Any, note: str = "") -> Self:
        """Answer a question.

        Args:
            value: the answer.
            note: a comment for the audit.
        """
        return cls("value", value=value, note=note)

    @classmethod
    def instead(cls, result: Any, note: str = "") -> Self:
        """Give the result of a call yourself: its tool does not run, and there is nothing to undo.

        Args:
            result: what the model reads in the place of the tool's result.
            note: a comment for the audit.
        """
        return cls("instead", value=result, note=note)

    @classmethod
    def dismiss(cls, note: str = "") -> Self:
        """Drop a question without an answer; who asked it is told that it was dropped.

        Args:
            note: a comment for the audit.
        """
        return cls("dismiss", note=note)

    def __repr__(self) -> str:
        parts = [self.verdict]
        for name, given in (("note", self.note), ("edit", self.edit), ("value", self.value_)):
            if given:
                parts.append(f"{name}={given!r}")
        return f"Decision({', '.join(parts)})"


def is_instead(decided: Decided) -> bool:
    """Whether a person gave the result of a call in the place of its tool. It is recorded as a
    denial with a result: whoever knows nothing of results runs nothing either."""
    return decided.verdict == "deny" and INSTEAD in chosen(decided)


def word_of(decided: Decided) -> DecisionWord:
    """What a decision is called: its verdict, or what a denial stands for."""
    if is_instead(decided):
        return "instead"
    if decided.verdict == "deny" and chosen(decided).get(DISMISSED) is True:
        return "dismiss"
    return decided.verdict


def decided_at(decided: Decided) -> float:
    """When somebody decided: as it was signed, else as it was recorded."""
    if decided.seal is not None:
        return decided.seal.at
    return decided.at


def chosen(decided: Decided) -> dict[str, Any]:
    """What a choice says: `{"choice": …}`, with a result or an amount; empty for every other
    answer."""
    value: object = decided.value
    if isinstance(value, dict):
        return cast("dict[str, Any]", value)
    return {}


def says_yes(asked: Asked, decided: Decided) -> bool:
    """Whether this decision lets the call run."""
    if asked.kind == "approval":
        return decided.verdict == "approve"
    return decided.verdict == "value" and chosen(decided).get("choice") == "run"


def fixed(args: Any) -> dict[str, Any]:
    """The schema of arguments that cannot be changed any more. A result may still be given in the
    place of the call, which no value that fits `false` allows."""
    return {"const": args}


def is_fixed(schema: Any) -> bool:
    """Whether a schema lets an approver change nothing."""
    return schema is False or (isinstance(schema, dict) and [*schema] == ["const"])  # pyright: ignore[reportUnknownArgumentType]
