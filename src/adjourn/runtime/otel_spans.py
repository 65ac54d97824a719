"""Spans of a run, and what is measured, for OpenTelemetry.

One trace is one segment: what a worker does with a run from taking it to handing it back. Its ids are made
of the run and the epoch, so that the next segment, in another process and weeks later, links to it. What
people take is told by events: nobody works meanwhile.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from opentelemetry import metrics, trace
from opentelemetry.trace import Link, Span, SpanContext, SpanKind, Status, StatusCode, TraceFlags

from adjourn.core.call import Call
from adjourn.core.messages import AssistantMessage, Text, ToolCall, ToolResult, UserMessage
from adjourn.core.plan import Step
from adjourn.core.records import (
    AnyRecord,
    Asked,
    Broke,
    Claimed,
    Decided,
    Emitted,
    Fact,
    Faulted,
    Parked,
    Released,
    Replied,
    Resumed,
    Returned,
    Said,
    Summarised,
    Suspended,
)
from adjourn.core.state import State
from adjourn.driver.program import Program, StepHandle
from adjourn.runtime import otel_names as names
from adjourn.stores.protocol import Lease

if TYPE_CHECKING:
    from opentelemetry.metrics import MeterProvider
    from opentelemetry.trace import TracerProvider

Tail = Sequence[tuple[int, AnyRecord]]
LONGEST = 20_000
"""Characters of what is said in one attribute."""


class SegmentIds:
    """The ids of a segment's first span; those of all others are what they would be."""

    def __init__(self, others: Any) -> None:
        self._others = others
        self.next: SpanContext | None = None

    def generate_span_id(self) -> int:
        """See `IdGenerator`."""
        found, self.next = self.next, None
        if found is not None:
            return found.span_id
        return self._others.generate_span_id()

    def generate_trace_id(self) -> int:
        """See `IdGenerator`."""
        if self.next is not None:
            return self.next.trace_id
        return self._others.generate_trace_id()

    def is_trace_id_random(self) -> bool:
        """See `IdGenerator`."""
        return self.next is None and self._others.is_trace_id_random()


def segment_context(run: str, epoch: int) -> SpanContext:
    """How everybody calls the first span of a segment."""
    found = hashlib.sha256(f"adjourn segment\n{run}\n{epoch}".encode()).digest()
    trace_id, span_id = int.from_bytes(found[:16], "big"), int.from_bytes(found[16:24], "big")
    return SpanContext(trace_id or 1, span_id or 1, True, TraceFlags(TraceFlags.SAMPLED))


class RunTelemetry:
    """See `driver.metrics.RunWatch`."""

    def __init__(
        self,
        tracer_provider: "TracerProvider | None",
        meter_provider: "MeterProvider | None",
        *,
        content: bool,
    ) -> None:
        self.tracer = trace.get_tracer("adjourn", tracer_provider=tracer_provider)
        self.content, self.ids = content, self._own_ids()
        meter = metrics.get_meter("adjourn", meter_provider=meter_provider)
        self.durations = meter.create_histogram(
            names.OPERATION_DURATION, "s", "How long operations took."
        )
        self.first_chunks = meter.create_histogram(
            names.TIME_TO_FIRST_CHUNK, "s", "Time until the first part of a model's reply arrived."
        )
        self.tokens = meter.create_histogram(names.TOKEN_USAGE, "{token}", "Tokens of model calls.")
        self.waits = meter.create_histogram(
            names.PEOPLE_WAIT, "s", "How long runs waited for people."
        )

    def _own_ids(self) -> SegmentIds | None:
        """Put ours before those of the tracer; None where a tracer of another kind has none."""
        tracer: Any = self.tracer
        while hasattr(tracer, "tracer"):  # wrapped by somebody
            tracer = tracer.tracer
        others = getattr(tracer, "id_generator", None)
        if others is None:
            return None
        if not isinstance(others, SegmentIds):
            tracer.id_generator = others = SegmentIds(others)
        return others

    def begin(self, lease: Lease, tail: Tail, program: Program) -> "Segment":
        """A worker has taken a run."""
        return Segment(self, lease, tail, program)


class Segment:
    """What a worker does with a run until it rests; a program that tells of its steps."""

    def __init__(self, telemetry: RunTelemetry, lease: Lease, tail: Tail, program: Program) -> None:
        self._telemetry, self._program = telemetry, program
        self.kind, self.name = program.kind, program.name
        flow = program.kind == "flow"
        operation = names.INVOKE_WORKFLOW if flow else names.INVOKE_AGENT
        attributes: dict[str, Any] = {
            names.OPERATION: operation,
            (names.WORKFLOW if flow else names.AGENT): program.name,
            names.RUN: lease.run,
            names.EPOCH: lease.epoch,
        }
        links: list[Link] = []
        ids = telemetry.ids
        if ids is not None:
            ids.next = segment_context(lease.run, lease.epoch)
            if lease.epoch > 1:
                links.append(Link(segment_context(lease.run, lease.epoch - 1)))
        self.span = telemetry.tracer.start_span(
            f"{operation} {program.name}",
            context=trace.set_span_in_context(trace.INVALID_SPAN),
            kind=SpanKind.INTERNAL,
            attributes=attributes,
            links=links,
        )
        if ids is not None:
            ids.next = None
        self._tell_people(lease, tail)

    def _tell_people(self, lease: Lease, tail: Tail) -> None:
        """What people said while the run waited, and how long that took them. Not who, and not what."""
        opened: dict[str, Asked | Suspended] = {}
        said: list[AnyRecord] = []
        for _, record in tail:
            if isinstance(record, Asked | Suspended):
                opened[record.i] = record
            earlier = isinstance(record, Claimed) and record.epoch < lease.epoch
            if earlier or isinstance(record, Parked | Released):
                said = []
            else:
                said.append(record)
        for record in said:
            if isinstance(record, Decided) and (asked := opened.get(record.i)) is not None:
                waited = max(0.0, record.at - asked.at)
                told = {names.KIND: asked.kind, names.VERDICT: record.verdict}
                self.span.add_event(names.DECIDED, {**told, names.WAITED: waited})
                self._telemetry.waits.record(waited, {**told, names.AGENT: self.name})
            elif isinstance(record, Said | Emitted | Resumed):
                self.span.add_event(names.WORD, {names.RECORD: str(record.__struct_config__.tag)})

    def end(self, state: State) -> None:
        """The run rests, has ended, or was lost to another worker."""
        if state.started.session:
            self.span.set_attribute(names.CONVERSATION, state.started.session)
        self.span.set_attribute(names.STATUS, state.view)
        self.span.set_attribute(names.COST, state.usage.cost)
        for opened in state.open.values():
            self.span.add_event(names.WAITS, {names.KIND: opened.record.kind})
        if state.failed:
            self.span.set_status(Status(StatusCode.ERROR))
        self.span.end()

    # The program, whose steps are told of

    @property
    def fingerprint(self) -> dict[str, Any]:
        return self._program.fingerprint

    def judge(self, state: State, call: Call, now: float) -> Any:
        return self._program.judge(state, call, now)

    def next(self, state: State, now: float, plan: Any) -> None:
        self._program.next(state, now, plan)

    def missing(self, resources: Mapping[str, Any]) -> set[str]:
        return self._program.missing(resources)

    def check_requester(self, by: str) -> None:
        self._program.check_requester(by)

    async def perform(self, step: Step, desk: StepHandle) -> Fact:
        """Run a step, inside of its span."""
        telemetry, agent = self._telemetry, _agent_of(desk.state, step, self.name)
        calls = step.call is not None
        operation = names.EXECUTE_TOOL if calls else names.CHAT
        subject = step.call.tool if step.call is not None else _model_of(self._program, agent, step)
        attributes: dict[str, Any] = {
            names.OPERATION: operation,
            names.AGENT: agent,
            names.RUN: desk.run_id,
            names.STEP: step.kind,
            names.ATTEMPT: step.attempt,
        }
        if step.call is not None:
            attributes |= {
                names.TOOL: subject,
                names.TOOL_CALL: step.call.id,
                names.TOOL_TYPE: "function",
            }
            if telemetry.content:
                attributes[names.ARGUMENTS] = _text(step.call.args)
        else:
            attributes[names.REQUEST_MODEL] = subject.partition(":")[2] or subject
            attributes[names.PROVIDER] = _provider(subject)
            if telemetry.content:
                attributes[names.INPUT_MESSAGES] = _text([_message(one) for one in desk.request])
        began = desk.now()
        context = trace.set_span_in_context(self.span)
        kind = SpanKind.INTERNAL if calls else SpanKind.CLIENT
        with telemetry.tracer.start_as_current_span(
            f"{operation} {subject}",
            context=context,
            kind=kind,
            attributes=attributes,
            record_exception=False,
            set_status_on_exception=False,
        ) as span:
            measured = {name: attributes[name] for name in _MEASURED if name in attributes}
            try:
                fact = await self._program.perform(step, desk)
            except BaseException as e:
                span.set_attribute(names.ERROR_TYPE, type(e).__name__)
                span.set_status(Status(StatusCode.ERROR))
                measured[names.ERROR_TYPE] = type(e).__name__
                raise
            else:
                measured |= self._tell(span, fact, measured)
            finally:
                telemetry.durations.record(max(0.0, desk.now() - began), measured)
                if desk.first_word:
                    telemetry.first_chunks.record(max(0.0, desk.first_word - began), measured)
        return fact

    def _tell(self, span: Span, fact: Fact, measured: Mapping[str, Any]) -> dict[str, Any]:
        """What a step came to. Not what it said, unless that was asked for."""
        more: dict[str, Any] = {}
        match fact:
            case Replied() | Broke() | Summarised():
                more = _of_reply(span, fact)
                for kind, count in (
                    ("input", fact.usage.input_tokens),
                    ("output", fact.usage.output_tokens),
                ):
                    if count:
                        self._telemetry.tokens.record(
                            count, {**measured, **more, names.TOKEN_TYPE: kind}
                        )
                if self._telemetry.content and isinstance(fact, Replied):
                    said = _message(AssistantMessage(fact.parts))
                    span.set_attribute(names.OUTPUT_MESSAGES, _text([said]))
            case Faulted():
                more = {names.ERROR_TYPE: fact.kind}
            case Returned(error="") if self._telemetry.content:
                span.set_attribute(names.RESULT, _text(fact.value))
            case Returned(error=str(error)) if error:
                more = {names.ERROR_TYPE: fact.why or "tool_error"}
            case _:
                pass
        if names.ERROR_TYPE in more:
            span.set_attribute(names.ERROR_TYPE, more[names.ERROR_TYPE])
            span.set_status(Status(StatusCode.ERROR))
        return more


_MEASURED = (names.OPERATION, names.PROVIDER, names.REQUEST_MODEL, names.TOOL, names.AGENT)


def _agent_of(state: State, step: Step, program: str) -> str:
    path = step.call.path if step.call is not None else step.path
    thread = state.threads.get(path)
    return thread.agent if thread is not None else program


def _model_of(program: Program, agent: str, step: Step) -> str:
    """The name of the model that is asked; "" where a program does not say."""
    agents: Mapping[str, Any] = getattr(program, "agents", {})
    found = agents.get(agent)
    if found is None:
        return "model"
    chain = found.summary_chain if step.kind == "summary" else found.chain
    return chain.model(step.attempt).name


def _provider(model: str) -> str:
    """The provider of a model, as the conventions call it."""
    known = model.partition(":")[0]
    return known.partition("-")[0] or "unknown"


def _of_reply(span: Span, fact: Replied | Broke | Summarised) -> dict[str, Any]:
    usage = fact.usage
    span.set_attribute(names.INPUT_TOKENS, usage.input_tokens)
    span.set_attribute(names.OUTPUT_TOKENS, usage.output_tokens)
    span.set_attribute(names.CACHED_TOKENS, usage.cache_read_tokens)
    if isinstance(fact, Broke):
        span.set_attribute(names.FINISH_REASONS, ["interrupted"])
        return {}
    more = {names.RESPONSE_MODEL: fact.model} if fact.model else {}
    details: dict[str, Any] = (fact.details if isinstance(fact, Replied) else None) or {}
    if isinstance(id := details.get("provider_response_id"), str):
        span.set_attribute(names.RESPONSE_ID, id)
    if isinstance(reason := details.get("finish_reason"), str):
        span.set_attribute(names.FINISH_REASONS, [reason])
    span.set_attributes(more)
    return more


def _message(message: Any) -> dict[str, Any]:
    """A message as the conventions write it."""
    if isinstance(message, UserMessage):
        return {"role": "user", "parts": [{"type": "text", "content": message.text}]}
    if isinstance(message, ToolResult):
        part = {"type": "tool_call_response", "id": message.call_id, "response": message.content}
        return {"role": "tool", "parts": [part]}
    parts: list[dict[str, Any]] = []
    for part in message.parts:
        if isinstance(part, Text):
            parts.append({"type": "text", "content": part.text})
        elif isinstance(part, ToolCall):
            parts.append(
                {"type": "tool_call", "id": part.id, "name": part.tool, "arguments": part.args}
            )
    return {"role": "assistant", "parts": parts}


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)[:LONGEST]
