"""An agent as a tool of another, and the agents of one run."""

from typing import TYPE_CHECKING, Any

from adjourn.agent.tool import Tool
from adjourn.errors import InvalidDefinition

if TYPE_CHECKING:
    from adjourn.agent.agent import Agent
    from adjourn.agent.input_type import InputType


class AgentTool(Tool):
    """An agent as a tool of another: its conversation is a path inside the same run. `taken`: what
    it is given, if that is more than a string."""

    def __init__(
        self,
        agent: "Agent[Any]",
        name: str,
        description: str,
        on_failure: str = "ask",
        taken: "InputType | None" = None,
    ) -> None:
        if on_failure not in ("ask", "tell"):
            raise InvalidDefinition(
                f"as_tool of {agent.name!r}: on_failure= must be 'ask' or 'tell', got {on_failure!r:.80}"
            )
        schema: dict[str, Any] = {
            "type": "object",
            "properties": {"input": {"type": "string"}},
            "required": ["input"],
            "additionalProperties": False,
        }
        if taken is not None:
            schema = taken.schema
        super().__init__(name, description, schema, _never, effect="read")
        self.agent, self.on_failure, self._taken = agent, on_failure, taken

    def validate(self, args: Any) -> dict[str, Any]:
        """See `Tool.validate`."""
        complete = super().validate(args)
        if self._taken is None:
            return complete
        return self._taken.complete(complete)

    def input_of(self, args: dict[str, Any]) -> Any:
        """What the agent is told; raises `ArgumentError` with a text for the model.

        Args:
            args: the arguments of the call, as `validate` gives them.
        """
        if self._taken is None:
            return args.get("input")
        return self._taken.rendered(args)


class HandoffTool(Tool):
    """A tool with which an agent hands its conversation over to another, for good."""

    def __init__(self, agent: "Agent[Any]", name: str, description: str) -> None:
        schema = {
            "type": "object",
            "properties": {"reason": {"type": "string", "description": "why, in a sentence"}},
            "additionalProperties": False,
        }
        super().__init__(name, description, schema, self._told, effect="read")
        self.agent, self.hands_to = agent, agent.name

    async def _told(self, reason: str = "") -> str:
        return f"The conversation continues with {self.hands_to}."


def check_handoffs(agent: "Agent[Any]") -> None:
    """Raise `InvalidDefinition` if who takes a conversation over could not give its output."""
    for tool in agent.tools.values():
        if (
            isinstance(tool, HandoffTool)
            and tool.agent.output.fingerprint != agent.output.fingerprint
        ):
            raise InvalidDefinition(
                f"agent {agent.name!r} hands over to {tool.agent.name!r}, which has another output_type",
                advice=(
                    "give both the same output_type: the agent that has the conversation at "
                    "the end gives the output"
                ),
            )


def _never(**input: Any) -> None:
    """Never called: the driver opens a path instead."""


def family(agent: "Agent[Any]", above: "tuple[Agent[Any], ...]" = ()) -> "dict[str, Agent[Any]]":
    """The agent and everything below it, by name; raises `InvalidDefinition` if a name is not
    enough to find one."""
    way = (*above, agent)
    if any(one is agent for one in above):
        circle = " → ".join(one.name for one in way)
        raise InvalidDefinition(
            f"agent {agent.name!r} would be its own tool ({circle}): remove one of them"
        )
    found: dict[str, Agent[Any]] = {agent.name: agent}
    for tool in agent.tools.values():
        if isinstance(tool, AgentTool | HandoffTool):
            for name, child in family(tool.agent, way).items():
                if not _is_same(found.setdefault(name, child), child):
                    raise InvalidDefinition(
                        f"two different agents below {agent.name!r} are named {name!r}",
                        advice="a run finds them by name: rename one",
                    )
    return found


def _is_same(one: "Agent[Any]", other: "Agent[Any]") -> bool:
    """One agent, or two that a factory made alike."""
    alike = one.fingerprint == other.fingerprint and one.instructions == other.instructions
    sent_alike = one.history == other.history and one.chain.names == other.chain.names
    return one is other or (alike and one.stop == other.stop and sent_alike)
