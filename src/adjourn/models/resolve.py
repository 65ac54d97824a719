"""From what a user names to a `Model`."""

from typing import Any, cast

from adjourn.errors import InvalidDefinition
from adjourn.models.model import Model


def resolve(model: Any) -> Model:
    """A `Model` of ours as it is; a provider string or a pydantic-ai model wrapped, loaded on first use."""
    if callable(getattr(model, "request", None)) and not _is_pydantic(model):
        return cast("Model", model)
    if isinstance(model, str) or _is_pydantic(model):
        from adjourn.models import pydantic_ai

        return pydantic_ai.resolve(model)
    raise InvalidDefinition(
        f"model= takes a provider string such as 'openai:gpt-5-mini', a pydantic-ai model, or an object with `request`, not {model!r:.80}"
    )


def _is_pydantic(model: Any) -> bool:
    return any(c.__module__.startswith("pydantic_ai.") for c in type(model).__mro__)
