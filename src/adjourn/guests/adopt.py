"""`adopt`: an agent of another framework as one of ours."""

import inspect
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from adjourn.agent.agent import Agent
from adjourn.agent.agent_tool import AgentTool
from adjourn.agent.tool import Tool
from adjourn.agent.toolset import Toolset
from adjourn.core.effect import EffectName
from adjourn.core.policy import Policy
from adjourn.core.policy_rule import Rule, Verdict
from adjourn.core.stop_conditions import MaxSteps, Stop
from adjourn.errors import InvalidDefinition
from adjourn.guests.guest_tool import GuestToolTerms
from adjourn.models.model import Model
from adjourn.models.prices import Prices

if TYPE_CHECKING:
    from adjourn.agent.hook import Hook


class Guest(NamedTuple):
    """An agent of another framework, taken apart.

    `tools`: its own, to be run by us. `marks`: what its framework's approval marks say, as rules,
    and what a policy that names nothing of it lets pass. `ungoverned`: what runs where nobody can
    stop it, at the provider. `reads_alone`: it may run tools by itself that only read.
    """

    name: str
    model: Model
    tools: tuple[Tool | Toolset, ...]
    output_type: Any = str
    marks: tuple[Rule, ...] = ()
    ungoverned: tuple[str, ...] = ()
    reads_alone: bool = False


class AdoptedAgent(Agent[Any]):
    """An `Agent` that thinks in another framework. `ungoverned` names the tools that the provider
    runs by itself."""

    ungoverned: tuple[str, ...] = ()


Reader = Callable[..., Guest]
"""Takes an agent apart: `read(agent, terms, **options)`."""


def _pydantic_ai() -> Reader:
    from adjourn.guests.pydantic_ai_guest import read

    return read


def _openai_agents() -> Reader:
    from adjourn.guests.openai_agents import read

    return read


def _langgraph() -> Reader:
    from adjourn.guests.langgraph import read

    return read


def _agent_framework() -> Reader:
    from adjourn.guests.agent_framework import read

    return read


FRAMEWORKS: dict[tuple[str, str], Callable[[], Reader]] = {
    ("pydantic_ai.agent", "AbstractAgent"): _pydantic_ai,
    ("agents", "Agent"): _openai_agents,
    ("langgraph.pregel", "Pregel"): _langgraph,
    ("agent_framework._agents", "BaseAgent"): _agent_framework,
}
"""By the module and the class of a framework's agent: what takes one apart. Whoever has one has
loaded that module."""


def adopt(
    agent: Any,
    *,
    policy: Policy | None = None,
    effects: Mapping[str, EffectName] | None = None,
    undo: Mapping[str, Callable[..., Any]] | None = None,
    verify: Mapping[str, Callable[..., Any]] | None = None,
    stop: Stop = MaxSteps(50),
    name: str | None = None,
    prices: Prices | None = None,
    hooks: "Iterable[Hook]" = (),
    **framework_options: Any,
) -> AdoptedAgent:
    """An agent of another framework as an `Agent`: it thinks as before, and Adjourn runs its tools.

    Its prompts, loop, memory, hooks, handoffs and output type stay its own. Each tool call is
    judged by the policy, recorded, asked about, undone and audited like any other. What the
    framework does between tool calls is one step and may be repeated after a crash, so whatever
    changes the world must be a tool.

    Args:
        agent: an agent of Pydantic AI, of the OpenAI Agents SDK or of the Microsoft Agent
            Framework, or a compiled graph of LangGraph, which a LangChain agent is.
        policy: rules for its tool calls. The framework's own approval marks ask as well.
        effects: by tool, what a call may do: `"read"`, `"idempotent"`, `"verifiable"` or
            `"unsafe"`, which is the default.
        undo: by tool, a function that takes a call back when the run is cancelled:
            `undo(ctx, args, result)`.
        verify: by tool, a function that asks the world whether a call in doubt happened:
            `verify(ctx, args)`.
        stop: when a run stops by itself; a step is what the agent thinks between two rounds of
            tools.
        name: its name here; else its own.
        prices: what its model costs, for `MaxCost`; see `Agent`.
        hooks: functions that are asked before a tool runs or see its result, and guardrails on what
            it is told and gives, as for `Agent`; see `adjourn.hooks`. Not the framework's own.
        framework_options: what is particular to one framework, such as `deps=` for Pydantic AI; see
            the guide of each.

    Raises `InvalidDefinition` for an agent of no known framework, and for terms about tools that it
    does not have.
    """
    terms = GuestToolTerms(effects or {}, undo or {}, verify or {})
    read = _reader(agent)
    _check_options(read, framework_options)
    guest = read(agent, terms, **framework_options)
    _check_terms(guest, terms)
    title = name if name is not None else guest.name
    if not title:
        raise InvalidDefinition("the agent has no name: give it one, adopt(agent, name='refunds')")
    return adopted(guest, name=title, policy=policy, stop=stop, prices=prices, hooks=hooks)


def adopted(
    guest: Guest,
    *,
    name: str,
    policy: Policy | None = None,
    stop: Stop = MaxSteps(50),
    prices: Prices | None = None,
    hooks: "Iterable[Hook]" = (),
) -> AdoptedAgent:
    """A guest as an agent. See `adopt`."""
    agent = AdoptedAgent(
        name,
        model=guest.model,
        tools=guest.tools,
        policy=_with_marks(policy, guest.marks),
        stop=stop,
        output_type=guest.output_type,
        prices=prices,
        hooks=hooks,
    )
    agent.ungoverned = guest.ungoverned
    return agent


def _reader(agent: Any) -> Reader:
    for (module, kind), reader in FRAMEWORKS.items():
        loaded = sys.modules.get(module)
        if loaded is not None and isinstance(agent, getattr(loaded, kind)):
            return reader()
    kind = f"{type(agent).__module__}.{type(agent).__qualname__}"
    raise InvalidDefinition(
        "adopt takes an agent of Pydantic AI, the OpenAI Agents SDK or the Microsoft Agent "
        "Framework, or a LangGraph graph, "
        f"not an object of type {kind}",
        advice="another framework's agent can be given as model=, see adjourn.testing.GuestContract",
    )


def _check_options(read: Reader, options: Mapping[str, Any]) -> None:
    known = [*inspect.signature(read).parameters][2:]
    if unknown := [option for option in options if option not in known]:
        raise InvalidDefinition(
            f"adopt does not know {unknown[0]}= for an agent of this framework",
            advice=f"its own options are {', '.join(f'{option}=' for option in known)}",
        )


def _check_terms(guest: Guest, terms: GuestToolTerms) -> None:
    if not all(isinstance(tool, Tool) for tool in guest.tools):
        return  # what is found later may be meant
    known = _names(cast("Iterable[Tool]", guest.tools))
    if guest.reads_alone:
        known |= terms.reads
    if unknown := sorted(terms.named - known):
        raise InvalidDefinition(
            (
                f"effects=, undo= or verify= name {', '.join(map(repr, unknown))}, and "
                f"{guest.name!r} does not have them"
            ),
            advice=f"it has {', '.join(map(repr, sorted(known))) or 'none'}",
        )


def _names(tools: Iterable[Tool]) -> set[str]:
    """The names of tools, and of those of agents that are tools."""
    found: set[str] = set()
    for tool in tools:
        found.add(tool.name)
        if isinstance(tool, AgentTool):
            found |= _names(tool.agent.tools.values())
    return found


def _with_marks(policy: Policy | None, marks: tuple[Rule, ...]) -> Policy | None:
    """The policy with what the framework itself wants to be asked about, and what is no action."""
    if policy is None:
        marks = tuple(mark for mark in marks if mark.verdict != Verdict.ALLOW)
    if not marks:
        return policy
    if policy is None:
        return Policy(marks, default="allow")
    default = policy.default.name.lower()
    return Policy([*policy.rules, *marks], default=default)  # pyright: ignore[reportArgumentType]
