"""Agents: instructions, a model, tools, a policy, limits."""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal, cast

import msgspec
from typing_extensions import TypeVar

from adjourn.agent.agent_program import AgentProgram, AgentTool, family
from adjourn.agent.history import History, Processor
from adjourn.agent.model_call import recorded_settings
from adjourn.agent.output import Output
from adjourn.agent.tool import Tool, tool
from adjourn.agent.toolset import Finder, FunctionToolset, Toolset, is_toolset
from adjourn.core.codec import plain
from adjourn.core.messages import ToolSpec
from adjourn.core.policy import Policy, refuse_twins
from adjourn.core.request_digest import Terms
from adjourn.core.stop_conditions import MaxSteps, Stop
from adjourn.driver.program import StepHandle
from adjourn.errors import InvalidDefinition, Misused
from adjourn.models.model import Model
from adjourn.models.pydantic_ai.provider import resolve
from adjourn.runtime.answers import MISSING
from adjourn.runtime.checkpoint import Saved
from adjourn.runtime.definition import Definition, Kind, OnChange, check_on_change
from adjourn.runtime.outcome import Outcome

if TYPE_CHECKING:
    from pydantic_ai.models import Model as PydanticModel

    from adjourn.runtime.run import Run
    from adjourn.runtime.stream import RunStream

T = TypeVar("T", default=str)


class Agent(Definition[T]):
    """Instructions, a model, tools, a policy and limits. It holds no state: one agent may have any
    number of runs.

    Args:
        name: the name by which runs find it; without `:` and `/`.
        model: a provider string (`"openai:gpt-5-mini"`), a pydantic-ai model, or any object of the
            `Model` protocol.
        instructions: a string, or a function over the run's context (`run_id`, `state`,
            `resources`), called for each model call.
        tools: `Tool` objects, plain functions, or other agents.
        policy: rules for tool calls; without one, every tool is allowed that does not say otherwise
            itself.
        stop: the conditions that end a run.
        output_type: the type of the output.
        settings: model settings, passed with each request.
        retries: attempts per model call, for errors that may pass.
        on_change: what to do with a run of another definition: `"refuse"`, or `"warn"` and
            continue.
        history: what of a conversation the model is sent: `trim`, `drop_tool_results`, `summarise`,
            or functions from messages to messages, applied in this order. The conversation itself
            stays complete.
    """

    kind: ClassVar[Kind] = "agent"

    def __init__(
        self,
        name: str,
        *,
        model: "str | Model | PydanticModel",
        instructions: str | Callable[[Any], str] = "",
        tools: Iterable[Tool | Toolset | Callable[..., Any]] | Finder = (),
        policy: Policy | None = None,
        stop: Stop = MaxSteps(50),
        output_type: type[T] | Any = str,
        settings: Mapping[str, Any] | None = None,
        retries: int = 3,
        on_change: OnChange = "refuse",
        history: Iterable[Processor] = (),
    ) -> None:
        if not isinstance(name, str) or not name or any(c in name for c in ":/\n"):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidDefinition(
                f"agent name must be a short string without ':' or '/', got {name!r}"
            )
        if not isinstance(stop, Stop):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidDefinition(
                f"agent {name!r}: stop= must be conditions such as MaxSteps(30) | MaxCost(5), got {stop!r}"
            )
        if policy is not None and not isinstance(policy, Policy):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidDefinition(
                f"agent {name!r}: policy= must be a Policy([...]), got {policy!r}"
            )
        if isinstance(retries, bool) or not isinstance(retries, int) or retries < 1:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidDefinition(
                f"agent {name!r}: retries= must be the number of attempts, at least 1, got {retries!r}"
            )
        if not isinstance(instructions, str) and not callable(instructions):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidDefinition(
                f"agent {name!r}: instructions= must be a string or a function, got {instructions!r}"
            )
        check_on_change(on_change)
        self.name, self.policy, self.stop, self.retries, self.on_change = (
            name,
            policy,
            stop,
            retries,
            on_change,
        )
        self.instructions = instructions
        if settings:
            self.settings = dict(settings)
        else:
            self.settings = None
        self.history = History(name, history)
        given, self.toolsets = _split(tools)
        self.tools = _by_name(name, given)
        self.output = Output(output_type)
        self.model: Model = resolve(model)
        self._check_policies()

    def _check_policies(self) -> None:
        """Raise `InvalidDefinition` for rules about what there is not, and for rules of agents that
        cannot be told apart."""
        agents = family(self).values()
        # what is found later may be meant
        if self.policy is not None and not any(agent.toolsets for agent in agents):
            self.policy.check(
                {name: (lambda t=t: t.schema) for a in agents for name, t in a.tools.items()}
            )
        refuse_twins(
            [rule for agent in agents if agent.policy is not None for rule in agent.policy.rules]
        )

    @property
    def program(self) -> AgentProgram:
        """The agent as the driver sees it."""
        return self._program

    @cached_property
    def _program(self) -> AgentProgram:
        return AgentProgram(self)

    @property
    def fingerprint(self) -> dict[str, Any]:
        """Names and schemas of the agent, its tools and its policy: what a paused run depends
        on."""
        return self._fingerprint

    @cached_property
    def _fingerprint(self) -> dict[str, Any]:
        children = {
            t.agent.name: t.agent.fingerprint
            for t in self.tools.values()
            if isinstance(t, AgentTool)
        }
        return {
            "name": self.name,
            "tools": {t.name: t.definition[:16] for t in self.tools.values()},
            "parameters": {t.name: t.parameters for t in self.tools.values()},
            "policy": self.policy.fingerprint if self.policy else [],
            "output": self.output.fingerprint,
            **(
                {"strictness": self.policy.strictness}
                if self.policy and self.policy.strictness
                else {}
            ),
            **({"agents": children} if children else {}),
            **({"toolsets": [toolset.name for toolset in self.toolsets]} if self.toolsets else {}),
        }

    @cached_property
    def specs(self) -> tuple[ToolSpec, ...]:
        """What its model is told of its tools."""
        return (*(t.spec for t in self.tools.values()), *self.output.specs)

    def terms(self, instructions: str, found: Mapping[str, Tool] | None = None) -> Terms:
        """What a request has beside its messages, as it is recorded. `found`: the tools that were
        found for it."""
        if found:
            specs = [
                *self._terms.tools,
                *(plain(msgspec.to_builtins(tool.spec), "tools") for tool in found.values()),
            ]
            return msgspec.structs.replace(self._terms, instructions=instructions, tools=specs)
        if self._terms.instructions == instructions:
            return self._terms
        return msgspec.structs.replace(self._terms, instructions=instructions)

    @cached_property
    def _terms(self) -> Terms:
        if isinstance(self.instructions, str):
            instructions = self.instructions
        else:
            instructions = ""
        tools = cast("list[Any]", plain(msgspec.to_builtins(self.specs), "tools"))
        return Terms(instructions, self.model.name, recorded_settings(self.settings), tools)

    def load(self, value: Any) -> Any:
        """An output as the output type."""
        return self.output.load(value)

    def instructions_for(self, desk: StepHandle) -> str:
        """The instructions for a model call of this run."""
        if isinstance(self.instructions, str):
            return self.instructions
        return self.instructions(desk)

    async def run(
        self,
        input: Any,
        *,
        resources: Mapping[str, Any] | None = None,
        after: Saved | None = None,
        by: str = "",
    ) -> Outcome[T]:
        """Run until it ends or waits for a person. Raises `RunFailed`.

        Args:
            input: a string or any JSON value.
            resources: the live objects that tools need, by name.
            after: the checkpoint of a run that has ended: this run is the next turn of its
                conversation.
            by: who starts the run.
        """
        from adjourn.runtime.local_runtime import LocalRuntime

        run = await LocalRuntime(self, resources).start(self, input, after=after, by=by)
        return await run.wait()

    async def resume(
        self,
        checkpoint: Saved,
        answer: Any = MISSING,
        *,
        answers: Mapping[str, Any] | None = None,
        approved: bool | None = None,
        instruction: str | None = None,
        by: str | None = None,
        resources: Mapping[str, Any] | None = None,
        on_change: OnChange | None = None,
    ) -> Outcome[T]:
        """Continue from a checkpoint, in any process. No finished call runs again.

        Everything is checked before an answer is used. The same checkpoint can be resumed twice,
        because nothing is remembered between calls; a `Runtime` prevents that.

        Args:
            checkpoint: a `Checkpoint`, its JSON (`str` or `bytes`), or the parsed dict.
            answer: the answer to the only open interrupt.
            answers: answers by interrupt id, for any subset of the open interrupts.
            approved: True or False: approves or denies the only open interrupt.
            instruction: a message that the agent reads before it continues.
            by: who answers.
            resources: the live objects that tools need, by name.
            on_change: `"refuse"` or `"warn"`, for this call; without it, the agent's own.
        """
        from adjourn.runtime.local_runtime import LocalRuntime

        said: dict[str, Any] = {
            "answers": answers,
            "approved": approved,
            "instruction": instruction,
            "by": by or "",
        }
        run = await LocalRuntime(self, resources).resume(
            checkpoint, answer, **said, on_change=on_change
        )
        return await run.wait()

    def stream(
        self,
        input: Any = MISSING,
        *,
        checkpoint: Saved | None = None,
        answer: Any = MISSING,
        answers: Mapping[str, Any] | None = None,
        approved: bool | None = None,
        instruction: str | None = None,
        by: str | None = None,
        resources: Mapping[str, Any] | None = None,
        after: Saved | None = None,
        on_change: OnChange | None = None,
    ) -> AbstractAsyncContextManager["RunStream[T]"]:
        """Run or resume with a live handle: `async with agent.stream(input) as run: async for event
        in run: …`.

        Args:
            input, after: as for `run`.
            checkpoint, answer, answers, approved, instruction, on_change: as for `resume`, instead
            of
                `input`.
            resources: the live objects that tools need, by name.
            by: who starts the run or answers.
        """
        if (input is MISSING) == (checkpoint is None):
            raise Misused("stream takes an input, or checkpoint= to resume: one of the two")
        from adjourn.runtime.local_runtime import LocalRuntime
        from adjourn.runtime.stream import RunStream

        runtime = LocalRuntime(self, resources)
        said: dict[str, Any] = {
            "answers": answers,
            "approved": approved,
            "instruction": instruction,
            "by": by or "",
        }

        async def begin() -> "Run[T]":
            if checkpoint is None:
                return await runtime.start(self, input, after=after, by=by or "")
            return await runtime.resume(checkpoint, answer, **said, on_change=on_change)

        return RunStream(runtime, begin)

    def run_sync(
        self,
        input: Any,
        *,
        resources: Mapping[str, Any] | None = None,
        after: Saved | None = None,
        by: str = "",
    ) -> Outcome[T]:
        """`run`, for a program without an event loop.

        Args:
            input, resources, after, by: as for `run`.
        """
        _no_loop("run")
        return asyncio.run(self.run(input, resources=resources, after=after, by=by))

    def resume_sync(
        self,
        checkpoint: Saved,
        answer: Any = MISSING,
        *,
        answers: Mapping[str, Any] | None = None,
        approved: bool | None = None,
        instruction: str | None = None,
        by: str | None = None,
        resources: Mapping[str, Any] | None = None,
        on_change: OnChange | None = None,
    ) -> Outcome[T]:
        """`resume`, for a program without an event loop.

        Args:
            checkpoint, answer, answers, approved, instruction, by, resources, on_change: as for
            `resume`.
        """
        _no_loop("resume")
        return asyncio.run(
            self.resume(
                checkpoint,
                answer,
                answers=answers,
                approved=approved,
                instruction=instruction,
                by=by,
                resources=resources,
                on_change=on_change,
            )
        )

    def as_tool(
        self,
        name: str | None = None,
        description: str | None = None,
        *,
        on_failure: Literal["ask", "tell"] = "ask",
    ) -> Tool:
        """This agent as a tool of another agent. Its conversation is a path inside that run.

        Args:
            name: the tool's name; without one, the agent's.
            description: what the model reads about it.
            on_failure: what to do when it fails: `"ask"` a person, or `"tell"` the calling agent.
        """
        text = (
            description
            or (self.instructions if isinstance(self.instructions, str) else "")
            or f"Ask the agent {self.name}."
        )
        return AgentTool(self, name or self.name, text, on_failure)

    def __repr__(self) -> str:
        return f"Agent({self.name!r}, model={self.model.name!r}, tools={list(self.tools)})"


def _split(tools: Any) -> tuple[list[Any], tuple[Toolset, ...]]:
    """What is a tool, and what finds tools."""
    if is_toolset(tools):
        return [], (cast("Toolset", tools),)
    if callable(tools):
        return [], (FunctionToolset(cast("Finder", tools)),)
    own: list[Any] = []
    found: list[Toolset] = []
    for given in cast("Iterable[Any]", tools):
        if not isinstance(given, Agent | Tool) and is_toolset(given):
            found.append(cast("Toolset", given))
        else:
            own.append(given)
    return own, tuple(found)


def _by_name(agent: str, tools: Iterable[Any]) -> dict[str, Tool]:
    found: dict[str, Tool] = {}
    for given in tools:
        if isinstance(given, Agent):
            given = given.as_tool()  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
        if isinstance(given, Tool):
            one = given
        else:
            one = tool(given)
        if one.name in found:
            raise InvalidDefinition(f"agent {agent!r} has two tools named {one.name!r}")
        found[one.name] = one
    return found


def _no_loop(verb: str) -> None:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise Misused(
        f"{verb}_sync cannot be used inside a running event loop (Jupyter has one): use "
        f"`await agent.{verb}(...)`"
    )
