"""What a chunk may use while it runs."""

import logging
from collections.abc import Mapping
from typing import Any, Literal, NoReturn, Unpack, overload

from adjourn.bodies.tool_context import PauseOptions, ToolContext
from adjourn.core.call import Call
from adjourn.core.codec import decode, encode, plain
from adjourn.core.duration import Duration, seconds
from adjourn.core.flow_fold import FlowScope
from adjourn.core.graph import Graph
from adjourn.core.ids import checked_event, local_event
from adjourn.core.memo_key import MemoKind, is_memo, memo_key, parse_memo
from adjourn.driver.program import StepHandle
from adjourn.errors import InvalidDefinition, MissingResource, PauseRequest
from adjourn.flow.chunk_state import FlowState

log = logging.getLogger("adjourn.flow")
_warned: set[tuple[str, str, str]] = set()
"""Flow, chunk and event of every warning that was given."""


class ResumeAnswer:
    """The answer that let a chunk run again. Reading `value` takes it: a `pause_for` after that
    asks anew.

    Nothing compares it with the question that the body would ask now: look at `type` and `payload`,
    or let `pause_for(resume_to="self")` return the answer, which compares them.
    """

    def __init__(self, context: "FlowContext", answer: dict[str, Any]) -> None:
        self._context, self._answer = context, answer

    @property
    def value(self) -> Any:
        """The latest answer; None if there is none."""
        self._context._take_answers()
        return self._answer.get("value")

    @property
    def type(self) -> str:
        """The type of the question that was answered; "" if none was."""
        return self._answer.get("type", "")

    @property
    def payload(self) -> Any:
        """What the person who answered was shown."""
        return self._answer.get("payload")


class FlowResources(dict[str, Any]):
    """The live objects that were passed; one that was not is missed by its name."""

    def __missing__(self, name: str) -> Any:
        raise MissingResource(
            [name], "this chunk", declare="declare it with @flow.chunk(resources=[…]) and "
        )


class FlowContext(ToolContext):
    """What a chunk may use: its input, the flow's state, and everything a tool has."""

    def __init__(self, desk: StepHandle, call: Call, scope: FlowScope) -> None:
        super().__init__(desk, call)
        flow = desk.state.flow
        assert flow is not None
        # A copy: what the chunk does to it is its own affair.
        if type(call.args) in (list, dict):
            self.input: Any = decode(encode(call.args))
        else:
            self.input = call.args
        self.state = FlowState(scope.data)
        self.notes = list(flow.notes)
        self.emitted: list[Any] = []
        self._scope, self._graph = scope, flow.graph_of(scope)
        self._event = ""
        self._waits = 0
        self._looked = False
        answer: dict[str, Any] = {}
        for key, kept in call.memo.items():
            if is_memo(key, MemoKind.ANSWER) and "value" in kept:
                answer = kept
        self._resumed = bool(answer)
        self._resume = ResumeAnswer(self, answer)

    @property
    def resources(self) -> Mapping[str, Any]:
        """The live objects that were passed with `resources=`."""
        return FlowResources(super().resources)

    @property
    def is_resume(self) -> bool:
        """Whether the chunk runs again because a `pause_for` of it was answered."""
        self._looked = True
        return self._resumed

    @property
    def resume(self) -> ResumeAnswer:
        """The latest answer: `resume.value`."""
        return self._resume

    def _take_answers(self) -> None:
        """The body has its answers from `resume.value`: a `pause_for` from here on is another
        question."""
        self._looked = True
        numbered = 0
        for kind, name in map(parse_memo, self._memo):
            if kind is MemoKind.ANSWER and name.isdigit():
                numbered += 1
        self._counts["pauses"] = max(self._counts["pauses"], numbered)

    def leftover(self) -> list[str]:
        """See `ToolContext.leftover`. A body that looked whether it is resumed knows of its
        answers."""
        left = super().leftover()
        if not self._looked:
            return left
        return [key for key in left if not is_memo(key, MemoKind.ANSWER)]

    def emit(self, event: str, value: Any = None) -> None:
        """Emit an event; it takes effect together with this chunk's result, or not at all.

        Args:
            event: its name.
            value: what it carries; any JSON value.
        """
        self.emitted.append([self._scope.label + checked_event(event), plain(value, "event value")])

    @overload  # type: ignore[override]
    def pause_for(
        self,
        type: str = ...,
        payload: Any = ...,
        *,
        resume_to: Literal["next"] = ...,
        resume_event: str | None = ...,
        **options: Unpack[PauseOptions],
    ) -> NoReturn: ...
    @overload
    def pause_for(
        self,
        type: str = ...,
        payload: Any = ...,
        *,
        resume_to: str | dict[str, str],
        resume_event: str | None = ...,
        **options: Unpack[PauseOptions],
    ) -> Any: ...
    def pause_for(  # pyright: ignore[reportIncompatibleMethodOverride]
        self,
        type: str = "question",
        payload: Any = None,
        *,
        resume_to: str | dict[str, str] = "next",
        resume_event: str | None = None,
        interrupt_id: str | None = None,
        answer_schema: Any = None,
        expires_in: Duration | None = None,
        on_expiry: str = "deny",
    ) -> Any:
        """Stop here and wait for an answer. It raises `PauseRequest`, a `BaseException`.

        Args:
            type: your own word for what is asked, for example `"approval"`.
            payload: what the person is shown; any JSON value.
            resume_to: `"next"`: the answer is the result, and the body does not run again.
                `"self"`: the body runs again, and this call returns the answer. `{"event": name}`:
                    the answer is that event.
            resume_event: short for `resume_to={"event": name}`.
            interrupt_id: tells several pauses of one body apart; without it, their order does.
            answer_schema: a Python type or a JSON Schema that the answer must fit.
            expires_in: seconds, or a `timedelta`, for the answer.
            on_expiry: what happens then: `"deny"` or `"cancel"`.
        """
        if not isinstance(type, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidDefinition(
                f"pause_for: the type must be a non-empty string, such as 'approval', got {type!r:.80}",
                advice="pass the payload after it",
            )
        if resume_event is not None:
            if resume_to != "next":
                raise InvalidDefinition(
                    "resume_event= is short for resume_to={'event': name}",
                    advice="pass one of them",
                )
            resume_to = {"event": resume_event}
        if isinstance(resume_to, dict):
            if set(resume_to) != {"event"}:
                raise _no_such_way(resume_to)
            self._event, resume_to = self._scope.label + checked_event(resume_to["event"]), "next"
            _warn_if_unheard(self._graph, self._call.tool, self._event)
        elif resume_to not in ("next", "self"):
            raise _no_such_way(resume_to)
        else:
            self._event = ""
        if self._call.kind == "test" and resume_to == "next" and not self._event:
            # The answer is what the condition says: then it has to be True or False, whoever gives
            # it.
            if answer_schema not in (None, bool):
                raise InvalidDefinition(
                    "a condition is answered with True or False", advice='else use resume_to="self"'
                )
            answer_schema = bool
        return super().pause_for(
            type,
            payload,
            resume_to=resume_to,
            interrupt_id=interrupt_id,
            answer_schema=answer_schema,
            expires_in=expires_in,
            on_expiry=on_expiry,
        )

    async def wait_for(self, event: str, *, expires_in: Duration | None = None) -> Any:
        """Wait for an event and give its value. A person who may control the run can send it:
        `run.emit(event, value)`.

        The run parks and costs nothing; the body runs again when the event has come. For what a
        person decides, use
        `pause_for`: that is a question, and answering it needs the right to decide.

        Args:
            event: the event's name.
            expires_in: how long to wait; `InterruptClosed` is raised when that time is over.
        """
        name = self._scope.label + checked_event(event)
        key = self._use(memo_key(MemoKind.EVENT, self._waits), "ctx.wait_for")
        self._waits += 1
        if key in self._memo and self._is_same(key, "event", name):
            return self._answer(key)
        if expires_in is None:
            expires = 0.0
        else:
            expires = self._desk.now() + seconds(expires_in, "expires_in")
        self._event = name
        raise self._stop(
            kind="event", type="event", payload=name, key=key, resume_to="self", expires=expires
        )

    def _stop(self, **fields: Any) -> PauseRequest:
        if self._event and fields.get("kind") != "timer":
            fields["event"] = self._event
        return super()._stop(**fields)


def _warn_if_unheard(graph: Graph, chunk: str, event: str) -> None:
    """Say, once, that an answer would begin nothing. A flow's bodies are not looked into before
    they run."""
    name, flow = local_event(event), graph.name
    if (
        any(name in chain.any or name in chain.all for chain in graph.chains)
        or (flow, chunk, name) in _warned
    ):
        return
    _warned.add((flow, chunk, name))
    log.warning(
        "chunk %r of flow %r waits with resume_event=%r, but no when(%r) listens for it: an "
        "answer ends the chain and starts nothing. Add flow.when(%r), or leave resume_event out: "
        "then the answer goes to the next chunk",
        chunk,
        flow,
        name,
        name,
        name,
    )


def _no_such_way(resume_to: Any) -> InvalidDefinition:
    return InvalidDefinition(
        f"resume_to must be 'next', 'self' or {{'event': name}}, got {resume_to!r:.80}"
    )
