"""The caller's input is wrong: the same call would fail again."""

from collections.abc import Iterable, Sequence
from typing import Literal

from adjourn.errors.error import AdjournError, bare, counted


class Invalid(AdjournError):
    """The input is wrong. Fix it; nothing was recorded."""

    status = 422


class NotJSON(Invalid, TypeError):
    """A value that cannot be JSON. `path` says where, for example `payload.callback`.

    Args:
        path: where the value is.
        thing: what it is, in words.
    """

    advice = "pass plain data, a pydantic model, a dataclass, a date or an enum"
    path: str

    def __init__(self, path: str, thing: str) -> None:
        super().__init__(f"{path}: {thing} cannot be stored as JSON", path=path)


class InvalidAnswer(Invalid):
    """An answer that does not fit its interrupt. Nothing was recorded; the question stays open."""


class AnswerRequired(Invalid):
    """The run is waiting for an answer and none was given. `interrupts` are the ids of what it is
    waiting for.

    Args:
        interrupts: id and kind of each.
    """

    consequence = "nothing was recorded"
    advice = "pass answer= (one) or answers={id: value} (several)"
    interrupts: tuple[str, ...]

    def __init__(self, interrupts: Sequence[tuple[str, str]]) -> None:
        listed = ", ".join(f"{bare(id)} ({kind})" for id, kind in interrupts)
        super().__init__(
            f"the run is waiting for {counted(len(interrupts), 'answer')}: {listed}",
            interrupts=tuple(id for id, _ in interrupts),
        )


class InvalidDefinition(Invalid, ValueError):
    """An agent, tool, policy or condition that cannot work as written."""


class MissingResource(Invalid):
    """A tool needs a live object that was not passed. Nothing was used up.

    Args:
        names: the names of the missing objects.
        where: the tool or chunk that needs them.
        declare: what else to do first, for the advice.
    """

    consequence = "nothing was run"
    names: list[str]

    def __init__(self, names: Iterable[str], where: str, *, declare: str = "") -> None:
        missing = sorted(names)
        noun = "the resource" if len(missing) == 1 else "the resources"
        given = ", ".join(f'"{name}": …' for name in missing)
        super().__init__(
            f"{where} needs {noun} {', '.join(missing)}",
            advice=f"{declare}pass resources={{{given}}}",
            names=missing,
        )


CheckpointPart = Literal["json", "envelope", "digest", "signature", "records"]


class CheckpointInvalid(Invalid):
    """A checkpoint that is malformed, modified, unsigned or too large. `part` is what is wrong with
    it.

    Args:
        what: what happened.
        part: what is wrong with it.
        consequence, advice: as in `AdjournError`.
    """

    status = 400
    consequence = "it was not loaded"
    part: CheckpointPart

    def __init__(
        self,
        what: str,
        part: CheckpointPart = "envelope",
        *,
        consequence: str = "",
        advice: str = "",
    ) -> None:
        super().__init__(what, consequence=consequence, advice=advice, part=part)


class NoOutput(AdjournError):
    """`.output` of an outcome that has none.

    Args:
        what: what happened.
        run_id, status: the run, and where it is.
        advice: what to do next.
    """

    status = 409
    run_id: str
    run_status: str

    def __init__(self, what: str, run_id: str, status: str, *, advice: str = "") -> None:
        super().__init__(what, advice=advice, run_id=run_id, run_status=status)


class Misused(AdjournError, RuntimeError):
    """The library was called in a way that cannot work; the message says how to call it."""


class NoOneToAnswer(Misused):
    """A chunk called `pause_for` in a flow that was started with `flow.start()`.

    Args:
        chunk: the chunk's name.
    """

    advice = "use flow.create_execution(), flow.start_execution() or a Runtime"
    chunk: str

    def __init__(self, chunk: str) -> None:
        super().__init__(
            f"chunk {chunk} called pause_for, but flow.start() cannot be answered", chunk=chunk
        )
