"""Errors that are kept for whoever asks later what happened, without keeping alive what they happened to."""

import traceback
from collections import OrderedDict
from typing import Generic, TypeVar, cast

E = TypeVar("E", bound=BaseException)

MOST = 1000
"""So many are kept, the latest."""


class KeptErrors(Generic[E]):
    """The last error of each run. It still says where it was raised; the variables there are let go, and with them the run."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._errors: OrderedDict[str, E] = OrderedDict()

    def get(self, run: str) -> E | None:
        """The error of a run, if one is kept."""
        return self._errors.get(run)

    def keep(self, run: str, error: E) -> None:
        """Keep it, as the run's only one; the oldest makes room."""
        _let_go(error)
        self._errors[run] = error
        self._errors.move_to_end(run)
        if len(self._errors) > self._most:
            self._errors.popitem(last=False)

    def forget(self, run: str) -> None:
        """The run goes on."""
        self._errors.pop(run, None)

    def clear(self) -> None:
        """Forget all of them."""
        self._errors.clear()

    def __contains__(self, run: str) -> bool:
        return run in self._errors

    def __len__(self) -> int:
        return len(self._errors)


def _let_go(error: BaseException) -> None:
    """Clear the frames of an error and of all that it came from. Frames that still run are left as they are."""
    seen: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting:
        one = waiting.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        traceback.clear_frames(one.__traceback__)
        waiting += [one.__cause__, one.__context__]
        if isinstance(one, BaseExceptionGroup):
            waiting += cast("BaseExceptionGroup[BaseException]", one).exceptions
