"""A store that stands around another one, and hands on whatever it does not do itself."""

import inspect
from collections.abc import Awaitable, Callable, Coroutine
from functools import cache
from typing import TYPE_CHECKING, Any, get_origin

from adjourn.stores.protocol import Store

if TYPE_CHECKING:
    from adjourn.stores.memory.store import MemoryStore as Handed
else:
    Handed = object  # for type checkers it has the methods of a store; they would hide those within


@cache
def is_awaited(name: str) -> bool:
    """Is this an operation of stores that is awaited: written as such, or giving a coroutine?"""
    one = getattr(Store, name, None)
    if inspect.iscoroutinefunction(one):
        return True
    return (
        inspect.isfunction(one)
        and get_origin(inspect.signature(one).return_annotation) is Coroutine
    )


class WrappedStore(Handed):
    """A `Store` that does what `store` does. What subclasses say in `_around` happens at every
    operation that is awaited."""

    def __init__(self, store: Store) -> None:
        self.store = store

    async def _around(self, name: str, work: Callable[..., Awaitable[Any]], *given: Any) -> Any:
        """Do an operation.

        Args:
            name: of the operation.
            work: does it; it takes nothing.
            given: what it is done with, by position.
        """
        raise NotImplementedError

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.store, name)
        if not is_awaited(name) or name == "close":
            return found

        async def operation(*given: Any, **options: Any) -> Any:
            return await self._around(name, lambda: found(*given, **options), *given)

        return operation
