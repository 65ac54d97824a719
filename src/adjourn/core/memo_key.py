"""Under what a body notes something: the keys of its memos. Only this module builds or splits them.

"step:" key | "!" key | "progress" | "undo:" n | "?" (n | name) | "~" n | "@" n
"""

from enum import StrEnum

from adjourn.errors import Invalid


class MemoKind(StrEnum):
    """What a body has noted: the result of a step, that a step has failed, how far it has come, a
    compensation, an answer, a sleep, an event."""

    STEP = "step:"
    FAILED = "!"
    PROGRESS = "progress"
    UNDO = "undo:"
    ANSWER = "?"
    SLEEP = "~"
    EVENT = "@"


PROGRESS = MemoKind.PROGRESS.value
_MEMO_KINDS = tuple(MemoKind)


def memo_key(kind: MemoKind, name: str | int = "") -> str:
    """Under what a body notes something.

    Args:
        kind: what it notes.
        name: the author's key or name, or a number that counts those of this kind. Progress has
            none.
    """
    return f"{kind.value}{name}"


def parse_memo(key: str) -> tuple[MemoKind, str]:
    """A memo's key as its kind and its name or number; raises `Invalid`."""
    for kind in _MEMO_KINDS:
        if key.startswith(kind.value) and (kind is not MemoKind.PROGRESS or key == PROGRESS):
            return kind, key.removeprefix(kind.value)
    raise Invalid(f"{key!r:.80} is not the key of a memo")


def is_memo(key: str, kind: MemoKind) -> bool:
    """Whether a memo's key is of this kind."""
    return key.startswith(kind.value)
