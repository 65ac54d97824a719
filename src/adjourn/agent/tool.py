"""Tools: functions that a model may call, with what they do to the world declared."""

import copy
import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, Literal, Unpack, overload

from adjourn.bodies.body import BodyOptions, Declared
from adjourn.bodies.secret_types import Secret, secret_mark
from adjourn.bodies.signature import (
    ArgumentError,
    Signature,
    check_takes,
    parameters,
    shape,
    summary,
)
from adjourn.bodies.tool_context import ToolContext, pause_for
from adjourn.core.action_digest import digest
from adjourn.core.call_phrase import check_template, phrase
from adjourn.core.codec import plain
from adjourn.core.duration import Duration
from adjourn.core.effect import EffectName
from adjourn.core.messages import Reply, ToolSpec
from adjourn.core.policy_rule import Rule, Verdict
from adjourn.core.schema import STEPS, check, check_defaults, check_schema
from adjourn.core.schema_document import EndlessDefaults, TooMuchWork, filled
from adjourn.core.thread import OUTPUT_TOOL
from adjourn.driver.schema_check import INLINE
from adjourn.driver.threads import in_thread
from adjourn.errors import InvalidAnswer, InvalidDefinition

PolicyName = Literal["allow", "ask", "deny"]
KNOWN = 256
"""Of so many different arguments a tool with a given schema remembers whether they fit."""


class ToolOptions(BodyOptions, total=False):
    """What `@tool` may say of a function; see `Tool`."""

    policy: PolicyName | None
    isolate: bool
    env: Sequence[str]
    describe: str


class Tool(Declared):
    """A tool with an explicit schema. From a function: `@tool`.

    Args:
        name: the name that the model calls.
        description: what the model reads about it.
        input_schema: the JSON Schema of its arguments.
        run: the function. It takes the arguments as one dict, or as named parameters if its
            parameters are the schema's properties; a parameter annotated `ToolContext` is passed
            in.
        effect: what happens to a call that was running when its process stopped: `"read"`,
            `"idempotent"`, `"verifiable"` or `"unsafe"`.
        undo: `undo(ctx, args, result)` compensates the call when the run is cancelled.
        verify: `verify(ctx, args)` checks whether the call took effect.
        policy: the least strict verdict: `"allow"`, `"ask"` or `"deny"`.
        timeout: seconds, or a `timedelta`; after it a call that is not `"read"` is in doubt.
        settle: time to wait after a timeout before `verify` is called; by default the timeout.
        key_ttl: how long the target remembers an idempotency key.
        retries: how often a call that raised is tried again; only for `"read"` and `"idempotent"`.
        backoff: time before the first retry; it doubles each time.
        isolate: run it in a process of its own that can be ended.
        env: the environment variables that an isolated process gets.
        describe: a call in a few words for the audit, with parameters in braces: `"refund of order
            {order_id}"`. Without it, the tool's name and its first arguments.
    """

    origin: str = ""
    """The digest of all that its source says of it, for one that was found elsewhere."""
    hands_to: str = ""
    """The agent that has the conversation once it has run, if that changes."""

    def __init__(
        self,
        name: str,
        description: str,
        input_schema: dict[str, Any] | None,
        run: Callable[..., Any],
        *,
        effect: EffectName = "unsafe",
        undo: Callable[..., Any] | None = None,
        verify: Callable[..., Any] | None = None,
        policy: PolicyName | None = None,
        timeout: Duration | None = None,
        settle: Duration | None = None,
        key_ttl: Duration | None = None,
        retries: int = 0,
        backoff: Duration = 0.5,
        isolate: bool = False,
        env: Sequence[str] = (),
        describe: str = "",
    ) -> None:
        _check_name(name)
        if not callable(run):
            raise InvalidDefinition(f"tool {name!r}: run must be a function, got {run!r}")
        if policy not in (None, "allow", "ask", "deny"):
            raise InvalidDefinition(
                f"tool {name!r}: policy= must be 'allow', 'ask' or 'deny', got {policy!r}"
            )
        self._declare(
            f"tool {name!r}",
            effect=effect,
            undo=undo,
            verify=verify,
            timeout=timeout,
            settle=settle,
            key_ttl=key_ttl,
            retries=retries,
            backoff=backoff,
        )
        check_takes(undo, 3, f"tool {name!r}: undo takes (ctx, args, result)")
        check_takes(verify, 2, f"tool {name!r}: verify takes (ctx, args)")
        self.name, self.description, self.run = name, description, run
        self.policy, self.isolate = policy, isolate
        self._given = input_schema
        self._problems: dict[str, str] = {}
        if input_schema is None:
            self.signature.check_parameters()
        else:
            check_schema(self.schema, f"tool {name!r}: input_schema")
            check_defaults(self.schema, f"tool {name!r}: input_schema")
        self.env = tuple(env)
        if isinstance(env, str) or not all(isinstance(name, str) for name in self.env):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidDefinition(
                f"tool {name!r}: env= must be the names of environment variables, got {env!r:.80}"
            )
        if self.env and not isolate:
            raise InvalidDefinition(
                f"tool {name!r}: env= is for isolate=True",
                advice="other tools have the worker's environment",
            )
        if isolate:
            self._check_isolated()
        if input_schema is not None:
            self._check_unmarked()
        if describe:
            names = list(self.schema.get("properties", ()))
            check_template(describe, names, f"tool {name!r}")
        self.describe = describe

    def _check_isolated(self) -> None:
        """Another process must be able to find the function by its name, and needs nothing that
        lives in this one."""
        name = getattr(self.run, "__qualname__", "")
        if not name or "<" in name:
            raise InvalidDefinition(
                f"tool {self.name!r}: isolate=True needs a function at the top level of a module"
            )
        if self.secrets:
            raise InvalidDefinition(
                f"tool {self.name!r}: isolate=True cannot take a Secret, which is opened in this process"
            )
        if self.resources:
            raise InvalidDefinition(
                f"tool {self.name!r}: isolate=True cannot take resources, which live in one process"
            )

    def _check_unmarked(self) -> None:
        """With a schema of its own, what is a secret is what that schema marks."""
        from adjourn.core.secret_places import has_secrets

        if has_secrets(self.schema):
            from adjourn.bodies.sealed_arguments import check_marks

            check_marks(self.name, self.schema, self.secrets)
        for parameter in inspect.signature(self.run).parameters.values():
            if secret_mark(parameter.annotation) is not None:
                raise InvalidDefinition(
                    f"tool {self.name!r}: {parameter.name!r} is a Secret: that needs a schema from "
                    f"the signature, not input_schema="
                )
        if secret_mark(inspect.signature(self.run).return_annotation) is not None:
            raise InvalidDefinition(
                f"tool {self.name!r}: its result is a Secret: that needs a schema from the "
                f"signature, not input_schema="
            )

    def phrase(self, args: dict[str, Any]) -> str:
        """A call in the author's words; "" if there are none.

        Args:
            args: the arguments of the call.
        """
        return phrase(self.describe, args)

    @cached_property
    def signature(self) -> Signature:
        """Its function, taken apart."""
        return Signature.of(self.run, self.name, ToolContext)

    @cached_property
    def schema(self) -> dict[str, Any]:
        """The JSON Schema of its arguments."""
        if self._given is None:
            return self.signature.schema
        return plain(self._given, "input_schema")

    @property
    def edit_schema(self) -> dict[str, Any]:
        """The JSON Schema of its complete arguments: what an edit must fit."""
        if self._given is not None:
            return self._recorded
        if self.secrets:
            from adjourn.bodies.sealed_arguments import sealed_schema

            return sealed_schema(self.signature.edit_schema, self.secrets)
        return self.signature.edit_schema

    @cached_property
    def _recorded(self) -> dict[str, Any]:
        """The given schema, as recorded arguments fit it."""
        if not self.secrets:
            return self.schema
        from adjourn.bodies.sealed_arguments import only_sealed

        return only_sealed(self.schema, self.secrets)

    @cached_property
    def secrets(self) -> Mapping[str, Secret]:
        """Its parameters that are secrets."""
        if self._given is None:
            return self.signature.secrets
        from adjourn.core.secret_places import marked_properties

        return {name: Secret(mark) for name, mark in marked_properties(self.schema).items()}

    def opened(self, args: dict[str, Any]) -> dict[str, Any]:
        """Recorded arguments with their secrets opened; raises `ArgumentError` for one that cannot
        be, and for one that does not fit the schema.

        Args:
            args: as they are recorded.
        """
        if not self.secrets:
            return args
        from adjourn.bodies.sealed_arguments import opened_arguments

        found = opened_arguments(args, self.secrets)
        if self._given is None:
            return found
        try:
            check(self.schema, found, "arguments")
        except InvalidAnswer:  # it quotes what does not fit
            names = ", ".join(self.secrets)
            raise ArgumentError(f"{names}: a secret does not fit the schema of the tool") from None
        return found

    @cached_property
    def secret_result(self) -> Secret | None:
        """The mark of its result, if that is a secret."""
        if self._given is not None:
            return None
        return self.signature.secret_result

    @property
    def sealed_as(self) -> str | None:
        """The name under which its result is sealed; None: its result is no secret."""
        return self.secret_result.name if self.secret_result is not None else None

    @cached_property
    def secret_resources(self) -> Mapping[str, str]:
        """Its resources that are secrets, by its parameters."""
        if self._given is not None:
            return {}
        return self.signature.secret_resources

    @property
    def draws(self) -> bool:
        """Whether arguments that are left out get a new value whenever they are validated."""
        return self._given is None and self.signature.draws

    def is_complete(self, args: Any) -> bool:
        """Whether nothing is left to be drawn for these arguments."""
        if not self.draws:
            return True
        try:
            check(self.edit_schema, args, "arguments")
        except InvalidAnswer:
            return False
        return True

    @cached_property
    def rule(self) -> Rule | None:
        """What `policy=` says, as a rule like those of a policy."""
        if self.policy not in ("ask", "deny"):
            return None
        return Rule(Verdict[self.policy.upper()], self.name, reason="the tool says so")

    @cached_property
    def spec(self) -> ToolSpec:
        """What a model sees."""
        return ToolSpec(self.name, self.description, self.schema)

    @cached_property
    def definition(self) -> str:
        """Its digest: name, shape of the arguments, effect. A changed one voids approvals and
        refuses old runs."""
        return digest("tool", self.name, shape(self.schema), self.effect.value)

    @cached_property
    def parameters(self) -> dict[str, str]:
        """Its arguments one by one, those that may be left out marked, and under "" all else that
        its definition says."""
        return parameters(self.schema, self.effect.value)

    @cached_property
    def exact(self) -> str:
        """What an approval is for: the definition, and what people read of it. A changed one asks
        again."""
        said: list[Any] = [self.description, self.undo is not None, self.timeout or 0.0]
        if self.origin:
            said.append(self.origin)
        return digest("tool/2", self.definition, *said)

    @cached_property
    def resources(self) -> dict[str, str]:
        """Parameter → resource name."""
        if self._given is not None:
            return self._explicit[1]
        return self.signature.resources

    @cached_property
    def _explicit(self) -> tuple[str, dict[str, str], list[str]]:
        """For a tool with a given schema: its context parameter, its resources, and the other
        parameters."""
        context, resources, rest = "", dict[str, str](), list[str]()
        try:
            parts = Signature.of(self.run, self.name, ToolContext)
            return parts.context, parts.resources, list(parts.parameters)
        except InvalidDefinition:  # *args, **kwargs: it takes whatever the schema says
            return context, resources, rest

    def validate(self, args: Any) -> dict[str, Any]:
        """The arguments as the JSON that is shown, digested and run; raises `ArgumentError` with a
        text for the model."""
        if self._given is None:
            return self.signature.validate(args)[1]
        if not isinstance(args, dict):
            raise ArgumentError(f"the arguments are not a JSON object: {args!r:.200}")
        try:
            complete = filled(self.schema, args)
        except EndlessDefaults as e:
            raise ArgumentError(str(e)) from None
        if problem := self._problem(complete, STEPS):
            raise ArgumentError(problem)
        return complete

    def _problem(self, args: Any, steps: int) -> str:
        """Why arguments do not fit the given schema, or "". Known for the latest ones, so that it
        is found out once."""
        name = digest("arguments", args)
        if name not in self._problems:
            try:
                check(self._recorded, args, "arguments", steps)
                problem = ""
            except InvalidAnswer as e:
                problem = e.what
            if len(self._problems) >= KNOWN:
                self._problems.pop(next(iter(self._problems)))
            self._problems[name] = problem
        return self._problems[name]

    async def check_ahead(self, args: Any) -> None:
        """Find out, away from the event loop, whether arguments fit, if that takes long: judging
        them then need not."""
        if self._given is None or not isinstance(args, dict):
            return
        try:
            complete = filled(self.schema, args)
        except EndlessDefaults:
            return  # the model reads it when the call is judged
        try:
            self._problem(complete, INLINE)
        except TooMuchWork:
            await in_thread(lambda: self._problem(complete, STEPS))

    def read(self, args: Any) -> tuple[dict[str, Any] | None, dict[str, Any]]:
        """`validate`, with the Python values of that JSON for `bind`: they need not be made
        twice."""
        if self._given is not None:
            return None, self.validate(args)
        return self.signature.validate(args)

    def bind(
        self, args: dict[str, Any], context: ToolContext, values: dict[str, Any] | None = None
    ) -> tuple[list[Any], dict[str, Any]]:
        """The positional and named arguments for `run`; `values` are those of `args`, if they are
        known already."""
        named = {p: context.resources[name] for p, name in self.resources.items()}
        if self._given is None:
            if values is None:
                values, _ = self.signature.validate(args)
            if self.signature.context:
                named[self.signature.context] = context
            return [], {**named, **values}
        where, _, rest = self._explicit
        if where:
            named[where] = context
        args = copy.deepcopy(args)  # what was shown is not for a body to change
        if set(rest) <= set(self.schema.get("properties", {})) and (rest or not args):
            return [], {**named, **{k: v for k, v in args.items() if k in rest}}
        if len(rest) == 1:
            return [], {**named, rest[0]: args}
        return [], {**named, **args}

    def __repr__(self) -> str:
        return f"Tool({self.name!r}, effect={self.effect.value!r})"


async def drawn_for(tools: Mapping[str, Tool], reply: Reply) -> dict[str, Any]:
    """By the number of a call, its arguments with what its tool drew: recorded with the reply, so
    that it is drawn once."""
    drawn: dict[str, Any] = {}
    for number, call in enumerate(reply.calls):
        tool = tools.get(call.tool)
        if tool is None:
            continue
        await tool.check_ahead(call.args)
        if tool.draws:
            try:
                drawn[str(number)] = tool.validate(call.args)
            except ArgumentError:
                pass  # the model reads why when the call is judged
    return drawn


def _check_name(name: Any) -> None:
    if (
        not isinstance(name, str)
        or not name
        or len(name) > 64
        or not all(c.isalnum() or c in "_-." for c in name)
    ):
        raise InvalidDefinition(
            f"a tool's name has up to 64 letters, digits, '_', '-' and '.', not {name!r:.80}"
        )
    if name == OUTPUT_TOOL:
        raise InvalidDefinition(
            f"the tool name {OUTPUT_TOOL!r} is reserved for structured output",
            advice="choose another",
        )


@overload
def tool(function: Callable[..., Any], /) -> Tool: ...
@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    **options: Unpack[ToolOptions],
) -> Callable[[Callable[..., Any]], Tool]: ...
def tool(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    **options: Any,
) -> Any:
    """Make a tool of a function, sync (run in a thread) or async: schema from its signature,
    description from its docstring.

    Args:
        function: the function; left out when the decorator has options.
        name: the name that the model calls; without one, the function's.
        description: what the model reads about it; without one, the docstring.
        options: `effect`, `undo`, `verify`, `policy`, `timeout`, `settle`, `key_ttl`, `retries`,
            `backoff`, `isolate`, `env` and `describe`, as for `Tool`.
    """

    def make(function: Callable[..., Any]) -> Tool:
        if not callable(function) or inspect.isclass(function):
            raise InvalidDefinition(f"@tool is for functions, not for {function!r}")
        if description is not None:
            text = description
        else:
            text = summary(function.__doc__ or "")
        made = Tool(name or function.__name__, text, None, function, **options)
        made.signature  # noqa: B018 (look at the parameters now: a mistake belongs to the line that made it)
        return made

    if function is None:
        return make
    return make(function)


def _ask_human(question: str) -> str:
    """Ask a person a question and wait for the answer.

    Args:
        question: What to ask, in full sentences.
    """
    pause_for("question", {"question": question}, answer_schema={"type": "string"})


ask_human = tool(name="ask_human", effect="read")(_ask_human)
"""A ready tool: `ask_human(question: str) -> str`."""
