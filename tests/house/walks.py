"""The way of a refund, of a `for_each` and of a cancel through the modules, recorded by a profiler.

    python -m tests.house.walks     # prints the legs as JSON

It runs in a process of its own, in memory and under a fake clock: nothing is warm, and nothing depends on the time.
"""

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any, TypeVar
from urllib.parse import quote

from adjourn import Agent, Flow, FlowContext, Policy, Run, Runtime, ToolContext, ask, gt, testing, tool
from adjourn.server import Guard, create_app
from adjourn.testing import Env, ScriptedModel, call

T = TypeVar("T")
PACKAGE = str(Path(__file__).parents[2] / "src" / "adjourn") + "/"
BESIDE = ("testing/",)
"""What is on the way only because the walk is a test."""
TOKEN = "walk"
HOST = "127.0.0.1:8765"
STORE = (
    "create", "load", "get", "acquire", "commit", "deliver", "inbox", "runs", "interrupt", "release", "halts", "audit", "due",
)  # fmt: skip


@dataclass
class Leg:
    """A part of a walk: the functions and modules in the order of their first call, and what crossed a module's border."""

    walk: str
    name: str
    functions: list[str] = field(default_factory=list[str])
    entered: list[str] = field(default_factory=list[str])
    """Those by which another module's function comes to this one: where a hop ends."""
    modules: list[str] = field(default_factory=list[str])
    hops: int = 0
    store: list[str] = field(default_factory=list[str])
    interrupt_reads: int = 0
    runtime_copies: int = 0


class Recorder:
    """Sees every call while it is on."""

    def __init__(self, leg: Leg) -> None:
        self.leg = leg
        self._hops: set[tuple[str, str]] = set()

    def __enter__(self) -> Leg:
        sys.setprofile(self._event)
        return self.leg

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)
        self.leg.hops = len(self._hops)

    def _event(self, frame: FrameType, event: str, _: object) -> None:
        if event != "call":
            return
        code = frame.f_code
        if code.co_name == "copy" and code.co_filename.endswith("/copy.py"):
            self.leg.runtime_copies += isinstance(frame.f_locals.get("x"), Runtime)
        module = module_of(frame)
        if not module or code.co_name.startswith("<"):
            return
        name = f"{module}:{code.co_qualname}"
        if name not in self.leg.functions:
            self.leg.functions.append(name)
        if module not in self.leg.modules:
            self.leg.modules.append(module)
        if frame.f_lasti <= 0 or not code.co_flags & 0x80:  # a coroutine is called again whenever it continues
            self._note(frame, name, module)

    def _note(self, frame: FrameType, name: str, module: str) -> None:
        caller = frame.f_back
        while caller is not None and (not module_of(caller) or caller.f_code.co_name.startswith("<")):
            caller = caller.f_back
        if caller is not None and module_of(caller) != module:
            self._hops.add((f"{module_of(caller)}:{caller.f_code.co_qualname}", name))
            if name not in self.leg.entered:
                self.leg.entered.append(name)


def module_of(frame: FrameType) -> str:
    """`runtime/run` for a frame of the package; empty for any other."""
    path = frame.f_code.co_filename
    if not path.startswith(PACKAGE):
        return ""
    name = path[len(PACKAGE) :].removesuffix(".py")
    return "" if name.startswith(BESIDE) else name


class Walk:
    """Legs, one after the other, with what each asks of the store."""

    def __init__(self, name: str, runtime: Runtime) -> None:
        self._name, self._leg = name, Leg(name, "")
        self.legs: list[Leg] = []
        store: Any = runtime.store
        for operation in STORE:
            if hasattr(store, operation):
                setattr(store, operation, self._counted(operation, getattr(store, operation)))

    def _counted(self, name: str, operation: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*args: Any, **options: Any) -> Any:
            self._leg.store.append(name)
            if name == "inbox" and args and getattr(args[0], "interrupt", ""):
                self._leg.interrupt_reads += 1
            return operation(*args, **options)

        return counted

    async def leg(self, name: str, work: Callable[[], Awaitable[T]]) -> T:
        """Do `work` as a leg of this name."""
        self._leg = Leg(self._name, name)
        with Recorder(self._leg):
            result = await work()
        self.legs.append(self._leg)
        return result


async def void(ctx: ToolContext, args: dict[str, Any], result: Any) -> None:
    """Take a refund back."""


@tool(effect="read")
async def get_order(order_id: str) -> dict[str, Any]:
    """Look an order up."""
    return {"order_id": order_id, "cents": 48250}


@tool(effect="unsafe", undo=void)
async def refund(order_id: str, cents: int) -> str:
    """Pay money back."""
    return f"paid back {cents} cents"


def refunds() -> Agent:
    replies = [[call("get_order", order_id="4417")], [call("refund", order_id="4417", cents=48250)], "Done."]
    policy = Policy([ask("refund", when={"cents": gt(10_000)}, reason="large refund")], default="allow")
    return Agent("refunds", model=ScriptedModel(*replies), tools=[get_order, refund], policy=policy)


def payer() -> Agent:
    replies = [[call("refund", order_id="1", cents=1)], [call("ask_human", question="Continue?")], "Done."]
    from adjourn import ask_human

    return Agent("payer", model=ScriptedModel(*replies), tools=[refund, ask_human])


def each() -> Flow:
    flow = Flow("each")

    @flow.chunk
    async def charge(ctx: FlowContext) -> int:
        return int(ctx.input) + 1

    flow.for_each().to(charge).end_for_each()
    return flow


async def request(app: Any, method: str, path: str, body: Any = None) -> Any:
    """One HTTP request, without a socket."""
    raw = b"" if body is None else json.dumps(body).encode()
    headers = [(b"host", HOST.encode()), (b"authorization", f"Bearer {TOKEN}".encode())]
    if body is not None:
        headers += [(b"content-type", b"application/json"), (b"content-length", str(len(raw)).encode())]
    where, _, query = f"/api/v1{path}".partition("?")
    scope: dict[str, Any] = {
        "type": "http", "method": method, "path": where, "raw_path": where.encode(), "query_string": query.encode(),
        "headers": headers, "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 8765), "scheme": "http", "root_path": "",
        "http_version": "1.1", "state": {},
    }  # fmt: skip
    sent = list[dict[str, Any]]()

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": raw, "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    await app.router.default(scope, receive, send)
    data = b"".join(message.get("body", b"") for message in sent)
    assert sent[0]["status"] == 200, data
    return json.loads(data)


async def refund_walk(env: Env) -> list[Leg]:
    runtime, agent = env.runtime, refunds()
    app = create_app(runtime, guard=Guard([f"http://{HOST}"], token=TOKEN, token_name="ana"))
    walk = Walk("refund", runtime)
    run = await walk.leg("`rt.start` returns", lambda: runtime.start(agent, "refund 4417", run_id="walk-1"))
    await walk.leg("model, read, ask, park", lambda: run.wait())
    await walk.leg("`GET /inbox`", lambda: request(app, "GET", "/inbox"))
    [item] = (await request(app, "GET", "/inbox"))["items"]
    place = f"/interrupts/{quote(item['ref'], safe='')}"
    await walk.leg("`GET /interrupts/x`", lambda: request(app, "GET", place))
    body = {"digest": item["digest"]}
    await walk.leg("`POST …/approve`", lambda: request(app, "POST", f"{place}/approve", body))
    outcome = await walk.leg("intent, body, model, end", lambda: run.wait())
    assert outcome.status == "completed"
    return walk.legs


async def for_each_walk(env: Env) -> list[Leg]:
    walk, flow = Walk("for_each", env.runtime), each()

    async def work() -> Any:
        run = await env.runtime.start(flow, [1, 2, 3, 4], run_id="walk-2")
        return await run.wait()

    outcome = await walk.leg("a flow's `for_each` over 4", work)
    assert outcome.status == "completed"
    return walk.legs


async def cancel_walk(env: Env) -> list[Leg]:
    run: Run[Any] = await env.runtime.start(payer(), "pay", run_id="walk-3")
    await run.wait()
    walk = Walk("cancel", env.runtime)
    await walk.leg("`run.cancel` returns", lambda: run.cancel(by="ana", reason="wrong"))
    outcome = await walk.leg("undo, end", lambda: run.wait())
    assert outcome.status == "cancelled"
    return walk.legs


async def legs() -> list[Leg]:
    found: list[Leg] = []
    for walk in (refund_walk, for_each_walk, cancel_walk):
        async with testing.env() as env:
            found += await walk(env)
    return found


if __name__ == "__main__":
    print(json.dumps([asdict(leg) for leg in asyncio.run(legs())], indent=1))
