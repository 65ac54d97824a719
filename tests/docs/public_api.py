"""The public callables: every function, class and method that a user may call, with its parameters and its docstring."""

import ast
import importlib
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

RETURNED = ("adjourn.flow.builder:Chain",)
"""Classes that users only get, from a public callable: their methods are called, and they have no place of their own."""
MODULES = (
    "adjourn",
    "adjourn.policy",
    "adjourn.hooks",
    "adjourn.parts",
    "adjourn.errors",
    "adjourn.events",
    "adjourn.views",
    "adjourn.signing",
    "adjourn.secrets",
    "adjourn.wakes",
    "adjourn.schedules",
    "adjourn.telemetry",
    "adjourn.guests",
    "adjourn.models",
    "adjourn.stores",
    "adjourn.server",
    "adjourn.testing",
)

# Members that are there for the other layers, not for users.
INTERNAL: dict[str, str] = {
    "Agent": "background chain model models summary_chain program fingerprint instructions_for specs terms load",
    "Deciders": "is_right of trusting",
    "Flow": "program fingerprint graph load",
    "FlowContext": "leftover",
    "Guard": "address enter identify is_encrypted limit login login_by_link logout recognise",
    "Runtime": "store worker deliver row keep_sealed",
    "SigningKey": "sealed saved_line",
    "Tool": "bind check_ahead is_complete read validate",
    "ToolContext": "leftover",
    **dict.fromkeys(
        ("MaxSteps", "MaxTokens", "MaxCost", "MaxTime", "TextMention", "ToolCalled", "External"),
        "check measure true remaining bounds_steps",
    ),
}
# Classes whose methods are documented at the protocol that they implement, or are tests.
ELSEWHERE = {"CheckedStore", "Faulty", "GuestContract", "StoreContract", "Watched"}
MADE_BY_ADJOURN = {
    "Chain",
    "BackgroundModel",
    "Execution",
    "FlowContext",
    "Handle",
    "Model",
    "Run",
    "RunStream",
    "Store",
    "ToolContext",
}
"""Classes that users hold and do not construct."""

SECTION = re.compile(r"^(?:Args|Attributes):\n((?:    .*\n?|\n)+)", re.MULTILINE)
ENTRY = re.compile(r"^    (?P<names>\w+(?:, \w+)*): (?P<text>.*(?:\n        .*)*)", re.MULTILINE)


@dataclass(frozen=True)
class PublicCallable:
    """A function, a constructor or a method."""

    module: str
    name: str
    function: Callable[..., Any]
    docstring: str

    @cached_property
    def parameters(self) -> list[inspect.Parameter]:
        """Its parameters, without `self`."""
        found = list(inspect.signature(self.function).parameters.values())
        return [one for one in found if one.name not in ("self", "cls")]

    @cached_property
    def documented(self) -> dict[str, str]:
        """What the docstring says of each parameter, from its sections `Args` and `Attributes`."""
        found: dict[str, str] = {}
        for section in SECTION.findall(self.docstring):
            for entry in ENTRY.finditer(section):
                text = " ".join(entry["text"].split())
                found |= dict.fromkeys(entry["names"].split(", "), text)
        return found

    @property
    def text(self) -> str:
        """The docstring without these sections."""
        return SECTION.sub("", self.docstring).strip()

    @property
    def written(self) -> Callable[..., Any]:
        """What says how it is called: of a class the `__init__` that is written for it, which knows its own file."""
        kinds: tuple[type[Any], ...] = getattr(self.function, "__mro__", ())
        for kind in kinds:
            made = vars(kind).get("__init__")
            if inspect.isfunction(made) and made.__code__.co_filename != "<string>":
                return made
            if vars(kind).get("__annotations__"):
                break
        return self.function

    @cached_property
    def types(self) -> dict[str, str]:
        """The annotation of each parameter as it is written, and of what it returns as `return`."""
        [node] = ast.parse(textwrap.dedent(inspect.getsource(self.written))).body
        if isinstance(node, ast.ClassDef):
            fields = [one for one in node.body if isinstance(one, ast.AnnAssign)]
            return {ast.unparse(one.target): written(one.annotation) for one in fields}
        assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        every = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs, node.args.vararg, node.args.kwarg]
        found = {one.arg: written(one.annotation) for one in every if one is not None}
        return {**found, "return": written(node.returns)}


def written(annotation: ast.expr | None) -> str:
    """An annotation as it stands in the source, without quotes."""
    if annotation is None:
        return ""
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        return annotation.value
    text = ast.unparse(annotation)
    return text.replace("'", '"') if "Literal" in text else text.replace("'", "")


def is_internal(kind: type[object], name: str) -> bool:
    return any(name in INTERNAL.get(base.__name__, "").split() for base in kind.__mro__)


def methods(module: str, kind: type[object]) -> Iterator[PublicCallable]:
    """The public methods of a class, in the order of their definition."""
    names = dict.fromkeys(name for base in kind.__mro__ for name in vars(base))
    for name in names:
        function = inspect.unwrap(
            getattr(inspect.getattr_static(kind, name), "__func__", inspect.getattr_static(kind, name))
        )
        own = inspect.isfunction(function) and function.__module__.startswith("adjourn")
        if own and not name.startswith("_") and not is_internal(kind, name):
            yield PublicCallable(module, f"{kind.__name__}.{name}", function, inspect.getdoc(function) or "")


def constructor(module: str, kind: type[object]) -> PublicCallable | None:
    """What calling the class takes; its docstring and that of `__init__` together."""
    if kind.__name__ in MADE_BY_ADJOURN:
        return None
    own = [base for base in kind.__mro__ if "__init__" in vars(base) and base.__module__.startswith("adjourn")]
    is_struct = hasattr(kind, "__struct_fields__") or hasattr(kind, "__dataclass_fields__")
    if not own and not is_struct:
        return None
    said = [inspect.cleandoc(kind.__doc__ or "")]
    if own:
        said.append(inspect.cleandoc(vars(own[0])["__init__"].__doc__ or ""))
    return PublicCallable(module, kind.__name__, kind, "\n\n".join(said).strip() + "\n")


def public_things() -> dict[str, tuple[str, Any]]:
    """Every public function and class once, as `module:name`, at the first module that lists it."""
    seen, found = set[int](), dict[str, tuple[str, Any]]()
    for module in MODULES:
        imported = importlib.import_module(module)
        for name in imported.__all__:
            thing = getattr(imported, name)
            if (inspect.isclass(thing) or inspect.isfunction(thing)) and id(thing) not in seen:
                seen.add(id(thing))
                found[f"{module}:{name}"] = (module, thing)
    return found


def callables_of(module: str, thing: Any) -> list[PublicCallable]:
    """The function itself, or the constructor and the methods of a class."""
    if not inspect.isclass(thing):
        return [PublicCallable(module, thing.__name__, inspect.unwrap(thing), inspect.getdoc(thing) or "")]
    if thing.__name__ in ELSEWHERE:
        return []
    made = constructor(module, thing)
    return [*([made] if made else []), *methods(module, thing)]


def public_callables() -> list[PublicCallable]:
    """All of them."""
    return [one for module, thing in public_things().values() for one in callables_of(module, thing)]


def returned_callables() -> list[PublicCallable]:
    """The methods of what users only get."""
    found: list[PublicCallable] = []
    for name in RETURNED:
        module, _, kind = name.partition(":")
        found += callables_of(module, getattr(importlib.import_module(module), kind))
    return found
