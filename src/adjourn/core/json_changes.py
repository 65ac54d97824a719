"""Changes to a flow's state: what a chunk did to it, as small as is easy, and how the fold takes it
in."""

from typing import Any, cast

from adjourn.core.codec import decode, encode


def apply(data: dict[str, Any], changes: list[Any]) -> None:
    """Changes to a JSON value: `["set", path, value]`, `["default", path, value]` (if there is
    none), `["del", path]`, `["add", path, elements]` (to a list's end),
    `["splice", path, at, old, new]` (elements of a list, in the place of others)."""
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
            elif op == "splice":
                _splice(target[path[-1]], *rest)
            else:
                del target[path[-1]]
        except (LookupError, TypeError, AttributeError):
            # another chunk has replaced what this one changed: the last in the journal wins
            continue


def _splice(elements: list[Any], at: int, old: list[Any], new: list[Any]) -> None:
    """Put `new` where `old` is. Another chunk may have changed the list meanwhile: `old` is looked
    for, and what is gone already is not taken from somebody else's elements."""
    if not same(elements[at : at + len(old)], old):
        places = sorted(range(len(elements) - len(old) + 1), key=lambda place: abs(place - at))
        for place in places:
            if same(elements[place : place + len(old)], old):
                at = place
                break
        else:
            old = []
    elements[at : at + len(old)] = _own(new)


def _own(value: Any) -> Any:
    """A copy: later changes go into the state, and must not go into the record that this one came
    from."""
    if isinstance(value, (list, dict)):
        return decode(encode(value))
    return value


def changes(before: Any, after: Any, path: list[Any]) -> list[Any]:
    """What turns `before` into `after`, both plain JSON."""
    if same(before, after):
        return []
    if isinstance(before, dict) and isinstance(after, dict):
        return _dict_changes(cast("dict[str, Any]", before), cast("dict[str, Any]", after), path)
    if isinstance(before, list) and isinstance(after, list):
        return _list_changes(cast("list[Any]", before), cast("list[Any]", after), path)
    return [["set", path, after]]


def same(one: Any, other: Any) -> bool:
    """Whether two JSON values are the same one; to Python `[1] == [True]`."""
    if type(one) is not type(other):
        return False
    if isinstance(one, (list, dict)):
        return encode(one) == encode(other)
    return one == other


def _dict_changes(before: dict[str, Any], after: dict[str, Any], path: list[Any]) -> list[Any]:
    found: list[Any] = []
    for key in before:
        if key not in after:
            found.append(["del", [*path, key]])
    for key, value in after.items():
        if key in before:
            found += changes(before[key], value, [*path, key])
        else:
            found += [["set", [*path, key], value]]
    return found


def _list_changes(before: list[Any], after: list[Any], path: list[Any]) -> list[Any]:
    """What was added at the end; else element by element, if there are as many; else what stands
    between two ends that are the same. A list is set as a whole only if most of it has changed."""
    # most only grow: no need to look at each
    if len(after) > len(before) and encode(after[: len(before)]) == encode(before):
        return [["add", path, after[len(before) :]]]
    if len(after) == len(before):
        found: list[Any] = []
        for place, (old, new) in enumerate(zip(before, after, strict=True)):
            found += changes(old, new, [*path, place])
        if len(found) <= 1 + len(before) // 2:
            return found
        return [["set", path, after]]
    begin = _same_for(before, after)
    end = min(_same_for(before[::-1], after[::-1]), min(len(before), len(after)) - begin)
    old, new = before[begin : len(before) - end], after[begin : len(after) - end]
    if len(old) + len(new) > len(after):
        return [["set", path, after]]
    return [["splice", path, begin, old, new]]


def _same_for(before: list[Any], after: list[Any]) -> int:
    """How many elements are the same, from the beginning."""
    for count, (old, new) in enumerate(zip(before, after, strict=False)):
        if not same(old, new):
            return count
    return min(len(before), len(after))
