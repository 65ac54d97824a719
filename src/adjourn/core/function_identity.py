"""What a function is, so that a rule which asks one can be told from another: its name, its code,
and what it holds.

Nothing here depends on addresses, on the order of sets, or on file and line: the same source has
the same identity in every process of one Python version. (Another version compiles other bytecode;
its rules ask once more.)
"""

import dis
import functools
import inspect
import operator
import types
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, cast

from adjourn.core.action_digest import digest
from adjourn.core.codec import plain

_SCALARS = (type(None), bool, int, float, complex, str, bytes, type(Ellipsis))
_CONTAINERS = (list, tuple, set, frozenset, dict)


class FunctionIdentity(NamedTuple):
    """`digest` covers everything that can be read; `opaque` are the objects that cannot."""

    digest: str
    opaque: tuple[Any, ...]

    def is_same(self, other: "FunctionIdentity") -> bool:
        """Whether both can only do the same: alike in what can be read, the same objects in what
        cannot."""
        if self.digest != other.digest or len(self.opaque) != len(other.opaque):
            return False
        return all(map(operator.is_, self.opaque, other.opaque))


def identify(function: Callable[..., Any]) -> FunctionIdentity:
    """The identity of a function, a method, a `functools.partial` or a callable object."""
    reader = _Reader(_package(function))
    parts = reader.callable(function)
    return FunctionIdentity(digest("function", parts), tuple(reader.opaque))


class _Reader:
    """Turns functions and what they hold into plain lists; collects what it cannot read.

    Functions that code refers to by name are followed inside of `package`; those of libraries are
    known by their name.
    """

    def __init__(self, package: str) -> None:
        self.opaque: list[Any] = []
        self._package = package
        # the object too: an id lives no longer than its object
        self._known: dict[int, tuple[int, Any]] = {}
        self._path: list[int] = []

    def callable(self, function: Any) -> list[Any]:
        """A callable as plain data."""
        if id(function) in self._known:
            return ["again", self._known[id(function)][0]]
        self._known[id(function)] = (len(self._known), function)
        if isinstance(function, functools.partial):
            return self._partial(cast("functools.partial[Any]", function))
        if inspect.ismethod(function):
            return ["method", self.callable(function.__func__), self._owner(function.__self__)]
        if inspect.isfunction(function):
            return self._function(function)
        if inspect.isclass(function) or inspect.isroutine(function):
            owner = getattr(function, "__self__", None)  # of `limits.get`, the limits
            bound = owner is not None and not inspect.ismodule(owner) and not inspect.isclass(owner)
            return ["named", *_name_of(function), self.held(owner) if bound else None]
        kind = _kind(function)
        if not inspect.isfunction(getattr(kind, "__call__", None)):  # noqa: B004
            self.opaque.append(function)
        return ["object", self._owner(function)]

    def held(self, value: Any) -> Any:
        """Something that a function holds, as plain data."""
        kind = _kind(value)
        if kind in _SCALARS:
            return [kind.__name__, repr(value)]
        if kind in _CONTAINERS:
            return self._container(value)
        if isinstance(value, types.CodeType):
            return self._code(value)
        if isinstance(value, types.ModuleType):
            return ["module", value.__name__]
        if (
            isinstance(value, functools.partial)
            or inspect.isroutine(value)
            or inspect.isclass(value)
        ):
            return self.callable(value)
        return self._plain(value)

    def _container(self, value: Any) -> list[Any]:
        if id(value) in self._path:
            return ["cycle", self._path.index(id(value))]
        self._path.append(id(value))
        if isinstance(value, dict):
            items = self._pairs(cast("dict[Any, Any]", value))
        else:
            items = list(map(self.held, cast("list[Any]", value)))
        self._path.pop()
        kind = _kind(value)
        return [kind.__name__, sorted(items, key=digest) if kind in (set, frozenset) else items]

    def _pairs(self, mapping: Mapping[Any, Any]) -> list[Any]:
        pairs = [[self.held(key), self.held(value)] for key, value in mapping.items()]
        return sorted(pairs, key=digest)

    def _plain(self, value: Any) -> list[Any]:
        """A date, an enum, a dataclass, a model: as JSON. Anything else cannot be read, nor what
        hides itself."""
        if not hasattr(value, "get_secret_value"):
            try:
                return [*_name_of(_kind(value)), plain(value)]
            except Exception:
                pass
        self.opaque.append(value)
        return ["?", *_name_of(_kind(value))]

    def _partial(self, function: "functools.partial[Any]") -> list[Any]:
        arguments = list(map(self.held, function.args))
        return ["partial", self.callable(function.func), arguments, self._pairs(function.keywords)]

    def _function(self, function: types.FunctionType) -> list[Any]:
        cells = list(map(self._cell, function.__closure__ or ()))
        defaults = [self.held(function.__defaults__), self._pairs(function.__kwdefaults__ or {})]
        return [
            "function",
            *_name_of(function),
            self._code(function.__code__),
            cells,
            defaults,
            self._globals(function),
        ]

    def _cell(self, cell: types.CellType) -> Any:
        try:
            return self.held(cell.cell_contents)
        except ValueError:
            return ["empty"]

    def _code(self, code: types.CodeType) -> list[Any]:
        """Bytecode, constants and names; not the file, the line and the names of locals."""
        constants = list(map(self.held, code.co_consts))
        names = [list(code.co_names), list(code.co_freevars), list(code.co_cellvars)]
        numbers = [code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags]
        return ["code", code.co_code.hex(), code.co_exceptiontable.hex(), constants, names, numbers]

    def _globals(self, function: types.FunctionType) -> list[Any]:
        """The globals that its code names."""
        space = function.__globals__
        names = sorted(space.keys() & _global_names(function.__code__))
        return [[name, self._global(space[name])] for name in names]

    def _global(self, value: Any) -> Any:
        if inspect.isfunction(value) and _package(value) == self._package:
            return self.callable(value)
        if inspect.isroutine(value) or inspect.isclass(value):
            return ["named", *_name_of(value)]
        return self.held(value)

    def _owner(self, value: Any) -> list[Any]:
        """What is called or has the method: the members of its class, and its own attributes."""
        if inspect.isclass(value):
            return ["class", *_name_of(value), self._members(value)]
        return [
            "instance",
            *_name_of(_kind(value)),
            self._members(_kind(value)),
            self._pairs(_attributes(value)),
        ]

    def _members(self, kind: type) -> list[Any]:
        """The functions and plain values of a class and of its parents in the same package."""
        found: list[Any] = []
        for parent in kind.__mro__:
            if _package(parent) == _package(kind):
                for name, member in sorted(vars(parent).items()):
                    if _counts(name, member):
                        found.append([name, self._member(member)])
        return found

    def _member(self, member: Any) -> Any:
        if isinstance(member, property):
            return self.held(member.fget)
        return self.held(getattr(member, "__func__", member))


def _counts(name: str, member: Any) -> bool:
    """Whether a member of a class can change what its instances do."""
    if inspect.isfunction(member) or isinstance(member, staticmethod | classmethod | property):
        return True
    dunder = name.startswith("__") and name.endswith("__")
    return not dunder and type(member) in (*_SCALARS, *_CONTAINERS)


def _kind(value: Any) -> type[Any]:
    return cast("type[Any]", type(value))


def _package(thing: Any) -> str:
    module: Any = getattr(thing, "__module__", None) or _kind(thing).__module__
    return str(module).partition(".")[0]


def _name_of(thing: Any) -> list[str]:
    return [str(getattr(thing, "__module__", "")), str(getattr(thing, "__qualname__", ""))]


def _attributes(value: Any) -> dict[str, Any]:
    """What an object holds by name."""
    found = dict(getattr(value, "__dict__", {}))
    for parent in _kind(value).__mro__:
        for name in _slots(parent):
            if hasattr(value, name):
                found[name] = getattr(value, name)
    return found


def _slots(kind: type) -> tuple[str, ...]:
    given: Any = vars(kind).get("__slots__", ())
    if isinstance(given, str):
        names: tuple[str, ...] = (given,)
    else:
        names = tuple(given)
    return tuple(name for name in names if name not in ("__dict__", "__weakref__"))


def _global_names(code: types.CodeType) -> Iterator[str]:
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            yield str(instruction.argval)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _global_names(constant)
