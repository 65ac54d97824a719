"""The public callables: every function, class and method that a user may call, with its parameters and its docstring."""

import importlib
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

MODULES = (
    "adjourn",
    "adjourn.policy",
    "adjourn.events",
    "adjourn.views",
    "adjourn.signing",
    "adjourn.wakes",
    "adjourn.models",
    "adjourn.stores",
    "adjourn.server",
    "adjourn.testing",
)


@dataclass(frozen=True)
class PublicCallable:
    """A function, a constructor or a method."""

    module: str
    name: str
    function: Callable[..., Any]
    docstring: str

    @property
    def parameters(self) -> list[inspect.Parameter]:
        """Its parameters, without `self`."""
        found = list(inspect.signature(self.function).parameters.values())
        return [one for one in found if one.name not in ("self", "cls")]


def is_own(kind: type[object], name: str, value: object) -> bool:
    """Whether a member is public and written in this package."""
    function = getattr(value, "__func__", value)
    return not name.startswith("_") and str(getattr(function, "__module__", "")).startswith("adjourn")


def methods(module: str, kind: type[object]) -> Iterator[PublicCallable]:
    for name in sorted({name for base in kind.__mro__ for name in vars(base)}):
        value = inspect.getattr_static(kind, name)
        function = getattr(value, "__func__", value)
        if inspect.isfunction(function) and is_own(kind, name, function):
            yield PublicCallable(module, f"{kind.__name__}.{name}", function, inspect.getdoc(function) or "")


def constructor(module: str, kind: type[object]) -> PublicCallable | None:
    """What calling the class takes; its docstring and that of `__init__` together."""
    own = [base for base in kind.__mro__ if "__init__" in vars(base) and base.__module__.startswith("adjourn")]
    is_struct = hasattr(kind, "__struct_fields__") or hasattr(kind, "__dataclass_fields__")
    if not own and not is_struct:
        return None
    said = [inspect.getdoc(kind) or ""]
    if own:
        said.append(own[0].__init__.__doc__ or "")
    return PublicCallable(module, kind.__name__, kind, "\n".join(said))


def public_callables() -> list[PublicCallable]:
    """All of them, each once, at the first module that lists it."""
    seen, found = set[int](), list[PublicCallable]()
    for module in MODULES:
        imported = importlib.import_module(module)
        for name in imported.__all__:
            thing = getattr(imported, name)
            if id(thing) in seen:
                continue
            seen.add(id(thing))
            if inspect.isclass(thing):
                own = constructor(module, thing)
                found += [own] if own else []
                found += methods(module, thing)
            elif inspect.isfunction(thing):
                found.append(PublicCallable(module, name, thing, inspect.getdoc(thing) or ""))
    return found
