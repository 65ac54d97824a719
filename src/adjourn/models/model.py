"""The only thing the rest of the system knows about a model, and a chain of them."""

from collections.abc import AsyncIterator, Iterable
from typing import Protocol, runtime_checkable

import msgspec

from adjourn.core.files import FileRef, described
from adjourn.core.messages import Delta, ModelRequest, Reply


@runtime_checkable
class Model(Protocol):
    """Anything that can answer a `ModelRequest`.

    One whose replies say what they cost (`Usage.cost`) has `reports_cost = True` beside it, so that
    `MaxCost` can be relied on without `prices=`. One that sends images and other files, or refuses
    them itself, has `takes_files = True`: no other model is asked about a conversation with files.
    It may have `await file_refusal(ref, data)`, a sentence for a file that it does not take, else
    `""`: what it would refuse then begins no run.
    """

    @property
    def name(self) -> str:
        """What timelines show, for example `"openai:gpt-5-mini"`."""
        ...

    def request(self, request: ModelRequest) -> AsyncIterator[Delta | Reply]:
        """Yield any number of deltas as they arrive, then exactly one `Reply`, and end.

        A model that cannot stream yields only the `Reply`. Cancelling the task that iterates must
        close the provider's connection. It must not retry by itself. Raises `ModelError` (with
        `transient` saying whether another attempt may help, and `retry_after` in seconds if the
        provider said so); any other exception counts as not transient.

        Args:
            request: what to answer.
        """
        ...


class ModelChain(msgspec.Struct, frozen=True):
    """Models in the order in which they are asked: the next one when one fails.

    Which one it is follows from the number of the attempt, which the fold counts from the records
    of the attempts that failed. So a worker that takes the run over asks the same one.
    """

    models: tuple[Model, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Of all its models."""
        return tuple(model.name for model in self.models)

    def model(self, attempt: int) -> Model:
        """Who is asked at this attempt, counted from 1."""
        return self.models[(attempt - 1) % len(self.models)]

    def after(self, attempt: int) -> Model | None:
        """Who is asked at once when this attempt fails; None after the last of the chain."""
        if attempt % len(self.models) == 0:
            return None
        return self.model(attempt + 1)

    def round(self, attempt: int) -> int:
        """How often the chain has been gone through with this attempt, counted from 1."""
        return (attempt - 1) // len(self.models) + 1

    async def refusal(self, files: Iterable[FileRef]) -> str:
        """Why none of its models takes these files, which carry their bytes; "" if one takes all of
        them, or if that shows only when it is asked."""
        given, said = list(files), list[str]()
        for model in self.models:
            why = await _refusal(model, given)
            if not why:
                return ""
            said.append(why)
        return ", and ".join(said)


async def _refusal(model: Model, files: Iterable[FileRef]) -> str:
    ask = getattr(model, "file_refusal", None)
    for file in files:
        why = ""
        if not getattr(model, "takes_files", False):
            why = f"{model.name} does not take files, and there is {described(file)}"
        elif ask is not None:
            why = await ask(file, file.data or b"")
        if why:
            return why
    return ""
