"""What was made before and may be wanted again, as much of it as fits."""

from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic

from typing_extensions import TypeVar

from adjourn.core.codec import encode

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class BoundedCache(Generic[K, V]):
    """Values by key, bounded by the bytes that they have as JSON. Those that were put or taken
    longest ago make room."""

    def __init__(self, limit: int) -> None:
        self._limit, self.size = limit, 0
        self._values: OrderedDict[K, tuple[V, int]] = OrderedDict()

    def get(self, key: K) -> V | None:
        """The value, if it is still here."""
        found = self._values.get(key)
        if found is None:
            return None
        self._values.move_to_end(key)
        return found[0]

    def put(self, key: K, value: V) -> None:
        """Keep a value, in the place of what this key had."""
        self.size -= self._values.pop(key, (None, 0))[1]
        weight = len(encode(value))
        self._values[key] = value, weight
        self.size += weight
        while self.size > self._limit:
            _, (_, weight) = self._values.popitem(last=False)
            self.size -= weight

    def __len__(self) -> int:
        return len(self._values)
