"""Real providers, through pydantic-ai. It takes seconds to import: nothing of it is loaded before
the first request."""

import asyncio
import importlib
import os
import re
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from typing import TYPE_CHECKING, Any, cast

from adjourn.core.messages import Delta, ModelRequest, Reply, TextDelta
from adjourn.errors import AdjournError, InvalidDefinition, ModelError
from adjourn.models.model import Model, ModelChain

if TYPE_CHECKING:
    from pydantic_ai.models import Model as ProviderModel

    from adjourn.models.prices import Prices

EXTRAS = ("anthropic", "bedrock", "google", "groq", "mistral", "openai")
"""The providers with an extra of our own. Most others speak OpenAI's protocol and need that one."""


def resolve(model: object) -> Model:
    """Whatever a user may pass as `model=`, as a `Model`; raises `InvalidDefinition` for anything
    else.

    A provider string is taken on trust: whether its provider exists, is installed and has a key
    shows at the first request, so that a process that only reads and decides needs none of them.
    """
    if isinstance(model, str):
        provider, colon, name = model.partition(":")
        if model != "test" and not (provider and colon and name):
            raise InvalidDefinition(
                f"model {model!r} does not name its provider",
                advice="write 'provider:model', for example 'openai:gpt-5-mini'",
            )
        return PydanticAIModel(model)
    # Whoever holds one of its models has imported pydantic-ai already.
    theirs = sys.modules.get("pydantic_ai.models")
    if theirs is not None and isinstance(model, theirs.Model):
        return PydanticAIModel(cast("ProviderModel", model))
    if isinstance(model, Model) and not isinstance(model, type):
        return model
    if isinstance(model, type):
        what = f"the class {model.__name__}"
    else:
        what = f"an object of type {type(model).__name__}"
    raise InvalidDefinition(
        f"{what} is not a model",
        advice="pass a string such as 'openai:gpt-5-mini', a pydantic-ai Model object, "
        "or any object with `name` and `request` (adjourn.Model)",
    )


def model_chain(given: Any, prices: "Prices | None") -> ModelChain:
    """What a user may pass as `model=`: one model, or a list of them."""
    if isinstance(given, list | tuple):
        models = cast("Sequence[object]", given)
        if not models:
            raise InvalidDefinition(
                "model= is an empty list: a chain of models needs at least one model"
            )
    else:
        models = (given,)
    found = [resolve(model) for model in models]
    if prices is not None:
        from adjourn.models.prices import with_prices

        found = [with_prices(model, prices) for model in found]
    return ModelChain(tuple(found))


class PydanticAIModel:
    """A provider string, or any pydantic-ai `Model` object, as our `Model`.

    The provider's own retries are switched off for each request (`max_retries=0`), without touching
    the object that was passed in, unless `settings` ask for them. Models that cannot do that
    (Bedrock, Hugging Face, xAI) keep whatever their client was built with. An object that was
    passed in stays its owner's to close; connections that are made for a string are shared by all
    its users on one event loop, and closed with that loop.
    """

    takes_files = True

    def __init__(self, model: "str | ProviderModel") -> None:
        self._given = model

    @property
    def name(self) -> str:
        """The string it was made from, or `system:model`."""
        if isinstance(self._given, str):
            return self._given
        return self._given.model_id

    def __repr__(self) -> str:
        return f"PydanticAIModel({self.name!r})"

    def is_price_listed(self) -> bool | None:
        """Whether the price list of the provider library has it; None if that is not installed
        here, as in a process that only reads and decides."""
        try:
            from genai_prices.data_snapshot import get_snapshot
        except ImportError:
            return None
        provider, _, model = self.name.partition(":")
        # one provider has several endpoints: openai-responses, google-gla
        for known_as in (provider, provider.partition("-")[0], None):
            try:
                get_snapshot().find_provider_model(model, None, known_as, None)
            except LookupError:
                continue
            return True
        return False

    async def file_refusal(self, ref: dict[str, Any], data: bytes) -> str:
        """That it does not take a file, found out without asking the provider; "" if it does, or if
        the provider's library is not installed here.

        Args:
            ref: what a record says of the file.
            data: its bytes.
        """
        try:
            await _load(self.name)
            model = await asyncio.to_thread(_keyless, self._given)
        except AdjournError:
            return ""
        from adjourn.models.pydantic_ai.files import refusal
        from adjourn.models.pydantic_ai.messages import leaves_of

        return refusal(leaves_of(model), ref, data, self.name)

    async def provider_model(self) -> "ProviderModel":
        """The provider library's own, usable on this event loop."""
        await _load(self.name)
        from adjourn.models.pydantic_ai.messages import refresh

        if isinstance(self._given, str):
            model = await _opened(self._given)
        else:
            model = self._given
        refresh(model)
        return model

    async def request(self, request: ModelRequest) -> AsyncIterator[Delta | Reply]:
        """See `Model.request`. A model that cannot stream gives its whole text as one delta."""
        await _load(self.name)
        from adjourn.models.pydantic_ai import messages as translate
        from adjourn.models.pydantic_ai.open_response import hung_up

        try:
            model = await self.provider_model()
            question = translate.ProviderRequest.of(model, request, self.name)
            response = None
            if question.streams:
                opened = False
                try:
                    async with hung_up(model), question.stream() as stream:
                        opened = True
                        async for event in stream:
                            if (delta := translate.delta(event)) is not None:
                                yield delta
                        response = stream.get()
                except NotImplementedError:
                    if opened:
                        raise
            whole = response or await question.whole()
            reply = translate.reply(whole, request, self.name)
            if response is None and reply.text:
                yield TextDelta(reply.text)
        except AdjournError:
            raise
        except Exception as e:
            raise translate.failure(self.name, e) from e
        yield reply


_open: dict[
    tuple[asyncio.AbstractEventLoop, str, int], tuple["ProviderModel", AsyncGenerator[None]]
] = {}


async def _opened(name: str) -> "ProviderModel":
    """The one model of that name on this event loop, with its connections. Agents are often made
    anew for each run."""
    loop = asyncio.get_running_loop()
    # the environment says where it is, and the key
    key = (
        loop,
        name,
        hash(frozenset(os.environ.items())),
    )
    if key not in _open:
        # In a thread: it imports the provider's library, and other runs of this loop have leases to
        # renew.
        model = await asyncio.to_thread(_build, name)
        if key not in _open:
            for known in list(_open):
                if known[0].is_closed():
                    del _open[known]
            kept = _kept_open(model)
            _open[key] = model, kept
            await anext(kept)
    return _open[key][0]


async def _kept_open(model: "ProviderModel") -> AsyncGenerator[None]:
    """Keeps the connections of `model` for the next request. A loop that ends closes its
    generators, and so these."""
    async with model:
        yield


_loaded = False


async def _load(name: str) -> None:
    """Import pydantic-ai, once, without holding up the event loop."""
    global _loaded  # noqa: PLW0603
    if not _loaded:
        try:
            await asyncio.to_thread(importlib.import_module, "adjourn.models.pydantic_ai.messages")
        except ImportError as e:
            provider = name.partition(":")[0]
            raise _not_installed(
                name, next((x for x in EXTRAS if provider.startswith(x)), "openai"), e
            ) from e
        _loaded = True


def _keyless(given: "str | ProviderModel") -> "ProviderModel":
    """A model to look at, also in a process that has no key for its provider: it asks nobody."""
    if not isinstance(given, str):
        return given
    try:
        return _build(given)
    except ModelError:
        from pydantic_ai.providers import Provider, infer_provider_class

        def keyless(provider: str) -> Provider[Any]:
            made: Any = infer_provider_class(provider)
            return made(api_key="none")

        return _build(given, provider_factory=keyless)


def _build(name: str, **how: Any) -> "ProviderModel":
    from pydantic_ai.exceptions import UserError
    from pydantic_ai.models import infer_model

    try:
        return infer_model(name, **how)
    except ImportError as e:
        wanted = re.search(r"pydantic-ai-slim\[([\w-]+)\]", str(e))
        raise _not_installed(name, wanted[1] if wanted else "openai", e) from e
    except UserError as e:
        said = str(e).partition(" To try Pydantic AI")[0]
        if said.startswith("Unknown model"):
            raise InvalidDefinition(
                f"model {name!r}: unknown provider ({said})",
                advice=(
                    "write it as 'provider:model', for example 'openai:gpt-5-mini' (pip "
                    "install 'adjourn[openai]')"
                ),
            ) from e
        if re.search(r"api.?key|credential", said, re.IGNORECASE):
            kind = "auth"
        else:
            kind = "invalid_request"
        raise ModelError(f"{name} cannot be used: {said}", kind=kind) from e


def _not_installed(name: str, extra: str, error: ImportError) -> InvalidDefinition:
    package = "adjourn" if extra in EXTRAS else "pydantic-ai-slim"
    return InvalidDefinition(
        f"model {name!r} needs a package that is missing ({error}): pip install '{package}[{extra}]'"
    )
