"""Agents: instructions, a model, tools, a policy, limits."""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal, cast

import msgspec
from typing_extensions import TypeVar

from adjourn.agent.agent_program import AgentProgram
from adjourn.agent.agent_tool import AgentTool, HandoffTool, check_handoffs, family
from adjourn.agent.history import History, Processor
from adjourn.agent.model_call import recorded_settings
from adjourn.agent.output import Output
from adjourn.agent.tool import Tool, tool
from adjourn.agent.toolset import Finder, FunctionToolset, Toolset, is_finder, is_toolset
from adjourn.core.codec import plain
from adjourn.core.effect import is_function
from adjourn.core.files import carried_files
from adjourn.core.messages import ToolSpec
from adjourn.core.policy import Policy, refuse_twins
from adjourn.core.request_digest import Terms
from adjourn.core.stop_conditions import MaxSteps, Stop, ToolCalled, guarded, limits_cost
from adjourn.core.thread import OUTPUT_TOOL
from adjourn.driver.program import StepHandle
from adjourn.errors import Invalid, InvalidDefinition, Misused
from adjourn.models.model import Model
from adjourn.models.pydantic_ai.provider import model_chain
from adjourn.runtime.checked_answers import MISSING
from adjourn.runtime.checkpoint import Saved
from adjourn.runtime.definition import Definition, Kind, OnChange, check_on_change
from adjourn.runtime.outcome import Outcome

if TYPE_CHECKING:
    from pydantic_ai.models import Model as PydanticModel

    from adjourn.agent.hook import Hook
    from adjourn.models.prices import Prices
    from adjourn.runtime.run import Run
    from adjourn.runtime.stream import RunStream

T = TypeVar("T", default=str)
GUARD = MaxSteps(50)
"""Ends a run that goes round in circles."""


class Agent(Definition[T]):
    """Instructions, a model, tools, a policy and limits. It holds no state: one agent may have any
    number of runs.

    Args:
        name: the name by which runs find it; without `:` and `/`.
        model: a provider string (`"openai:gpt-5-mini"`), a pydantic-ai model, any object of the
            `Model` protocol, or a list of these: the next one is asked when one fails.
        instructions: a string, or a function over the run's context (`run_id`, `state`,
            `resources`), called for each model call.
        tools: `Tool` objects, plain functions, or other agents.
        policy: rules for tool calls; without one, every tool is allowed that does not say otherwise
            itself.
        stop: the conditions that end a run. `MaxSteps(50)` stays beside them unless they limit the
            steps themselves.
        output_type: the type of the output.
        settings: model settings, passed with each request.
        retries: attempts per model call, for errors that may pass; of a list of models, how often
            all of them are tried.
        on_change: what to do with a run of another definition: `"refuse"`, or `"warn"` and
            continue.
        history: what of a conversation the model is sent: `trim`, `drop_tool_results`, `summarise`,
            or functions from messages to messages, applied in this order. The conversation itself
            stays complete.
        prices: what the model costs, as a `Price` or as prices by model name, where no price list
            has it, or another one holds for you. `MaxCost` needs a price.
        hooks: functions that are asked before a tool runs, see its result before anything else
            does, or judge what the agent is told and gives: made by `before_tool`, `after_tool`,
            `check_input` and `check_output` of `adjourn.hooks`.
    """

    kind: ClassVar[Kind] = "agent"

    def __init__(
        self,
        name: str,
        *,
        model: "str | Model | PydanticModel | Sequence[str | Model | PydanticModel]",
        instructions: str | Callable[[Any], str] = "",
        tools: Iterable[Tool | Toolset | Callable[..., Any]] | Finder = (),
        policy: Policy | None = None,
        stop: Stop = GUARD,
        output_type: type[T] | Any = str,
        settings: Mapping[str, Any] | None = None,
        retries: int = 3,
        on_change: OnChange = "refuse",
        history: Iterable[Processor] = (),
        prices: "Prices | None" = None,
        hooks: "Iterable[Hook]" = (),
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
        if not isinstance(instructions, str) and not is_function(instructions):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidDefinition(
                f"agent {name!r}: instructions= must be a string or a function, got {instructions!r}"
            )
        check_on_change(on_change)
        self.name, self.policy, self.instructions = name, policy, instructions
        self.stop, self.retries, self.on_change = guarded(stop, GUARD), retries, on_change
        if settings is not None and not isinstance(settings, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidDefinition(
                f"agent {name!r}: settings= must be {{setting: value}}, got {settings!r:.80}"
            )
        if settings:
            self.settings = dict(settings)
        else:
            self.settings = None
        self.history = History(name, history)
        given, self.toolsets = _split(name, tools)
        self.tools = _by_name(name, given)
        self.output = Output(output_type)
        self._take_hooks(hooks)
        check_handoffs(self)
        self._take_models(model, prices)
        self._check_policies()
        self._check_stop()
        if limits_cost(self.stop):
            from adjourn.agent.cost_limits import check_prices

            check_prices(f"agent {name!r}", family(self).values())

    def _take_models(self, model: Any, prices: Any) -> None:
        if prices is not None:
            from adjourn.models.prices import checked_prices

            prices = checked_prices(prices)
        self.chain = self.summary_chain = model_chain(model, prices)
        by = self.history.summarise
        if by is not None and by.model is not None:
            self.summary_chain = model_chain(by.model, prices)

    def _take_hooks(self, hooks: Any) -> None:
        self.hooks: tuple[Hook, ...] = ()
        if hooks == ():
            return
        from adjourn.agent.hook import check_tools, checked_hooks  # only who has hooks needs it

        self.hooks = checked_hooks(self.name, hooks)
        agents = family(self).values()
        if not any(agent.toolsets for agent in agents):
            check_tools(self.name, self.hooks, [t for a in agents for t in a.tools.values()])

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

    def _check_stop(self) -> None:
        """Raise `InvalidDefinition` for a stop condition on a tool that there is not."""
        named = [leaf for leaf in self.stop.leaves() if isinstance(leaf, ToolCalled)]
        agents = family(self).values() if named else ()
        if any(agent.toolsets for agent in agents):  # what is found later may be meant
            return
        known = sorted({OUTPUT_TOOL, *(name for agent in agents for name in agent.tools)})
        for leaf in named:
            if leaf.tool not in known:
                from difflib import get_close_matches

                near = get_close_matches(leaf.tool, known, n=1)
                raise InvalidDefinition(
                    f"agent {self.name!r}: {leaf} would never stop it: neither this agent nor a "
                    f"nested agent has the tool {leaf.tool!r}",
                    advice=f"did you mean {near[0]!r}?"
                    if near
                    else f"use one of {', '.join(known)}",
                )

    @property
    def model(self) -> Model:
        """The model that is asked first."""
        return self.chain.models[0]

    @property
    def models(self) -> tuple[Model, ...]:
        """Every model that it may ask."""
        return (*self.chain.models, *self.summary_chain.models)

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
            if isinstance(t, AgentTool | HandoffTool)
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
            **({"hooks": [hook.text for hook in self.hooks]} if self.hooks else {}),
            **({"agents": children} if children else {}),
            **({"toolsets": [toolset.name for toolset in self.toolsets]} if self.toolsets else {}),
        }

    @cached_property
    def specs(self) -> tuple[ToolSpec, ...]:
        """What its model is told of its tools."""
        return (*(t.spec for t in self.tools.values()), *self.output.specs)

    def terms(
        self, instructions: str, found: Mapping[str, Tool] | None = None, model: str = ""
    ) -> Terms:
        """What a request has beside its messages, as it is recorded. `found`: the tools that were
        found for it. `model`: who is asked, if not the first of the chain."""
        terms = self._terms_of(instructions, found)
        if model and model != terms.model:
            return msgspec.structs.replace(terms, model=model)
        return terms

    def _terms_of(self, instructions: str, found: Mapping[str, Tool] | None) -> Terms:
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
    def background(self) -> tuple[Model, ...]:
        """Those of its models that work in the background."""
        found: list[Model] = []
        for model in self.chain.models:
            # looked at before anything is loaded: most models answer at once
            if getattr(getattr(model, "model", model), "submit", None) is not None:
                from adjourn.models.background_model import background_of

                if background_of(model) is not None:
                    found.append(model)
        return tuple(found)

    @cached_property
    def _terms(self) -> Terms:
        tools = cast("list[Any]", plain(msgspec.to_builtins(self.specs), "tools"))
        return Terms(self._about, self.model.name, recorded_settings(self.settings), tools)

    async def check_files(self, value: Any, consequence: str) -> None:
        """Raise `Invalid` if none of its models takes all files that a value gives.

        Args:
            value: a plain value; those of its files count that carry their bytes.
            consequence: what did not happen, for the error.
        """
        if not (files := carried_files(value)):
            return
        if why := await self.chain.refusal(files.values()):
            raise Invalid(
                why,
                consequence=consequence,
                advice="give a file of a type that the model takes, or leave it out",
            )

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

        run = await LocalRuntime(self, resources).resume(
            checkpoint,
            answer,
            answers=answers,
            approved=approved,
            instruction=instruction,
            by=by or "",
            on_change=on_change,
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

        async def begin() -> "Run[T]":
            if checkpoint is None:
                return await runtime.start(self, input, after=after, by=by or "")
            return await runtime.resume(
                checkpoint,
                answer,
                answers=answers,
                approved=approved,
                instruction=instruction,
                by=by or "",
                on_change=on_change,
            )

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
        input_type: Any = str,
        render: Callable[[Any], str] | None = None,
    ) -> Tool:
        """This agent as a tool of another agent. Its conversation is a path inside that run.

        Args:
            name: the tool's name; without one, the agent's.
            description: what the model reads about it.
            on_failure: what to do when it fails: `"ask"` a person, or `"tell"` the calling agent.
            input_type: what it is given: a string, or any type that pydantic can validate. The
                calling model sees its schema.
            render: makes the text that this agent reads of a value of that type; without it, the
                agent reads JSON.
        """
        text = description or self._about or f"Ask the agent {self.name}."
        taken = None
        if input_type is not str or render is not None:
            from adjourn.agent.input_type import InputType

            taken = InputType(f"as_tool of {self.name!r}", input_type, render)
        return AgentTool(self, name or self.name, text, on_failure, taken)

    def as_handoff(self, name: str | None = None, description: str | None = None) -> Tool:
        """A tool with which another agent hands its conversation over to this one, for good: this
        agent continues it and gives the output. The rules of the one before still hold.

        Args:
            name: the tool's name; without one, `transfer_to_` and the agent's.
            description: what the model reads about it.
        """
        text = description or f"Hand the conversation over to {self.name}. {self._about}".strip()
        return HandoffTool(self, name or f"transfer_to_{self.name}", text)

    @property
    def _about(self) -> str:
        """Its instructions, if they are a string."""
        return self.instructions if isinstance(self.instructions, str) else ""

    def __repr__(self) -> str:
        model = self.model.name if len(self.chain.models) == 1 else list(self.chain.names)
        return f"Agent({self.name!r}, model={model!r}, tools={list(self.tools)})"


def _split(agent: str, tools: Any) -> tuple[list[Any], tuple[Toolset, ...]]:
    """What is a tool, and what finds tools."""
    is_one = isinstance(tools, Agent | Tool) or callable(tools)
    if is_one and not _finds_tools(tools):
        name = cast("str", getattr(tools, "name", getattr(tools, "__name__", "...")))  # pyright: ignore[reportUnknownArgumentType]
        raise InvalidDefinition(
            f"agent {agent!r}: tools= must be a list, got {tools!r:.80}",
            advice=f"for a tool, write tools=[{name}]; a function that finds tools during a run takes one "
            "parameter, annotated as ToolsetContext",
        )
    if _finds_tools(tools):
        tools = [tools]
    if isinstance(tools, str | Mapping) or not isinstance(tools, Iterable):
        raise InvalidDefinition(
            f"agent {agent!r}: tools= must be a list of tools, functions and agents, got {tools!r:.80}"
        )
    own: list[Any] = []
    found: list[Toolset] = []
    for given in cast("Iterable[Any]", tools):
        if isinstance(given, Agent | Tool) or not _finds_tools(given):
            own.append(given)
        elif is_toolset(given):
            found.append(cast("Toolset", given))
        else:
            found.append(FunctionToolset(cast("Finder", given)))
    return own, tuple(found)


def _finds_tools(given: Any) -> bool:
    return is_toolset(given) or is_finder(given)


def _by_name(agent: str, tools: Iterable[Any]) -> dict[str, Tool]:
    found: dict[str, Tool] = {}
    for given in tools:
        if isinstance(given, Agent):
            given = given.as_tool()  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
        one = given if isinstance(given, Tool) else tool(given)
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
