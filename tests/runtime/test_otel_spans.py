"""What OpenTelemetry is told of runs: a span for each step, a trace for each segment, links over pauses, and no content."""

import json
import threading
from collections.abc import AsyncIterator, Generator, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Annotated, Any

import pytest
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader, PeriodicExportingMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes
from opentelemetry.semconv._incubating.metrics import gen_ai_metrics
from opentelemetry.trace import SpanKind, StatusCode

from adjourn import Agent, Completed, Flow, FlowContext, Policy, RunFailed, ask, testing, tool
from adjourn.core.messages import Delta, ModelRequest, Reply, Text, TextDelta
from adjourn.driver.metrics import Meter
from adjourn.runtime import otel_names as names
from adjourn.secrets import KeyRing, Secret
from adjourn.stores.memory.store import MemoryStore
from adjourn.telemetry import instrument
from adjourn.testing import FakeClock, ScriptedModel, call


@tool(effect="unsafe")
async def refund(order: str, cents: int) -> str:
    """Refund."""
    return f"refunded {order} CANARY-result"


@tool
async def look(order: str) -> str:
    """Look."""
    raise ValueError("CANARY-error")


def agent() -> Agent[str]:
    model = ScriptedModel(
        [call("look", order="CANARY-argument"), call("refund", order="CANARY-argument", cents=5)], "CANARY-reply"
    )
    return Agent("refunds", model=model, tools=[refund, look], policy=Policy([ask("refund")], default="allow"))


class Told:
    """What was exported."""

    def __init__(self) -> None:
        self.exporter, self.reader = InMemorySpanExporter(), InMemoryMetricReader()
        self.tracers, self.meters = TracerProvider(), MeterProvider([self.reader])
        self.tracers.add_span_processor(SimpleSpanProcessor(self.exporter))

    @property
    def spans(self) -> tuple[ReadableSpan, ...]:
        return self.exporter.get_finished_spans()

    def named(self, name: str) -> list[ReadableSpan]:
        return [span for span in self.spans if span.name == name]

    def whole(self) -> str:
        return "".join(span.to_json() for span in self.spans) + str(self.reader.get_metrics_data())


@pytest.fixture
def told() -> Iterator[Told]:
    found = Told()
    yield found
    found.tracers.shutdown()
    found.meters.shutdown()


async def two_segments() -> None:
    """A run that waits an hour for a person, and ends in another runtime than it began in."""
    clock = FakeClock()
    store = MemoryStore(now=clock.now)
    async with testing.env([first := agent()], store=store, clock=clock) as env:
        await env.runtime.start(first, "CANARY-input", run_id="R1", session="S1", by="CANARY-person")
        await env.settle()
    clock.advance(3600)
    async with testing.env([agent()], store=store, clock=clock) as env:
        [item] = await env.runtime.inbox()
        await env.runtime.approve(item, by="CANARY-decider")
        await env.settle()
        assert isinstance(await (await env.runtime.get("R1")).wait(), Completed)


async def test_a_segment_is_a_trace_and_the_next_one_links_to_it(told: Told) -> None:
    with instrument(tracer_provider=told.tracers, meter_provider=told.meters):
        await two_segments()
    first, second = told.named("invoke_agent refunds")
    assert first.context is not None and second.context is not None
    assert first.context.trace_id != second.context.trace_id
    assert (first.parent, second.parent, list(first.links)) == (None, None, [])
    [link] = second.links
    assert (link.context.trace_id, link.context.span_id) == (first.context.trace_id, first.context.span_id)
    for root, inside in ((first, 2), (second, 2)):
        assert root.context is not None
        children = [span for span in told.spans if span.parent and span.parent.span_id == root.context.span_id]
        assert len(children) == inside, [span.name for span in children]
        assert {span.context.trace_id for span in children if span.context} == {root.context.trace_id}
    assert (first.attributes or {})[names.STATUS] == "waiting"
    assert (second.attributes or {})[names.STATUS] == "completed"
    assert (second.attributes or {})[names.CONVERSATION] == "S1"


async def test_what_a_person_takes_is_an_event_and_a_measurement(told: Told) -> None:
    with instrument(tracer_provider=told.tracers, meter_provider=told.meters):
        await two_segments()
    first, second = told.named("invoke_agent refunds")
    [waits] = first.events
    assert (waits.name, dict(waits.attributes or {})) == (names.WAITS, {names.KIND: "approval"})
    [decided] = second.events
    assert decided.name == names.DECIDED
    assert dict(decided.attributes or {}) == {
        names.KIND: "approval", names.VERDICT: "approve", names.WAITED: 3600.0,
    }  # fmt: skip
    measured = {metric.name for metric in metrics_of(told)}
    assert measured == {names.OPERATION_DURATION, names.TOKEN_USAGE, names.PEOPLE_WAIT}


def metrics_of(told: Told) -> list[Any]:
    data = told.reader.get_metrics_data()
    assert data is not None
    return [metric for found in data.resource_metrics for scope in found.scope_metrics for metric in scope.metrics]


async def test_steps_have_the_names_of_the_conventions(told: Told) -> None:
    with instrument(tracer_provider=told.tracers, meter_provider=told.meters):
        await two_segments()
    chat = told.named("chat scripted")[0]
    attributes = dict(chat.attributes or {})
    assert chat.kind is SpanKind.CLIENT
    assert attributes[names.OPERATION] == "chat"
    assert (attributes[names.PROVIDER], attributes[names.REQUEST_MODEL]) == ("scripted", "scripted")
    assert attributes[names.AGENT] == "refunds"
    assert {names.INPUT_TOKENS, names.OUTPUT_TOKENS} <= {*attributes}
    [paid] = told.named("execute_tool refund")
    told_of = dict(paid.attributes or {})
    assert (told_of[names.TOOL], told_of[names.TOOL_CALL], told_of[names.TOOL_TYPE]) == ("refund", "1.1", "function")
    [failed] = told.named("execute_tool look")
    assert failed.status.status_code is StatusCode.ERROR
    assert (failed.attributes or {})[names.ERROR_TYPE] == "tool_error"


class Slow:
    """Thinks for three seconds, says one word, and another after two more."""

    name = "acme:slow-1"

    def __init__(self, clock: FakeClock) -> None:
        self.clock = clock

    async def request(self, request: ModelRequest) -> AsyncIterator[Delta | Reply]:
        self.clock.advance(3)
        yield TextDelta("All ")
        self.clock.advance(2)
        yield TextDelta("well.")
        yield Reply((Text(text="All well."),))


async def test_the_time_to_the_first_word_is_measured_for_each_reply(told: Told) -> None:
    clock = FakeClock()
    with instrument(tracer_provider=told.tracers, meter_provider=told.meters):
        async with testing.env([slow := Agent("slow", model=Slow(clock))], clock=clock) as env:
            run = await env.runtime.start(slow, "CANARY-input")
            await env.settle()
            assert isinstance(await run.wait(), Completed)
    found = {metric.name: metric for metric in metrics_of(told)}
    for name, seconds in ((names.TIME_TO_FIRST_CHUNK, 3.0), (names.OPERATION_DURATION, 5.0)):
        [point] = found[name].data.data_points
        assert (point.count, round(point.sum, 3)) == (1, seconds)
        assert point.attributes[names.REQUEST_MODEL] == "slow-1" and point.attributes[names.PROVIDER] == "acme"


def test_our_names_are_those_of_the_installed_conventions() -> None:
    """All names of `gen_ai` that are used here stand in one file, and the conventions have them."""
    used = {value for value in vars(names).values() if isinstance(value, str) and value.startswith("gen_ai.")}
    known: set[str] = set()
    for module in (gen_ai_attributes, gen_ai_metrics):
        known |= {value for value in vars(module).values() if isinstance(value, str)}
    assert len(used) > 20 and used <= known
    source = Path(str(names.__file__)).parents[1]
    elsewhere = [file.name for file in source.rglob("*.py") if '"gen_ai.' in file.read_text("utf-8")]
    assert elsewhere == ["otel_names.py"]


async def test_no_content_is_told_unless_it_was_asked_for(told: Told) -> None:
    with instrument(tracer_provider=told.tracers, meter_provider=told.meters):
        await two_segments()
    assert "CANARY" not in told.whole()
    with instrument(tracer_provider=told.tracers, meter_provider=told.meters, content=True):
        await two_segments()
    whole = told.whole()
    assert all(f"CANARY-{what}" in whole for what in ("input", "argument", "result", "reply"))
    assert "CANARY-person" not in whole and "CANARY-decider" not in whole


async def test_a_secret_is_not_told_even_then(told: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADJOURN_SECRET_KEYS", KeyRing.new_key())
    seen: list[str] = []

    @tool
    async def charge(card: Annotated[str, Secret()]) -> str:
        """Charge."""
        seen.append(card)
        return "charged"

    model = ScriptedModel([call("charge", card="CANARY-4242424242424242")], "done")
    async with testing.env([charger := Agent("c", model=model, tools=[charge])]) as env:
        with instrument(tracer_provider=told.tracers, meter_provider=told.meters, content=True):
            run = await env.runtime.start(charger, "go")
            assert isinstance(await run.wait(), Completed)
    assert seen == ["CANARY-4242424242424242"]
    assert "CANARY" not in told.whole()


async def test_a_flow_is_a_workflow_and_a_failure_is_an_error(told: Told) -> None:
    flow = Flow("f")

    @flow.chunk
    async def first(ctx: FlowContext) -> str:
        return "x"

    flow.to(first)
    failing = Agent("bad", model=ScriptedModel(ValueError("CANARY")))
    with instrument(tracer_provider=told.tracers, meter_provider=told.meters):
        await flow.start("x")
        with pytest.raises(RunFailed):
            await failing.run("x")
    assert [span.name for span in told.spans if "workflow" in span.name] == ["invoke_workflow f"]
    assert told.named("execute_tool first")
    [root] = told.named("invoke_agent bad")
    assert root.status.status_code is StatusCode.ERROR
    assert "CANARY" not in told.whole()


async def test_after_stop_nothing_is_told(told: Told) -> None:
    instrument(tracer_provider=told.tracers).stop()
    assert Meter.watch is None
    await two_segments()
    assert told.spans == ()


class Collector:
    """An OTLP collector on loopback: what it was sent, parsed."""

    def __init__(self) -> None:
        self.url = ""
        self.spans: list[Any] = []
        self.metrics: list[Any] = []


@contextmanager
def collector() -> Generator[Collector]:
    found = Collector()

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:
            pass

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            if self.path == "/v1/traces":
                sent = ExportTraceServiceRequest.FromString(body)
                found.spans += [s for r in sent.resource_spans for scope in r.scope_spans for s in scope.spans]
            else:
                measured = ExportMetricsServiceRequest.FromString(body)
                found.metrics += [
                    m for r in measured.resource_metrics for scope in r.scope_metrics for m in scope.metrics
                ]
            self.send_response(200)
            self.send_header("content-length", "0")
            self.end_headers()

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    found.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield found
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)


async def test_a_collector_gets_it_over_otlp() -> None:
    with collector() as found:
        tracers = TracerProvider()
        tracers.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter(endpoint=f"{found.url}/v1/traces")))
        meters = MeterProvider([PeriodicExportingMetricReader(OTLPMetricExporter(endpoint=f"{found.url}/v1/metrics"))])
        with instrument(tracer_provider=tracers, meter_provider=meters):
            await two_segments()
        tracers.shutdown()
        meters.shutdown()
    roots = [span for span in found.spans if span.name == "invoke_agent refunds"]
    assert len(roots) == 2
    assert roots[1].links[0].trace_id == roots[0].trace_id
    assert {metric.name for metric in found.metrics} >= {names.OPERATION_DURATION, names.PEOPLE_WAIT}
    assert b"CANARY" not in b"".join(span.SerializeToString() for span in found.spans)


async def test_logfire_shows_it(monkeypatch: pytest.MonkeyPatch) -> None:
    import logfire

    monkeypatch.setenv("LOGFIRE_IGNORE_NO_CONFIG", "1")
    exporter = InMemorySpanExporter()
    shown = logfire.configure(
        local=True, send_to_logfire=False, console=False, metrics=False,
        additional_span_processors=[SimpleSpanProcessor(exporter)],
    )  # fmt: skip
    with instrument(tracer_provider=shown.config.get_tracer_provider()):
        await two_segments()
    spans = exporter.get_finished_spans()
    roots = [span for span in spans if span.name == "invoke_agent refunds"]
    assert len(roots) == 2
    assert len([span for span in spans if span.name.startswith("chat ")]) == 2
    assert "CANARY" not in json.dumps([dict(span.attributes or {}) for span in spans], default=str)
