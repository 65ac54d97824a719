"""An agent that does what its input says, tools that write down outside the store what they did, and gates.

A run's input is its script: `script("r1", does(act("a")), says("done"))`. Every model call and every tool writes lines
to the run's page of the ledger, with the time; a gate is a file that somebody creates.
"""

import asyncio
import json
import os
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Annotated, Any

import msgspec

from adjourn import Agent, MaxSteps, ModelError, Policy, Resource, Tool, ToolContext, ask, pause_for, tool
from adjourn.core.messages import Delta, ModelRequest, Reply, Text, TextDelta, ToolCall, UserMessage
from adjourn.core.usage import Usage

LIMIT = 30.0
"""Seconds after which a test that waits has failed."""


class Ledger:
    """Pages that only grow, one per run: what really happened, whatever the store says."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.folder.mkdir(exist_ok=True)

    def write(self, run: str, *words: Any) -> None:
        line = f"{time.monotonic()} {' '.join(map(str, words))}\n"
        file = os.open(self.folder / run, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.write(file, line.encode())
        os.close(file)

    def timed(self, run: str) -> list[tuple[float, str]]:
        """Every line with the machine's monotonic time, which all processes share."""
        try:
            text = (self.folder / run).read_text()
        except FileNotFoundError:
            return []
        found = [line.partition(" ") for line in text.splitlines()]
        return [(float(at), words) for at, _, words in found]

    def lines(self, run: str, *verbs: str) -> list[str]:
        """The lines, or only those that begin with one of the verbs."""
        words = [words for _, words in self.timed(run)]
        return [w for w in words if not verbs or w.split()[0] in verbs]

    def at(self, run: str, line: str) -> float:
        """When the line was written."""
        return next(at for at, words in self.timed(run) if words == line)

    def requests(self, run: str) -> list[list[dict[str, Any]]]:
        """What each model call of the run was given to read."""
        try:
            text = (self.folder / f"{run}.requests").read_text()
        except FileNotFoundError:
            return []
        return [json.loads(line) for line in text.splitlines()]

    async def until(self, run: str, *lines: str) -> None:
        """Wait until the lines are there."""
        async with asyncio.timeout(LIMIT):
            while not set(lines) <= set(self.lines(run)):
                await asyncio.sleep(0.005)

    def is_open(self, run: str, gate: str) -> bool:
        return (self.folder / f"{run}.gate.{gate}").exists()

    def open(self, run: str, *gates: str) -> None:
        for gate in gates:
            (self.folder / f"{run}.gate.{gate}").touch()

    async def gate(self, run: str, gate: str) -> None:
        """Wait until somebody opens the gate."""
        async with asyncio.timeout(LIMIT):
            while gate and not self.is_open(run, gate):
                await asyncio.sleep(0.005)

    def plan(self, run: str, what: str, *behaviours: str) -> None:
        """How the attempts of an undo go: "ok", "fail", "crash", "hang"; the last one for all that follow."""
        (self.folder / f"{run}.plan.{what}").write_text(" ".join(behaviours))

    def behaviour(self, run: str, what: str, attempt: int) -> str:
        path = self.folder / f"{run}.plan.{what}"
        words = path.read_text().split() if path.exists() else ["ok"]
        return words[min(attempt, len(words) - 1)]


Book = Annotated[Ledger, Resource("ledger")]


# The model


def script(run: str, *replies: dict[str, Any], who: str = "model") -> dict[str, Any]:
    """What an agent is to do, as the input of a run."""
    return {"run": run, "who": who, "replies": list(replies)}


def says(text: str, **how: Any) -> dict[str, Any]:
    """A reply in words. `pieces` arrive first, then it waits for `gate`; `usage` is tokens in, tokens out and cost;
    `error` fails instead."""
    return {"text": text, **how}


def does(*calls: list[Any], **how: Any) -> dict[str, Any]:
    """A reply that asks for these calls at once."""
    return {"calls": list(calls), **how}


def call(name: str, /, **args: Any) -> list[Any]:
    return [name, args]


def act(name: str, gate: str = "") -> list[Any]:
    return call("act", name=name, gate=gate)


def tell(agent: str, run: str, *replies: dict[str, Any]) -> list[Any]:
    """The call of a nested agent, with its own script."""
    return call(agent, input=json.dumps(script(run, *replies, who=agent)))


class Play:
    """The model: it reads its script from the first message, and writes down what it was asked and when it was cut."""

    name = "play"
    reports_cost = True

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger

    async def request(self, request: ModelRequest) -> AsyncIterator[Delta | Reply]:
        first = request.messages[0]
        assert isinstance(first, UserMessage)
        play = json.loads(first.text)
        run, who, k = play["run"], play["who"], request.index
        how: dict[str, Any] = play["replies"][k] if k < len(play["replies"]) else {"text": "the end"}
        with (self.ledger.folder / f"{run}.requests").open("a") as file:
            file.write(json.dumps(msgspec.to_builtins(list(request.messages))) + "\n")
        self.ledger.write(run, who, "asked", k)
        if "error" in how:
            raise ModelError(how["error"], transient=False)
        done = False
        try:
            for piece in how.get("pieces", ()):
                yield TextDelta(piece)
            await self.ledger.gate(run, how.get("gate", ""))
            done = True
        finally:
            if not done:
                self.ledger.write(run, who, "cut", k)
        used = how.get("usage", (10, 5, 0.0))
        parts = [
            ToolCall(id=f"{who}{k}_{n}", tool=name, args=args) for n, (name, args) in enumerate(how.get("calls", ()))
        ]
        text = "".join(how.get("pieces", ())) + how.get("text", "")
        yield Reply((*([Text(text=text)] if text else []), *parts), Usage(1, *used[:2], cost=used[2]), "play")


# The tools


async def unact(ctx: ToolContext, args: dict[str, Any], result: Any) -> str:
    """Take an act back; how it goes is in the run's plan."""
    ledger: Ledger = ctx.resources["ledger"]
    name = args["name"]
    attempt = len([x for x in ledger.lines(ctx.run_id, "undo") if x.split()[1] == name])
    ledger.write(ctx.run_id, "undo", name, ctx.idempotency_key[:8])
    match ledger.behaviour(ctx.run_id, name, attempt):
        case "fail":
            raise RuntimeError("the target refuses")
        case "crash":
            ledger.write(ctx.run_id, "crashing", name)
            await asyncio.Event().wait()
        case "die":
            os._exit(9)
        case "hang":
            await asyncio.Event().wait()
        case _:
            ledger.write(ctx.run_id, "undone", name)
    return f"took back {result!r}"


@tool(effect="read")
async def look(ctx: ToolContext, name: str, ledger: Book, gate: str = "") -> str:
    """Look something up."""
    ledger.write(ctx.run_id, "look", name)
    await ledger.gate(ctx.run_id, gate)
    return f"saw {name}"


async def _act(ctx: ToolContext, ledger: Ledger, name: str, gate: str) -> dict[str, str]:
    ledger.write(ctx.run_id, "act", name)
    await ledger.gate(ctx.run_id, gate)
    ledger.write(ctx.run_id, "acted", name)
    return {"did": name}


@tool(name="act", undo=unact, timeout=LIMIT)
async def do_act(ctx: ToolContext, name: str, ledger: Book, gate: str = "") -> dict[str, str]:
    """Do something that can be taken back."""
    return await _act(ctx, ledger, name, gate)


@tool(undo=unact, timeout=0.05)
async def brief(ctx: ToolContext, name: str, ledger: Book) -> dict[str, str]:
    """Like act, with a short timeout, which its undo shares."""
    return await _act(ctx, ledger, name, "")


@tool
async def mark(ctx: ToolContext, name: str, ledger: Book, gate: str = "") -> dict[str, str]:
    """Do something that cannot be taken back."""
    return await _act(ctx, ledger, name, gate)


@tool(effect="idempotent", undo=unact)
async def put(ctx: ToolContext, name: str, ledger: Book, gate: str = "") -> dict[str, str]:
    """Do something that the target refuses to do twice."""
    return await _act(ctx, ledger, name, gate)


async def sent(ctx: ToolContext, args: dict[str, Any]) -> Any:
    """What the world says: the run's plan, or whether the act is in the ledger."""
    ledger: Ledger = ctx.resources["ledger"]
    ledger.write(ctx.run_id, "verify", args["name"])
    planned = ledger.behaviour(ctx.run_id, f"verify-{args['name']}", 0)
    if planned == "unknown":
        return None
    return ("happened", {"did": args["name"]}) if f"acted {args['name']}" in ledger.lines(ctx.run_id) else False


@tool(effect="verifiable", verify=sent, undo=unact)
async def send(ctx: ToolContext, name: str, ledger: Book, gate: str = "") -> dict[str, str]:
    """Do something of which one can find out whether it happened."""
    return await _act(ctx, ledger, name, gate)


@tool(policy="ask", undo=unact)
async def pay(ctx: ToolContext, name: str, ledger: Book, cents: int = 100) -> dict[str, str]:
    """Pay for something, if a person agrees."""
    return await _act(ctx, ledger, name, "")


@tool(effect="read")
async def wonder(ctx: ToolContext, question: str) -> Any:
    """Ask a person."""
    pause_for("question", {"question": question})


@tool(undo=unact)
async def half(ctx: ToolContext, name: str, ledger: Book) -> Any:
    """Do the first half, ask a person, do the second half."""
    await ctx.step("first", ledger.write, ctx.run_id, "act", name)
    answer = ctx.pause_for("question", {"question": f"go on with {name}?"}, resume_to="self")
    ledger.write(ctx.run_id, "acted", name)
    return answer


@tool(effect="idempotent")
async def crawl(ctx: ToolContext, pages: int, ledger: Book) -> str:
    """Read pages one by one, saving after each."""
    for n in range(ctx.progress or 0, pages):
        ledger.write(ctx.run_id, "page", n)
        await ledger.gate(ctx.run_id, f"page{n}")
        await ctx.save(n + 1)
    return f"{pages} pages"


async def release(run: str, folder: str, name: str) -> None:
    """A compensation at the top level of the module: another process finds it by its name."""
    ledger = Ledger(folder)
    if ledger.behaviour(run, name, 0) == "fail":
        raise RuntimeError("the lock does not open")
    ledger.write(run, "release", name)


async def _hold(ctx: ToolContext, names: list[str], ledger: Ledger, gate: str) -> str:
    for name in names:
        ledger.write(ctx.run_id, "lock", name)
        await ctx.on_cancel(release, ctx.run_id, str(ledger.folder), name)
    ledger.write(ctx.run_id, "holding")
    await ledger.gate(ctx.run_id, gate)
    ledger.write(ctx.run_id, "held")
    return "held"


@tool
async def hold(ctx: ToolContext, names: list[str], ledger: Book, gate: str = "") -> str:
    """Take locks that must be given back if it is cancelled in the middle."""
    return await _hold(ctx, names, ledger, gate)


@tool(undo=unact)
async def hold_and_act(ctx: ToolContext, name: str, ledger: Book, gate: str = "") -> str:
    """Take a lock, and then do something that has an undo of its own."""
    return await _hold(ctx, [name], ledger, gate)


@tool
async def hold_inside(ctx: ToolContext, ledger: Book, gate: str = "") -> str:
    """Its compensation is a function inside a function: another process cannot find it."""
    run = ctx.run_id

    async def release() -> None:
        ledger.write(run, "released inside")

    await ctx.on_cancel(release)
    ledger.write(run, "holding")
    await ledger.gate(run, gate)
    return "held"


@tool
async def deaf(ctx: ToolContext, name: str, ledger: Book) -> str:
    """An async tool that does not let itself be cancelled."""
    ledger.write(ctx.run_id, "act", name)
    while not ledger.is_open(ctx.run_id, name):
        try:
            await asyncio.sleep(0.01)
        except asyncio.CancelledError:
            ledger.write(ctx.run_id, "ignored", name)
    return "at last"


@tool(undo=unact)
def stubborn(ctx: ToolContext, name: str, ledger: Book) -> str:
    """A sync tool that does not look whether anybody wants it to stop."""
    ledger.write(ctx.run_id, "act", name)
    until = time.monotonic() + LIMIT
    while not ledger.is_open(ctx.run_id, name) and time.monotonic() < until:
        time.sleep(0.01)
    ledger.write(ctx.run_id, "acted", name)
    return "at last"


@tool(undo=unact)
def polite(ctx: ToolContext, name: str, ledger: Book) -> str:
    """A sync tool that stops when it is asked to."""
    ledger.write(ctx.run_id, "act", name)
    until = time.monotonic() + LIMIT
    while not ctx.cancel_requested and time.monotonic() < until:
        time.sleep(0.005)
    ledger.write(ctx.run_id, "stopped", name)
    return "stopped half way"


@tool(isolate=True, undo=unact)
def sleeper(ctx: ToolContext, name: str, folder: str, seconds: float) -> str:
    """Sleeps in a process of its own."""
    Ledger(folder).write(ctx.run_id, "sleeping", os.getpid())
    time.sleep(seconds)
    return "slept"


@tool
async def blocker(ctx: ToolContext, ledger: Book) -> str:
    """An async tool that blocks the whole event loop until its gate is open."""
    ledger.write(ctx.run_id, "blocking")
    until = time.monotonic() + LIMIT
    while not ledger.is_open(ctx.run_id, "block") and time.monotonic() < until:
        time.sleep(0.01)
    ledger.write(ctx.run_id, "unblocked")
    return "back"


TOOLS: list[Tool] = [
    look, do_act, brief, mark, put, send, pay, wonder, half, crawl, hold, hold_and_act, hold_inside, deaf, stubborn,
    polite, sleeper, blocker,
]  # fmt: skip


# The agents


def solo(ledger: Ledger) -> Agent:
    return Agent("solo", model=Play(ledger), tools=TOOLS, stop=MaxSteps(200))


def hand(ledger: Ledger) -> Agent:
    return Agent("hand", model=Play(ledger), tools=TOOLS, instructions="The lowest of three.")


def lead(ledger: Ledger) -> Agent:
    return Agent("lead", model=Play(ledger), tools=[*TOOLS, hand(ledger)], instructions="In the middle.")  # type: ignore[list-item]


def boss(ledger: Ledger) -> Agent:
    return Agent("boss", model=Play(ledger), tools=[*TOOLS, lead(ledger)], instructions="At the top.")  # type: ignore[list-item]


def queued(ledger: Ledger) -> Agent:
    """Approvals queue up while it goes on."""
    return Agent("queued", model=Play(ledger), tools=TOOLS, policy=Policy([ask("act", queue=True)], default="allow"))


def quorum(ledger: Ledger) -> Agent:
    """Two must agree."""
    return Agent("quorum", model=Play(ledger), tools=TOOLS, policy=Policy([ask("act", approvers=2)], default="allow"))


AGENTS: dict[str, Callable[[Ledger], Agent]] = {f.__name__: f for f in (solo, boss, queued, quorum)}
