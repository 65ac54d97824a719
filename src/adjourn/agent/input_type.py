"""What an agent that is a tool is given: a type that the model above sees as a schema."""

from collections.abc import Callable
from typing import Any

from adjourn.bodies.secret_types import secret_in
from adjourn.bodies.signature import ArgumentError
from adjourn.core.codec import plain, text_of
from adjourn.core.effect import is_function
from adjourn.errors import InvalidDefinition


class InputType:
    """A type for the input of a nested agent. The fields of an object are the arguments of the
    call; anything else is its argument `input`.

    Args:
        owner: whose it is, for errors.
        type_: anything that pydantic can validate.
        render: what the agent reads, made of the value; without it, the value as JSON.
    """

    def __init__(self, owner: str, type_: Any, render: Callable[[Any], str] | None = None) -> None:
        from pydantic import TypeAdapter

        if render is not None and not is_function(render):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidDefinition(f"{owner}: render= must be a function, got {render!r:.80}")
        if secret_in(type_) is not None:
            raise InvalidDefinition(
                f"{owner}: input_type={type_!r:.80} holds a secret, and an agent's input is recorded",
                advice="give the secret to a tool",
            )
        try:
            self._adapter = TypeAdapter[Any](type_)
            schema: dict[str, Any] = self._adapter.json_schema()
        except Exception as e:
            raise InvalidDefinition(
                f"{owner}: input_type= must be a type that pydantic can validate and describe as "
                f"JSON, got {type_!r:.80}: {text_of(e)}"
            ) from None
        self._render = render
        self._wrapped = schema.get("type") != "object"
        if self._wrapped:
            definitions = schema.pop("$defs", None)
            schema = {"type": "object", "properties": {"input": schema}, "required": ["input"]}
            if definitions:
                schema["$defs"] = definitions
        self.schema = {"additionalProperties": False, **schema}

    def _value(self, args: dict[str, Any]) -> Any:
        try:
            return self._adapter.validate_python(args["input"] if self._wrapped else args)
        except Exception as e:
            raise ArgumentError(text_of(e)) from None

    def complete(self, args: dict[str, Any]) -> dict[str, Any]:
        """The arguments as JSON, with what was left out; raises `ArgumentError` if they do not fit.

        Args:
            args: what the model gave.
        """
        given = plain(self._adapter.dump_python(self._value(args), mode="json"), "input")
        return {"input": given} if self._wrapped else given

    def rendered(self, args: dict[str, Any]) -> Any:
        """What the agent is told: a string, or the value as JSON; raises `ArgumentError`.

        Args:
            args: complete arguments.
        """
        if self._render is None:
            return args["input"] if self._wrapped else args
        try:
            text = self._render(self._value(args))
        except Exception as e:
            raise ArgumentError(
                f"it cannot be rendered as text ({type(e).__name__}: {text_of(e)})"
            ) from None
        if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ArgumentError(f"render= gave {type(text).__name__}, not a string")
        return text
