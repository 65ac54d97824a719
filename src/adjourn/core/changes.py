"""Changes to a flow's state: what a chunk did to it, as small as is easy, and how the fold takes it in."""

from typing import Any, cast

from adjourn.core.codec import decode, encode


def apply(data: dict[str, Any], changes: list[Any]) -> None:
    """Changes to a JSON value: `["set", path, value]`, `["default", path, value]` (if there is none), `["del", path]`,
    `["add", path, elements]` (to a list's end)."""
    for op, path, *rest in changes:
        target: Any = data
        try:
            for key in path[:-1]:
                target = target[key]
            if op == "set":
                target[path[-1]] = _own(rest[0])
            elif op == "default":
                target.setdefault(path[-1], _own(rest[0]))
            elif op == "add":
                target[path[-1]].extend(_own(rest[0]))
            else:
                del target[path[-1]]
        except (LookupError, TypeError, AttributeError):
            continue  # another chunk has replaced what this one changed: the last in the journal wins


def _own(value: Any) -> Any:
    """A copy: later changes go into the state, and must not go into the record that this one came from."""
    return decode(encode(value)) if isinstance(value, (list, dict)) else value  # pyright: ignore[reportUnknownArgumentType]


def changes(before: Any, after: Any, path: list[Any]) -> list[Any]:
    """What turns `before` into `after`, both plain JSON."""
    if same(before, after):
        return []
    if isinstance(before, dict) and isinstance(after, dict):
        return _dict_changes(cast("dict[str, Any]", before), cast("dict[str, Any]", after), path)
    if isinstance(before, list) and isinstance(after, list):
        return _list_changes(cast("list[Any]", before), cast("list[Any]", after), path)
    return [["set", path, after]]


def same(a: Any, b: Any) -> bool:
    """Whether two JSON values are the same one; to Python `[1] == [True]`."""
    if type(a) is not type(b):
        return False
    return encode(a) == encode(b) if isinstance(a, (list, dict)) else a == b  # pyright: ignore[reportUnknownArgumentType]


def _dict_changes(before: dict[str, Any], after: dict[str, Any], path: list[Any]) -> list[Any]:
    found: list[Any] = [["del", [*path, key]] for key in before if key not in after]
    for key, value in after.items():
        found += changes(before[key], value, [*path, key]) if key in before else [["set", [*path, key], value]]
    return found


def _list_changes(before: list[Any], after: list[Any], path: list[Any]) -> list[Any]:
    """Element by element, and what was added at the end; a list that became shorter is set as a whole."""
    if len(after) < len(before):
        return [["set", path, after]]
    if encode(after[: len(before)]) == encode(before):  # it only grew, as most do: no need to look at each of many
        return [["add", path, after[len(before) :]]]
    found: list[Any] = []
    for n, (old, new) in enumerate(zip(before, after, strict=False)):
        found += changes(old, new, [*path, n])
    if len(after) > len(before):
        found.append(["add", path, after[len(before) :]])
    return found if len(found) <= 1 + len(before) // 2 else [["set", path, after]]
