"""Imports point down, from cli to errors, also those inside functions; and the core is pure."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.house.statements import statements

PACKAGE = Path(__file__).parents[2] / "src" / "adjourn"

RANK = {
    "errors": 0,
    "core": 1,
    "stores": 2,
    "models": 2,
    "views": 3,
    "driver": 3,
    "bodies": 4,
    "runtime": 4,  # beside the bodies: neither knows the other
    "agent": 5,
    "flow": 6,  # an agent may be a chunk
    "engines": 7,
    "guests": 7,
    "mcp": 7,
    "server": 8,
    "demo": 9,
    "cli": 10,  # `adjourn serve` starts the server, `adjourn demo` the demo
    "__main__": 11,
}

# Importer -> imported, where a layer may look beside or above itself. Every entry is a debt with a reason.
EXCEPTIONS: dict[str, set[str]] = {
    "errors/failure.py": {
        "adjourn.runtime.checkpoint"
    },  # for the type checker only: a failed run carries its checkpoint
}

# What users import beside `adjourn` itself: re-exports, which nothing inside imports.
FACADES = {
    "parts",
    "hooks",
    "policy",
    "records",
    "events",
    "schedules",
    "secrets",
    "signing",
    "telemetry",
    "toolsets",
    "wakes",
}

CONCRETE_STORES = ("adjourn.stores.memory", "adjourn.stores.sqlite", "adjourn.stores.postgres")

IMPURE = {
    "apsw", "asyncio", "concurrent", "contextvars", "glob", "http", "io", "multiprocessing", "os", "pathlib", "psycopg",
    "queue", "random", "sched", "secrets", "select", "selectors", "shutil", "signal", "socket", "sqlite3", "ssl",
    "subprocess", "tempfile", "threading", "time", "urllib", "uuid",
}  # fmt: skip
IMPURE_CALLS = {"open", "input", "print", "exec", "eval", "__import__"}
CLOCKS = {"now", "utcnow", "today"}


class Import(NamedTuple):
    file: str
    line: int
    target: str  # dotted, absolute

    @property
    def layer(self) -> str:
        """The layer that is imported; "" for the package's own public names."""
        parts = self.target.split(".")
        return parts[1] if len(parts) > 1 and (parts[1] in RANK or is_module(parts[1])) else ""

    def __str__(self) -> str:
        return f"src/adjourn/{self.file}:{self.line} imports {self.target}"


def is_module(name: str) -> bool:
    return (PACKAGE / name).is_dir() or (PACKAGE / f"{name}.py").is_file()


def source_files() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def layer_of(file: Path) -> str:
    return file.relative_to(PACKAGE).parts[0].removesuffix(".py")


def package_of(file: Path) -> list[str]:
    return ["adjourn", *file.relative_to(PACKAGE).parts[:-1]]


def targets(node: ast.AST, package: list[str]) -> Iterator[str]:
    """The dotted names that a statement or a call imports."""
    match node:
        case ast.Import(names=names):
            yield from (alias.name for alias in names)
        case ast.ImportFrom(module=module, names=names, level=level):
            start = package[: len(package) - level + 1] if level else []
            origin = ".".join([*start, *([module] if module else [])])
            yield from (f"{origin}.{alias.name}" for alias in names)
        case ast.Call(
            func=ast.Attribute(attr="import_module") | ast.Name(id="import_module" | "__import__"), args=args
        ):
            match args:
                case [ast.Constant(value=str(name)), *_]:
                    relative = len(name) - len(name.lstrip("."))
                    start = package[: len(package) - relative + 1] if relative else []
                    yield ".".join([*start, name.lstrip(".")])
                case _:
                    pass
        case _:
            pass


@cache
def imports(file: Path) -> tuple[Import, ...]:
    """All imports of a file; every test of this module asks for them."""
    name, text = file.relative_to(PACKAGE).as_posix(), file.read_text("utf-8")
    tree = ast.parse(text, str(file))
    nodes = ast.walk(tree) if "import_module" in text or "__import__" in text else statements(tree)
    return tuple(
        Import(name, getattr(node, "lineno", 0), target) for node in nodes for target in targets(node, package_of(file))
    )


def own_imports(file: Path) -> Iterator[Import]:
    """Imports of this package, without those that a file of EXCEPTIONS is allowed."""
    for found in imports(file):
        inside = found.target == "adjourn" or found.target.startswith("adjourn.")
        if inside and not any(is_under(found.target, allowed) for allowed in EXCEPTIONS.get(found.file, ())):
            yield found


def is_under(target: str, module: str) -> bool:
    return target == module or target.startswith(f"{module}.")


def points_down(importer: str, imported: str) -> bool:
    if importer == imported:
        return True
    if imported in FACADES:
        return importer == "__init__"
    if importer in {"__init__", *FACADES}:
        return imported not in {"server", "demo", "cli", "testing"}
    if importer == "testing":
        return imported not in {"server", "demo", "cli"}
    if imported == "testing":
        return importer == "demo"  # its models are scripted
    if imported == "":
        return importer in {"server", "demo", "cli", "__main__"}
    return RANK[imported] < RANK[importer]


def test_every_package_has_its_place() -> None:
    known = {*RANK, *FACADES, "testing", "__init__"}
    assert {layer_of(file) for file in source_files()} <= known, "a new layer needs a rank in this file"


def test_imports_point_down() -> None:
    wrong = [
        str(found)
        for file in source_files()
        for found in own_imports(file)
        if not points_down(layer_of(file), found.layer)
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("layer", ["driver", "engines", "server"])
def test_only_the_protocol_of_a_store_is_seen_by(layer: str) -> None:
    wrong = [
        str(found)
        for file in source_files()
        for found in own_imports(file)
        if layer_of(file) == layer and any(is_under(found.target, store) for store in CONCRETE_STORES)
    ]
    assert not wrong, "\n".join(wrong)


def test_the_driver_knows_no_model() -> None:
    wrong = [
        str(found)
        for file in source_files()
        for found in own_imports(file)
        if layer_of(file) == "driver" and found.layer == "models"
    ]
    assert not wrong, "\n".join(wrong)


def test_every_exception_is_still_needed() -> None:
    unused = {
        f"{name} -> {allowed}"
        for name, modules in EXCEPTIONS.items()
        for allowed in modules
        if (PACKAGE / name).exists() and not any(is_under(found.target, allowed) for found in imports(PACKAGE / name))
    }
    assert not unused, f"remove from EXCEPTIONS: {unused}"


def impurities(tree: ast.AST) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        match node:
            case ast.AsyncFunctionDef() | ast.Await() | ast.AsyncFor() | ast.AsyncWith():
                yield node.lineno, "is asynchronous"
            case ast.Call(func=ast.Name(id=name)) if name in IMPURE_CALLS:
                yield node.lineno, f"calls {name}()"
            case ast.Call(func=ast.Attribute(attr=name, value=ast.Name(id="datetime" | "date"))) if name in CLOCKS:
                yield node.lineno, f"reads the clock: {name}()"
            case _:
                for target in targets(node, ["adjourn", "core"]):
                    if target.split(".")[0] in IMPURE:
                        yield getattr(node, "lineno", 0), f"imports {target}"


def test_the_core_is_pure() -> None:
    wrong = [
        f"{file.relative_to(PACKAGE.parent)}:{line} {what}"
        for file in source_files()
        if layer_of(file) == "core"
        for line, what in impurities(ast.parse(file.read_text("utf-8"), str(file)))
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    ("importer", "imported", "allowed"),
    [
        ("driver", "core", True),
        ("core", "driver", False),
        ("stores", "models", False),
        ("agent", "flow", False),
        ("agent", "testing", False),
        ("demo", "testing", True),
        ("demo", "cli", False),
        ("runtime", "agent", False),
        ("runtime", "bodies", False),
        ("runtime", "", False),
        ("testing", "runtime", True),
        ("testing", "cli", False),
        ("__init__", "server", False),
        ("records", "core", True),
        ("events", "runtime", True),
        ("policy", "cli", False),
        ("core", "records", False),
        ("cli", "policy", False),
    ],
)
def test_the_rule_itself(importer: str, imported: str, allowed: bool) -> None:
    assert points_down(importer, imported) is allowed


def test_hidden_imports_are_seen() -> None:
    code = "def f():\n    from ..driver import loop\n    importlib.import_module('adjourn.cli')\n    from . import x"
    found = [name for node in ast.walk(ast.parse(code)) for name in targets(node, ["adjourn", "core"])]
    assert set(found) == {"adjourn.driver.loop", "adjourn.cli", "adjourn.core.x"}


def test_hidden_impurities_are_seen() -> None:
    code = "def f():\n    import time\n    open('x')\n    datetime.now()\nasync def g(): ...\nfrom os import environ"
    assert sorted(line for line, _ in impurities(ast.parse(code))) == [2, 3, 4, 5, 6]
