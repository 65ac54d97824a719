"""From a Python function to what a model sees, and from a model's JSON to the function's
arguments."""

import inspect
import re
import typing
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cached_property
from types import FunctionType
from typing import Annotated, Any, cast, get_args, get_origin

import msgspec

from adjourn.bodies.plain_arguments import NOTHING, ArgumentSchema, PlainArguments
from adjourn.bodies.secret_types import Secret, marked, secret_in, secret_mark
from adjourn.core.action_digest import digest
from adjourn.core.codec import encode, error_text, plain
from adjourn.core.files import NO_ARGUMENT, File
from adjourn.core.program_changes import OPTIONAL
from adjourn.core.schema import check_schema
from adjourn.errors import InvalidAnswer, InvalidDefinition, NotJSON

if typing.TYPE_CHECKING:
    from pydantic import BaseModel, ValidationError


class Resource(msgspec.Struct, frozen=True):
    """Marks a tool's parameter as a live object of the process that advances the run:
    `Annotated[Bank, Resource("bank")]`.

    Args:
        name: its name in `resources=`.
    """

    name: str


class ArgumentError(Exception):
    """Arguments that do not fit; the text is for the model."""


class Signature(msgspec.Struct, frozen=True, dict=True):
    """A function taken apart. `context` and `resources` are injected and hidden from the model."""

    function: Callable[..., Any]
    name: str
    context: str = ""
    resources: dict[str, str] = {}
    parameters: dict[str, inspect.Parameter] = {}
    hints: dict[str, Any] = {}
    described: dict[str, str] = {}

    @classmethod
    def of(cls, function: Callable[..., Any], name: str, context_type: type) -> "Signature":
        """Take `function` apart; raises `InvalidDefinition` for what no model could call."""
        context, resources = "", dict[str, str]()
        parameters: dict[str, inspect.Parameter] = {}
        hints = _hints(function)
        for parameter in inspect.signature(function).parameters.values():
            hint = hints.get(parameter.name, parameter.annotation)
            marks = _resources(hint)
            if hint is context_type or (isinstance(hint, str) and hint == context_type.__name__):
                context = parameter.name
            elif marks:
                resources[parameter.name] = marks[0].name
            elif parameter.kind in (
                parameter.VAR_POSITIONAL,
                parameter.VAR_KEYWORD,
                parameter.POSITIONAL_ONLY,
            ):
                raise InvalidDefinition(
                    f"tool {name!r}: a model cannot pass {str(parameter)!r}",
                    advice="use plain named parameters",
                )
            else:
                parameters[parameter.name] = parameter
        return cls(
            function,
            name,
            context,
            resources,
            parameters,
            hints,
            _described(function.__doc__ or ""),
        )

    @cached_property
    def _model(self) -> "type[BaseModel]":
        from pydantic import ConfigDict, Field, create_model
        from pydantic.fields import FieldInfo

        fields: dict[str, Any] = {}
        for place, parameter in enumerate(self.parameters.values()):
            if parameter.default is parameter.empty:
                default = ...
            else:
                default = parameter.default
            if parameter.annotation is parameter.empty:
                hint = Any
            else:
                hint = self.hints.get(parameter.name, parameter.annotation)
            if isinstance(default, FieldInfo):  # `id: UUID = Field(default_factory=uuid4)`
                default, hint = ..., Annotated[hint, default]
            # Numbered names with aliases: a parameter may be called `json`, `schema` or `model_x`.
            info = Field(
                default, alias=parameter.name, description=self.described.get(parameter.name)
            )
            if get_origin(hint) is Annotated and self.described.get(parameter.name) is None:
                info = Field(default, alias=parameter.name)
            fields[f"p{place}"] = (hint, info)
        try:
            return create_model(
                self.name,
                __config__=ConfigDict(extra="forbid", arbitrary_types_allowed=False),
                **fields,
            )
        except Exception as e:
            raise InvalidDefinition(
                f"tool {self.name!r}: its parameters cannot be described to a model: {e}"
            ) from None

    @cached_property
    def _invalid(self) -> "type[ValidationError]":
        from pydantic import ValidationError

        return ValidationError

    @cached_property
    def _in_order(self) -> Callable[[Any, Any, Any], Any]:
        from adjourn.bodies.argument_schema import in_order

        return in_order

    @cached_property
    def _fields(self) -> list[tuple[str, str]]:
        return [(f"p{place}", name) for place, name in enumerate(self.parameters)]

    def check_parameters(self) -> None:
        """Raise `InvalidDefinition` for a parameter that is a file, or that hides what it holds and
        is not marked as a `Secret` that can be sealed."""
        for name, parameter in self.parameters.items():
            hint = self.hints.get(name)
            if inspect.isclass(hint) and issubclass(hint, File):
                raise InvalidDefinition(f"tool {self.name!r}, {name!r}: {NO_ARGUMENT}")
            if name in self.secrets:
                self._check_sealable(name, parameter)
            elif (where := secret_in(self.hints.get(name, parameter.annotation))) is not None:
                raise InvalidDefinition(
                    f"tool {self.name!r}: {name + where!r} is a secret, and arguments are "
                    f"shown to people and recorded in "
                    "the journal",
                    advice="give the tool what it needs as a resource: "
                    "Annotated[Vault, Resource('vault')], and run(resources={'vault': …})",
                )

        if self.secret_result is not None:
            self._check_result()

    def _check_result(self) -> None:
        mark = self.secret_result
        assert mark is not None
        if get_args(self.hints["return"])[0] is not str:
            raise InvalidDefinition(
                f"tool {self.name!r}: a result that is a Secret must be Annotated[str, Secret()]"
            )
        try:
            mark.ring()
        except InvalidDefinition as error:
            raise InvalidDefinition(
                f"tool {self.name!r}: its result is a Secret, and {error}"
            ) from None

    @cached_property
    def secret_result(self) -> Secret | None:
        """The mark of what the function returns, if that is a secret."""
        return secret_mark(self.hints.get("return"))

    @cached_property
    def secret_resources(self) -> dict[str, str]:
        """The resources that are secrets, by parameter."""
        found: dict[str, str] = {}
        for name, resource in self.resources.items():
            if secret_mark(self.hints.get(name)) is not None:
                found[name] = resource
        return found

    @cached_property
    def secrets(self) -> dict[str, Secret]:
        """The parameters that are secrets."""
        found: dict[str, Secret] = {}
        for name, parameter in self.parameters.items():
            mark = secret_mark(self.hints.get(name, parameter.annotation))
            if mark is not None:
                found[name] = mark
        return found

    def _check_sealable(self, name: str, parameter: inspect.Parameter) -> None:
        if get_args(self.hints.get(name))[0] is not str:
            raise InvalidDefinition(
                f"tool {self.name!r}: {name!r} is a Secret and must be Annotated[str, Secret()]"
            )
        if parameter.default is not parameter.empty:
            raise InvalidDefinition(
                f"tool {self.name!r}: {name!r} is a Secret and cannot have a default"
            )
        try:
            self.secrets[name].ring()
        except InvalidDefinition as error:
            raise InvalidDefinition(
                f"tool {self.name!r}: {name!r} is a Secret: {error.what}", advice=error.advice
            ) from None

    @cached_property
    def _plain(self) -> PlainArguments | None:
        return PlainArguments.of(self.parameters, self.hints)

    @cached_property
    def _schema(self) -> ArgumentSchema:
        if not self.parameters:
            return ArgumentSchema(NOTHING, NOTHING, None)
        if self._plain is not None:
            return self._plain.schema(self.described)
        from adjourn.bodies.argument_schema import argument_schema

        self.check_parameters()  # again: a type may have been completed since the tool was defined
        return argument_schema(self._model)

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON Schema of its arguments."""
        return self._schema.told

    @property
    def edit_schema(self) -> dict[str, Any]:
        """The JSON Schema of complete arguments: those that are drawn are required."""
        return self._schema.complete

    @cached_property
    def draws(self) -> bool:
        """Whether an argument that is left out gets a value of its own each time: it has a
        `default_factory`."""
        return self.schema != self.edit_schema

    def validate(self, args: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """The arguments as Python values for the call, and as the JSON that is shown, digested and
        run.

        The values are those of the JSON: whoever reads it once more gets the same.
        """
        if not isinstance(args, dict):
            raise ArgumentError(f"the arguments are not a JSON object: {args!r:.200}")
        if self.secrets:
            self._check_sealed(cast("dict[str, Any]", args))
        values, shown = self._read(cast("dict[str, Any]", args))
        if shown == args:
            return values, shown
        values, again = self._read(shown)
        if again != shown:
            other = sorted(name for name in shown if shown[name] != again.get(name))
            raise ArgumentError(
                f"{', '.join(other)}: validating it changes it every time, so it is impossible to "
                "show what would run; the tool's validators must accept their own output"
            )
        return values, shown

    def _check_sealed(self, args: dict[str, Any]) -> None:
        from adjourn.core.secret_places import looks_sealed

        for name in self.secrets:
            if name in args and not looks_sealed(args[name]):
                raise ArgumentError(f"{name}: it is a secret, and was not sealed")

    def _read(self, args: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        if self._plain is not None and (found := self._plain.read(args)) is not None:
            return found, dict(found)
        try:
            model = self._model.model_validate(args)
        except self._invalid as e:
            raise ArgumentError(
                "; ".join(_said(error) for error in e.errors(include_url=False))
            ) from None
        except KeyboardInterrupt:
            raise
        except BaseException as e:  # a validator of the tool's own
            raise ArgumentError(error_text(e)) from None
        values = {name: getattr(model, field) for field, name in self._fields}
        try:
            shown = plain(model.model_dump(mode="json", by_alias=True), "arguments")
        except NotJSON as e:  # the text "NaN" is a float to pydantic
            raise ArgumentError(e.what) from None
        except KeyboardInterrupt:
            raise
        except BaseException as e:  # a serializer
            raise ArgumentError(error_text(e)) from None
        if (sets := self._schema.sets) is not None:
            shown = self._in_order(sets, sets.root, shown)
        return values, shown


def _resources(hint: Any) -> list[Resource]:
    if get_origin(hint) is not Annotated:
        return []
    return [mark for mark in get_args(hint)[1:] if isinstance(mark, Resource)]


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    """Annotations, evaluated, also when they are strings that name local types."""
    local = _closed_over(function) if inspect.isfunction(function) else {}
    try:
        return typing.get_type_hints(function, localns=local, include_extras=True)
    except Exception as e:
        raw = getattr(function, "__annotations__", {})
        if any(isinstance(hint, str) for hint in raw.values()):
            raise InvalidDefinition(
                f"tool {getattr(function, '__name__', function)!r}: an annotation cannot be resolved ({e})",
                advice="define its type at module level",
            ) from None
        return dict(raw)


def _closed_over(function: FunctionType) -> dict[str, Any]:
    """What a function sees of the functions around it; not what will be assigned there later
    only."""
    local: dict[str, Any] = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        with suppress(ValueError):  # still empty
            local[name] = cell.cell_contents
    return local


def _said(error: Any) -> str:
    where = ".".join(map(str, error["loc"]))
    if where:
        return f"{where}: {error['msg']}"
    return str(error["msg"])


_SECTION = r"^\s*(Args|Arguments|Parameters):\s*$"
_ENTRY = r"^\s+\**(\w+)\s*(?:\([^)]*\))?:\s*(.+)$"


def _described(doc: str) -> dict[str, str]:
    """Descriptions of parameters from an `Args:` section."""
    found: dict[str, str] = {}
    inside, last = False, ""
    for line in doc.splitlines():
        if re.match(_SECTION, line):
            inside = True
        elif inside and (entry := re.match(_ENTRY, line)):
            last = entry[1]
            found[last] = entry[2].strip()
        elif inside and line.strip() and last and line.startswith("    "):
            found[last] += " " + line.strip()
        elif inside and not line.strip():
            inside = False
    return found


def summary(doc: str) -> str:
    """A docstring without its sections."""
    kept: list[str] = []
    for line in inspect.cleandoc(doc).splitlines():
        if re.match(
            r"^(Args|Arguments|Parameters|Returns|Raises|Yields|Example|Examples):\s*$", line
        ):
            break
        kept.append(line)
    return "\n".join(kept).strip()


def shape(schema: Any) -> Any:
    """A schema without its words: what a fingerprint is made of."""
    if isinstance(schema, list):
        return list(map(shape, cast("list[Any]", schema)))
    if not isinstance(schema, dict):
        return schema
    found: dict[str, Any] = {}
    for key, value in cast("dict[str, Any]", schema).items():
        if key in ("properties", "$defs") and isinstance(value, dict):
            found[key] = {name: shape(part) for name, part in cast("dict[str, Any]", value).items()}
        elif key not in ("description", "title", "examples") or not isinstance(value, str | list):
            found[key] = _unordered(key, shape(value))
    return found


def parameters(schema: Mapping[str, Any], effect: str) -> dict[str, str]:
    """The shape of each argument by its name, `name?` if it may be left out; under "" that of all
    else, and the effect.

    An argument's shape has in it whatever it refers to, so that another argument's definitions are
    not its own.
    """
    plain: dict[str, Any] = shape(schema)
    definitions: dict[str, Any] = plain.get("$defs", {})
    required = plain.get("required", [])
    found: dict[str, str] = {}
    for name, part in plain.get("properties", {}).items():
        key = name if name in required else f"{name}{OPTIONAL}"
        found[key] = digest("argument", part, _referred(part, definitions))[:8]
    rest = dict(plain)
    for key in ("properties", "required", "$defs"):
        rest.pop(key, None)
    return {"": digest("tool", rest, effect)[:8], **found}


def _referred(part: Any, definitions: Mapping[str, Any]) -> dict[str, Any]:
    """The definitions that a schema needs, theirs included."""
    found: dict[str, Any] = {}
    waiting = [part]
    while waiting:
        text = encode(waiting.pop()).decode()
        for name, definition in definitions.items():
            if name not in found and f'"#/$defs/{name}"' in text:
                found[name] = definition
                waiting.append(definition)
    return dict(sorted(found.items()))


def _unordered(key: str, value: Any) -> Any:
    """`required` in whatever order the parameters stand."""
    if key == "required" and isinstance(value, list):
        return sorted(value)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    return value


def answer_schema(given: Any) -> dict[str, Any] | bool | None:
    """A Python type or a JSON Schema dict, as the JSON Schema that is recorded."""
    if given is None or isinstance(given, bool):
        return given
    if isinstance(given, dict):
        schema: dict[str, Any] = plain(given, "answer_schema")
        check_schema(schema, "answer_schema")
        _check_askable(schema, "answer_schema")
        return schema
    from pydantic import TypeAdapter

    before = marked.set(True)
    try:
        made = TypeAdapter(given).json_schema()
    except Exception as e:
        raise InvalidDefinition(
            f"answer_schema= must be a Python type or a JSON Schema dict, got {given!r}: {e}"
        ) from None
    finally:
        marked.reset(before)
    check_schema(made, f"answer_schema={given!r:.80}")
    _check_askable(made, f"answer_schema={given!r:.80}", meant=secret_in(given) is not None)
    return made


def _check_askable(schema: dict[str, Any], what: str, *, meant: bool = False) -> None:
    """See `sealed_answers.check_askable`. `meant`: a secret is wanted."""
    from adjourn.core.secret_places import has_secrets  # few bodies ask for anything

    if has_secrets(schema):
        from adjourn.driver.sealed_answers import check_askable

        check_askable(schema, what)
    elif meant:
        raise InvalidDefinition(
            f"{what} asks for a secret, and its schema does not say where",
            advice="mark a string in it: Annotated[str, Secret()]",
        )


def check_takes(function: Callable[..., Any] | None, count: int, promise: str) -> None:
    """Raise `InvalidDefinition`, with this promise, for a function that cannot be called with so
    many arguments. Said when it is defined: an undo is needed in the middle of a cancel."""
    if function is None:
        return
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # a builtin may have none
        return
    try:
        signature.bind(*[None] * count)
    except TypeError:
        name = getattr(function, "__name__", "")
        raise InvalidDefinition(f"{promise}; {name}{signature} does not") from None


__all__ = [
    "ArgumentError",
    "InvalidAnswer",
    "Resource",
    "Signature",
    "answer_schema",
    "shape",
    "summary",
]
