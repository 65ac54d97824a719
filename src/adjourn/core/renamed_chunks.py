"""The names of a flow's chunks, once some have others: calls keep the ids that they have from the
old ones."""

from typing import Any, cast

Plain = dict[str, Any]
_RUNS = ("chunk", "agent")


def named_now(graph: Plain) -> Plain:
    """A recorded graph with the names that its chunks have now, as its author would write it."""
    plain = dict(graph)
    names = plain.pop("renamed", {})
    return {**plain, "chains": _named(graph["chains"], names)}


def _named(part: Any, names: dict[str, str]) -> Any:
    if isinstance(part, list):
        return [_named(one, names) for one in cast("list[Any]", part)]
    if not isinstance(part, dict):
        return part
    item = cast(Plain, part)
    made: Plain = {}
    for key, value in item.items():
        if key == "graph":
            made[key] = named_now(value)
        elif key in _names_of(item):
            made[key] = _each(value, names)
        else:
            made[key] = value if key == "values" else _named(value, names)
    return made


def _each(value: list[str] | str, names: dict[str, str]) -> list[str] | str:
    if isinstance(value, list):
        return [names.get(name, name) for name in value]
    return names.get(value, value)


def _names_of(item: Plain) -> tuple[str, ...]:
    """The fields of an item that name what runs there."""
    if item.get("is") in _RUNS:
        return ("name",)
    return {"if": ("conditions",), "match": ("key",)}.get(item.get("is", ""), ())


def keeping_ids(recorded: Plain, wanted: Plain) -> Plain:
    """The wanted graph, with the names by which the recorded one makes ids and a map to what runs
    there now.

    They are compared place by place. What the wanted one has more is taken as it is. Raises
    `ValueError` where one name would have to mean two.
    """
    names: dict[str, str] = {}
    chains = _kept(recorded.get("chains"), wanted.get("chains"), names)
    renamed = {old: new for old, new in names.items() if old != new}
    return {**wanted, "chains": chains, **({"renamed": renamed} if renamed else {})}


def _kept(old: Any, new: Any, names: dict[str, str]) -> Any:
    if isinstance(old, list) and isinstance(new, list):
        olds, news = cast("list[Any]", old), cast("list[Any]", new)
        more = [_kept(None, one, names) for one in news[len(olds) :]]
        return [*(_kept(was, now, names) for was, now in zip(olds, news, strict=False)), *more]
    if not isinstance(new, dict):
        return new
    item = cast(Plain, new)
    if isinstance(old, dict) and cast(Plain, old).get("is") == item.get("is"):
        was = cast(Plain, old)
    else:
        was = {}
    made: Plain = {}
    for key, value in item.items():
        if key == "graph":
            made[key] = keeping_ids(was.get(key, {}), value)
        elif key in _names_of(item):
            made[key] = _noted(was.get(key, value), value, names)
        elif key == "name" and item.get("is") != "collect":
            made[key] = was.get(key, value)  # a label, of which ids are made
        else:
            made[key] = value if key == "values" else _kept(was.get(key), value, names)
    return made


def _noted(old: list[str] | str, new: list[str] | str, names: dict[str, str]) -> list[str] | str:
    olds, news = old if isinstance(old, list) else [old], new if isinstance(new, list) else [new]
    if len(olds) != len(news):
        old, olds = new, news
    for was, now in zip(olds, news, strict=True):
        if names.setdefault(was, now) != now:
            raise ValueError(
                f"{was!r} would become both {names[was]!r} and {now!r}; ids contain that name"
            )
    return old
