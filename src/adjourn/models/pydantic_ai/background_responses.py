"""Background responses of OpenAI's Responses API, through pydantic-ai."""

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any, cast

from adjourn.core.messages import Delta, ModelRequest, Reply
from adjourn.core.usage import Usage
from adjourn.errors import AdjournError, InvalidDefinition, ModelError
from adjourn.models.background_model import GROWS, ResponseEnd
from adjourn.models.pydantic_ai.provider import PydanticAIModel, resolve

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelResponse
    from pydantic_ai.models import Model as ProviderModel
    from pydantic_ai.models.openai import OpenAIResponsesModel

PATIENCE = 60.0
"""Seconds for one of its requests, all of which are short."""


class OpenAIBackground:
    """See `adjourn.models.background`."""

    takes_files = True

    def __init__(
        self, model: "str | ProviderModel", first: float, most: float, *, honours_keys: bool
    ) -> None:
        found = resolve(model)
        if not isinstance(found, PydanticAIModel):
            raise InvalidDefinition(
                f"background() takes the name of a model or a pydantic-ai model, got {model!r:.80}",
                advice=(
                    "a model of your own implements submit, fetch and withdraw "
                    "(adjourn.models.BackgroundModel)"
                ),
            )
        self._model, self._first, self._most = found, first, most
        self.honours_keys = honours_keys

    @property
    def name(self) -> str:
        """The model's own."""
        return self._model.name

    def __repr__(self) -> str:
        return f"background({self.name!r})"

    def is_price_listed(self) -> bool | None:
        """See `PydanticAIModel`."""
        return self._model.is_price_listed()

    async def file_refusal(self, ref: dict[str, Any], data: bytes) -> str:
        """See `PydanticAIModel`."""
        return await self._model.file_refusal(ref, data)

    def request(self, request: ModelRequest) -> AsyncIterator[Delta | Reply]:
        """In the foreground."""
        return self._model.request(request)

    def wait(self, polls: int) -> float:
        """Longer each time, up to a bound."""
        return min(self._most, self._first * GROWS ** min(polls, 50))

    async def submit(self, request: ModelRequest, key: str) -> str | Reply:
        """See `BackgroundModel.submit`. The key goes with it as a header, and with the run's id into
        the metadata, by which people find the response at the provider."""
        model = await self._responses()
        from adjourn.models.pydantic_ai import messages as translate

        settings = dict(request.settings or {})
        body = dict(cast("dict[str, Any]", settings.get("extra_body") or {}))
        told = {"adjourn_run": request.run, "adjourn_key": key}
        settings |= {
            "openai_background": True,
            "openai_store": True,
            "extra_headers": {**settings.get("extra_headers", {}), "Idempotency-Key": key},
            "extra_body": {**body, "metadata": {**body.get("metadata", {}), **told}},
        }
        settings.setdefault("timeout", PATIENCE)
        changed = ModelRequest(
            request.messages, request.instructions, request.tools, settings, files=request.files
        )
        try:
            question = translate.ProviderRequest.of(model, changed, self.name)
            response = await question.once()
            if response.state != "suspended":
                return translate.reply(response, request, self.name)
        except AdjournError:
            raise
        except Exception as e:
            raise translate.failure(self.name, e) from e
        if not response.provider_response_id:
            raise ModelError(f"{self.name} accepted the request but gave no id for it")
        return response.provider_response_id

    async def fetch(self, request: ModelRequest, id: str) -> Reply | ResponseEnd | None:
        """See `BackgroundModel.fetch`."""
        response = await self._retrieved(id)
        if isinstance(response, ResponseEnd):
            return response
        if response.state == "suspended":
            return None
        if response.finish_reason == "error":
            return ResponseEnd(
                f"{self.name}: the response was cancelled at the provider", "cancelled"
            )
        from adjourn.models.pydantic_ai import messages as translate

        try:
            return translate.reply(response, request, self.name)
        except ModelError as e:
            return ResponseEnd(str(e), e.kind, e.transient)

    async def withdraw(self, id: str) -> Usage:
        """See `BackgroundModel.withdraw`."""
        model = await self._responses()
        from pydantic_ai import exceptions

        from adjourn.models.pydantic_ai import messages as translate

        try:
            await model.cancel_suspended_response(_suspended(model, id))
        except exceptions.ModelHTTPError as e:
            if e.status_code not in (400, 404, 409):  # it has ended, or is not there any more
                raise translate.failure(self.name, e) from e
        except Exception as e:
            raise translate.failure(self.name, e) from e
        try:
            found = await self._retrieved(id)
        except ModelError:
            return Usage(estimated=True)
        if isinstance(found, ResponseEnd):
            return Usage(estimated=True)
        return translate.usage(found)

    async def _responses(self) -> "OpenAIResponsesModel":
        model = await self._model.provider_model()
        from pydantic_ai.models.openai import OpenAIResponsesModel

        if not isinstance(model, OpenAIResponsesModel):
            raise ModelError(
                f"{self.name} has no background mode: it is for OpenAI's Responses API, "
                "for example 'openai-responses:gpt-5'",
                kind="invalid_request",
            )
        return model

    async def _retrieved(self, id: str) -> "ModelResponse | ResponseEnd":
        """What there is now. A failure of the response itself is an end, one of the request for it
        is raised."""
        model = await self._responses()
        from pydantic_ai import exceptions

        from adjourn.models.pydantic_ai import messages as translate

        try:
            return await translate.continued(model, _suspended(model, id), PATIENCE)
        except exceptions.SuspendedResponseExpired:
            gone = (
                f"{self.name}: the response {id} is no longer at the provider; it may have been "
                "answered, and charged"
            )
            return ResponseEnd(gone, "not_found")
        except Exception as e:
            failed = translate.failure(self.name, e)
            reached = not isinstance(e, exceptions.ModelHTTPError)
            lost = failed.kind in ("timeout", "connection")
            if isinstance(e, exceptions.ModelAPIError) and reached and not lost:
                return ResponseEnd(str(failed), failed.kind, failed.transient)
            raise failed from e


def _suspended(model: "OpenAIResponsesModel", id: str) -> "ModelResponse":
    """A response as the provider's adapter knows one that is not ready."""
    from pydantic_ai.messages import ModelResponse

    return ModelResponse(
        parts=[],
        provider_response_id=id,
        provider_name=model.system,
        state="suspended",
        provider_details={"background": True},
    )
