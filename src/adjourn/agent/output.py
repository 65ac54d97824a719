"""The output: text, or a type that what the model hands over is validated against."""

from functools import cached_property
from typing import Any

from adjourn.bodies.secret_types import secret_in
from adjourn.bodies.signature import shape
from adjourn.core.action_digest import digest
from adjourn.core.codec import loads, plain, text_of
from adjourn.core.messages import Reply, ToolSpec
from adjourn.core.thread import OUTPUT_TOOL
from adjourn.errors import Invalid, InvalidDefinition


class Output:
    """What an agent's last word must be."""

    def __init__(self, type_: Any) -> None:
        self.type = type_
        self.plain = type_ is str
        if isinstance(type_, bool | int | float | bytes | list | dict | set):
            raise InvalidDefinition(
                f"output_type= must be a type, such as str, a dataclass or a BaseModel, got {type_!r:.80}"
            )
        if secret_in(type_) is not None:
            raise InvalidDefinition(
                f"output_type={type_!r:.80} holds a secret, and outputs are shown and recorded",
                advice="leave it out",
            )

    @cached_property
    def _adapter(self) -> Any:
        from pydantic import TypeAdapter

        try:
            return TypeAdapter(self.type)
        except Exception as e:
            raise InvalidDefinition(
                f"output_type= must be a type that pydantic can validate, got {self.type!r}: {e}"
            ) from None

    @cached_property
    def _schema(self) -> dict[str, Any]:
        """An object schema: what is not an object is wrapped as its `value`."""
        schema = self._adapter.json_schema()
        if schema.get("type") == "object":
            return schema
        return {
            "type": "object",
            "properties": {"value": schema},
            "required": ["value"],
            "$defs": schema.pop("$defs", {}),
        }

    @property
    def _wrapped(self) -> bool:
        return self._adapter.json_schema().get("type") != "object"

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """The tool with which a structured output is handed over; none for text."""
        if self.plain:
            return ()
        return (
            ToolSpec(
                OUTPUT_TOOL,
                "Hand over the final result. Call it alone, once, at the end.",
                self._schema,
            ),
        )

    @property
    def fingerprint(self) -> str:
        """Its shape."""
        if self.plain:
            return ""
        return digest("output", shape(self._schema))[:16]

    def take(self, reply: Reply) -> tuple[bool, Any, str]:
        """Whether a reply is the end, the output as JSON, and what to tell the model if it is not
        acceptable."""
        calls = reply.calls
        if self.plain:
            if calls:
                return (False, None, "")
            return (True, reply.text, "")
        finals = [c for c in calls if c.tool == OUTPUT_TOOL]
        if len(calls) > 1 or (calls and not finals):
            return False, None, ""
        value = finals[0].args if finals else self._parsed(reply.text)
        if finals and self._wrapped and isinstance(value, dict):
            value = value.get("value", value)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
        try:
            return (
                True,
                plain(
                    self._adapter.dump_python(self._adapter.validate_python(value), mode="json"),
                    "output",
                ),
                "",
            )
        except KeyboardInterrupt:
            raise
        except BaseException as e:
            why = text_of(e) or type(e).__name__
            advice = f"Correct it and call {OUTPUT_TOOL} again."
            return (False, None, f"That is not a valid final result: {why}. {advice}")

    @staticmethod
    def _parsed(text: str) -> Any:
        try:
            return loads(text, what="the reply")
        except Invalid:
            return text

    def load(self, value: Any) -> Any:
        """The output as the type."""
        if self.plain:
            return value
        return self._adapter.validate_python(value)
