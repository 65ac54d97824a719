"""Errors that are kept for whoever asks later what happened, without keeping alive what they
happened to."""

import os.path
import traceback
from types import TracebackType
from typing import Generic, TypeVar, cast

E = TypeVar("E", bound=BaseException)

PACKAGE = os.path.dirname(os.path.dirname(__file__))
MOST, BYTES = 1000, 8_000_000
"""So many are kept, the latest, and so much of what they say."""
OBJECT = 2_000
"""What an error costs beside its words."""


class KeptErrors(Generic[E]):
    """The last error of each run. It still says where it was raised; the variables there are let
    go, and with them the run."""

    def __init__(self, most: int = MOST, limit: int = BYTES) -> None:
        self._most, self._limit, self._size = most, limit, 0
        self._errors: dict[str, tuple[E, int]] = {}

    def get(self, run: str) -> E | None:
        """The error of a run, if one is kept."""
        found = self._errors.get(run)
        return found[0] if found else None

    def keep(self, run: str, error: E) -> None:
        """Keep it, as the run's only one; the oldest makes room."""
        self.forget(run)
        size = _let_go(error)
        self._errors[run] = error, size
        self._size += size
        while len(self._errors) > self._most or self._size > self._limit:
            self.forget(next(iter(self._errors)))

    def forget(self, run: str) -> None:
        """The run goes on."""
        if found := self._errors.pop(run, None):
            self._size -= found[1]

    def clear(self) -> None:
        """Forget all of them."""
        self._errors.clear()
        self._size = 0

    def __contains__(self, run: str) -> bool:
        return run in self._errors

    def __len__(self) -> int:
        return len(self._errors)


def _let_go(error: BaseException) -> int:
    """Clear the frames of an error and of all that it came from. Frames that still run are left as
    they are. About what is left."""
    size = 0
    seen: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting:
        one = waiting.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        size += OBJECT + len(str(one))
        traceback.clear_frames(one.__traceback__)
        _let_callers_go(one.__traceback__)
        waiting += [one.__cause__, one.__context__]
        if isinstance(one, BaseExceptionGroup):
            waiting += cast("BaseExceptionGroup[BaseException]", one).exceptions
    return size


def _let_callers_go(place: TracebackType | None) -> None:
    """From Python 3.12 on a frame that is kept keeps the one that called it, and so up to the step of the
    run. Only our own are cleared: a caller's that is suspended would be ended by that."""
    while place is not None:
        caller = place.tb_frame.f_back
        while caller is not None and caller.f_code.co_filename.startswith(PACKAGE):
            try:
                caller.clear()
            except RuntimeError:  # it is at work
                break
            caller = caller.f_back
        place = place.tb_next
