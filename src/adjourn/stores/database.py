"""What can be known of a store's database without opening it as a store: nothing of it is
changed."""

from typing import Any, Protocol


class Database(Protocol):
    """A database that is there."""

    address: str
    """As `Runtime` takes it."""
    where: str
    """As it may be shown."""

    @property
    def schema(self) -> int:
        """The number of its last migration; 0 if it is not one of ours."""
        ...

    @property
    def newest_schema(self) -> int:
        """The schema that this Adjourn makes."""
        ...

    @property
    def size(self) -> int:
        """Bytes."""
        ...

    def pending(self) -> list[int]:
        """The migrations that are to be applied; raises `StoreError` if a newer Adjourn has made
        it."""
        ...

    def counts(self) -> dict[str, Any]:
        """How much there is of what."""
        ...

    def programs(self) -> list[str]:
        """The agents and flows that have runs in it."""
        ...

    def newest(self) -> float:
        """The time of the last change to any run; 0 if there is none."""
        ...

    def restored(self) -> int:
        """How many runs wait for a person since a backup was restored."""
        ...

    def obstacle(self) -> str:
        """Why nothing can be written to it now; "" if nothing is known to be in the way."""
        ...

    def damage(self, *, deep: bool) -> list[str]:
        """What is wrong with its structure."""
        ...

    def commit_time(self) -> float:
        """Seconds that a durable commit takes."""
        ...

    def runs_like(self, beginning: str, most: int) -> list[tuple[str, str]]:
        """The newest runs whose id begins so, each with a few words."""
        ...

    def items_like(self, beginning: str, most: int) -> list[tuple[str, str]]:
        """What waits for a person and whose id begins so, each with a few words; the oldest first."""
        ...
