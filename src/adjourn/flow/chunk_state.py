"""A flow's state as a chunk sees and changes it."""

from collections.abc import Iterator, MutableMapping
from typing import Any

from adjourn.core.codec import decode, encode, plain
from adjourn.core.json_changes import changes
from adjourn.errors import InvalidDefinition


class FlowState(MutableMapping[str, Any]):
    """A flow's state as one chunk sees it: plain JSON, changed in place or by assignment; recorded
    with the result."""

    # So that `state.key = value`, which would not be recorded, raises.
    __slots__ = ("_before", "_data", "_defaults", "_gone", "_now")

    def __init__(self, data: dict[str, Any]) -> None:
        self._data = data
        self._before: dict[str, bytes] = {}
        self._now: dict[str, Any] = {}
        self._gone: dict[str, None] = {}
        self._defaults: dict[str, bytes] = {}

    def __getitem__(self, key: str) -> Any:
        if key in self._gone:
            raise KeyError(key)
        if key not in self._now:
            value = self._data[key]
            if not isinstance(value, list | dict):
                return value
            self._before[key] = encode(value)
            self._now[key] = decode(self._before[key])
        return self._now[key]

    def __setitem__(self, key: str, value: Any) -> None:
        if not isinstance(key, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidDefinition(f"a key of the state must be a string, got {key!r:.80}")
        recorded = plain(value, f"state.{plain(key, 'a key of the state')}")
        # The same list or dict, if it is plain already: what is done to it afterwards counts as
        # well.
        self._now[key] = value if isinstance(value, list | dict) and recorded == value else recorded
        self._forget(key)
        self._gone.pop(key, None)

    def _forget(self, key: str) -> None:
        self._before.pop(key, None)
        self._defaults.pop(key, None)

    def __delitem__(self, key: str) -> None:
        if key not in self:
            raise KeyError(key)
        self._now.pop(key, None)
        self._forget(key)
        self._gone[key] = None

    def __contains__(self, key: object) -> bool:
        return key not in self._gone and (key in self._now or key in self._data)

    def __iter__(self) -> Iterator[str]:
        return iter([key for key in {**self._data, **self._now} if key not in self._gone])

    def __len__(self) -> int:
        return len(list(iter(self)))

    def __repr__(self) -> str:
        return repr({key: self._now.get(key, self._data.get(key)) for key in self})

    def setdefault(self, key: str, default: Any = None) -> Any:
        """See `dict.setdefault`: what it gives is part of the state. Of several chunks that do it
        at the same time the first sets it, and what the others add to it is added."""
        if key not in self:
            gone = key in self._gone
            self[key] = default
            if not gone:
                self._before[key] = self._defaults[key] = encode(self._now[key])
        return self[key]

    def changes(self) -> list[Any]:
        """What the chunk changed; raises `NotJSON`, naming the path, for what cannot be
        recorded."""
        found: list[Any] = [["del", [key]] for key in self._gone]
        for key, value in self._now.items():
            now = plain(value, f"state.{key}")
            if key not in self._before:
                found.append(["set", [key], now])
                continue
            if key in self._defaults:
                found.append(["default", [key], decode(self._defaults[key])])
            if encode(now) != self._before[key]:
                found += changes(decode(self._before[key]), now, [key])
        return found
