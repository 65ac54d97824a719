"""What a runtime can start and advance: what an agent and a flow have in common."""

from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal

from typing_extensions import TypeVar

from adjourn.errors import InvalidDefinition

if TYPE_CHECKING:
    from adjourn.driver.program import Program

T_co = TypeVar("T_co", covariant=True, default=Any)
Kind = Literal["agent", "flow"]
OnChange = Literal["refuse", "warn"]


class Definition(Generic[T_co]):
    """An agent or a flow, as a runtime knows it; `T_co` is the type of its output.

    Attributes:
        kind: `"agent"` or `"flow"`.
        name: its runs find it by this name.
        on_change: what happens to a saved run of another definition, where nothing else is said.
    """

    kind: ClassVar[Kind]
    name: str
    on_change: OnChange = "refuse"

    if TYPE_CHECKING:

        @property
        def fingerprint(self) -> dict[str, Any]:
            """Names and shapes: what a saved run depends on."""
            ...

        @property
        def program(self) -> Program:
            """The definition as the driver sees it."""
            ...

    @property
    def blueprint(self) -> dict[str, Any] | None:
        """A flow's graph, as its runs record it; None for an agent."""
        return None

    async def check_files(self, value: Any, consequence: str) -> None:
        """Raise `Invalid` for files that it can do nothing with, before anything is recorded.

        Args:
            value: a plain value; those of its files count that carry their bytes.
            consequence: what did not happen.
        """

    def load(self, value: Any) -> T_co:
        """An output, read from a journal, as its type.

        Args:
            value: the output as JSON.
        """
        raise NotImplementedError

    def diagram(self) -> str | None:
        """A flow's graph as a mermaid diagram; None for an agent."""
        return None


def check_on_change(on_change: Any) -> None:
    """Raise `InvalidDefinition` for anything but the two words."""
    if on_change not in ("refuse", "warn"):
        raise InvalidDefinition(f"on_change must be 'refuse' or 'warn', got {on_change!r}")
