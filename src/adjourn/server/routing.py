"""From a request's path to an operation. Ids may contain slashes: a path is split before it is
decoded, not after."""

from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import unquote

from adjourn.server.api_request import Operation


def segments(scope: Mapping[str, Any]) -> list[str] | None:
    """The parts of the path below where the application is mounted, each decoded; None if one is
    not UTF-8."""
    raw: bytes = scope.get("raw_path") or scope["path"].encode()
    parts = raw.partition(b"?")[0].decode("latin-1").split("/")[1:]
    try:
        found = [unquote(part, errors="strict") for part in parts]
    except UnicodeDecodeError:
        return None
    root = [part for part in scope.get("root_path", "").split("/") if part]
    if found[: len(root)] == root:
        return found[len(root) :]
    return found


class Routes:
    """The table, by path."""

    def __init__(self, operations: Iterable[Operation], prefix: str) -> None:
        self._paths: dict[tuple[str, ...], dict[str, Operation]] = {}
        for operation in operations:
            path = tuple((prefix + operation.path).split("/")[1:])
            self._paths.setdefault(path, {})[operation.method] = operation

    def find(self, path: list[str]) -> tuple[Mapping[str, Operation], dict[str, str]] | None:
        """The operations of a path by method, and what its placeholders stand for."""
        if exact := self._paths.get(tuple(path)):
            return exact, {}
        for template, methods in self._paths.items():
            if len(template) == len(path) and all(
                t.startswith("{") or t == p for t, p in zip(template, path, strict=True)
            ):
                return methods, {
                    t[1:-1]: p for t, p in zip(template, path, strict=True) if t.startswith("{")
                }
        return None
