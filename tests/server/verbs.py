"""Every verb of the API that can let something run: how a run comes to it, the request, and what then really happened.

What happened is what the tools wrote into a ledger, a file outside of the store.
"""

import asyncio
import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from tests.server.world import Client, at, eventually

from adjourn import Agent, Flow, FlowContext, MaxSteps, Policy, ToolContext, ask, pause_for, tool
from adjourn.core.records import Started
from adjourn.driver.process_identity import new_run_id
from adjourn.server import Serving
from adjourn.testing.scripted import ScriptedModel, call

ROLES = ("viewer", "operator", "approver", "admin", "run", "nobody", "stranger")
CONTROL, DECIDE, BOTH = {"operator", "admin"}, {"approver", "admin"}, {"admin"}
BOOK = "ADJOURN_TEST_BOOK"


def write(run: str, what: str) -> None:
    file = os.open(os.environ[BOOK], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(file, f"{run} {what}\n".encode())
    finally:
        os.close(file)


def happened(*runs: str) -> list[str]:
    """What was done for these runs, in order."""
    path = Path(os.environ[BOOK])
    lines = path.read_text().splitlines() if path.exists() else []
    return [what for run, _, what in (line.partition(" ") for line in lines) if run in runs]


# Programs


async def take_back(ctx: ToolContext, args: dict[str, Any], result: Any) -> None:
    """Take a payment back."""
    write(ctx.run_id, f"undo {args['cents']}")


@tool(effect="idempotent", undo=take_back)
async def pay(ctx: ToolContext, cents: int) -> str:
    """Pay."""
    write(ctx.run_id, f"pay {cents}")
    return "paid"


@tool(effect="unsafe", timeout=0.05)
async def wire(ctx: ToolContext, cents: int) -> str:
    """Send money; nobody hears how it ended."""
    write(ctx.run_id, f"wire {cents}")
    await asyncio.Event().wait()
    return "never"


@tool(effect="read")
async def wonder(question: str) -> Any:
    """Ask somebody."""
    pause_for("question", {"question": question})


PAY, WIRE, WONDER = [call("pay", cents=5)], [call("wire", cents=9)], [call("wonder", question="sure?")]
ASKED = Policy([ask("pay"), ask("wire")])


def agent(name: str, *replies: Any, policy: Policy | None = None, **options: Any) -> Agent[Any]:
    return Agent(name, model=ScriptedModel(*replies, "done"), tools=[pay, wire, wonder], policy=policy, **options)


def flow(name: str, wait: Callable[[FlowContext], Awaitable[None]]) -> Flow:
    made = Flow(name)

    async def paid(ctx: FlowContext) -> None:
        write(ctx.run_id, "pay 5")

    async def paid_for(ctx: FlowContext) -> None:
        write(ctx.run_id, "pay 5")

    made.to(made.chunk(wait)).to(made.chunk(paid))
    made.when("answered").to(made.chunk(paid_for))
    return made


async def asks(ctx: FlowContext) -> None:
    ctx.pause_for("approval", {"question": "pay?"}, resume_event="answered")


async def listens(ctx: FlowContext) -> None:
    await ctx.wait_for("arrived")


def programs() -> list[Agent[Any] | Flow]:
    return [
        agent("free", PAY), agent("gated", PAY, policy=ASKED), agent("twice", PAY, PAY, policy=ASKED), agent("asking", WONDER, PAY),
        agent("doubtful", WIRE, PAY, policy=Policy([ask("wire")], default="allow")),
        agent("limited", PAY, PAY, stop=MaxSteps(1).then("pause")),
        agent("undoing", PAY, WONDER), agent("failing", ValueError("no such model"), PAY, retries=1),
        flow("questioned", asks), flow("evented", listens),
    ]  # fmt: skip


# How a run comes to a verb


@dataclass
class Case:
    """A run at rest: what is asked of it, and by whom it may be."""

    run: str
    item: dict[str, Any] = field(default_factory=dict[str, Any])
    runs: list[str] = field(default_factory=list[str])
    others: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])

    @property
    def ledger(self) -> list[str]:
        return happened(self.run, *self.runs)


@dataclass(frozen=True)
class Verb:
    """`may`: the roles whose request takes effect. `before`: what has happened until then; `then`: what happens by it."""

    name: str
    may: set[str]
    prepare: Callable[[Client], Awaitable[Case]]
    act: Callable[[Client, Case], Awaitable[httpx.Response]]
    then: list[str]
    before: list[str] = field(default_factory=list[str])
    after: Callable[[Client, Case], Awaitable[None]] | None = None


def at_rest(program: str, *, decide: str = "") -> Callable[[Client], Awaitable[Case]]:
    async def prepare(admin: Client) -> Case:
        case = Case(await admin.start(program))
        await rest(admin, case.run)
        if decide:
            await admin.decide(await item(admin, case.run), decide, **({"value": "yes"} if decide == "answer" else {}))
            await admin.until(case.run, "completed", "waiting")
            await rest(admin, case.run)
        case.item = await item(admin, case.run)
        return case

    return prepare


RESTS = ("waiting", "failed", "completed", "cancelled", "paused", "stuck", "stopped")


async def rest(admin: Client, run: str) -> None:
    """Wait until it rests, and nothing of it is due."""
    row: dict[str, Any] = {}
    while True:
        found = await admin.until(run, *RESTS)
        lifted = found["status"] == "waiting" and not found["open_interrupts"] and not found["wake_at"]
        if found["seq"] == row.get("seq") and not found["worker"] and not lifted:
            return
        row = found
        await asyncio.sleep(0.02)


async def item(admin: Client, run: str) -> dict[str, Any]:
    found = (await admin.get("inbox", params={"run_id": run})).json()["items"]
    return found[0] if found else {}


def on_many(path: str, **body: Any) -> Callable[[Client, Case], Awaitable[httpx.Response]]:
    async def act(client: Client, case: Case) -> httpx.Response:
        return await client.post(f"runs/{path}", json={**body, "runs": [case.run]})

    return act


def on_run(verb: str, **body: Any) -> Callable[[Client, Case], Awaitable[httpx.Response]]:
    async def act(client: Client, case: Case) -> httpx.Response:
        answer = await client.post(f"runs/{case.run}/{verb}", json=body)
        if verb in ("fork", "again") and answer.status_code == 200:
            case.runs.append(answer.json()["run_id"])
        return answer

    return act


def on_item(verb: str, **body: Any) -> Callable[[Client, Case], Awaitable[httpx.Response]]:
    async def act(client: Client, case: Case) -> httpx.Response:
        return await client.post(
            f"interrupts/{at(case.item['ref'])}/{verb}", json={"digest": case.item["digest"], **body}
        )

    return act


def on_desk(verb: str, **body: Any) -> Callable[[Client, Case], Awaitable[httpx.Response]]:
    """A note on the item: no decision, so it names no digest."""

    async def act(client: Client, case: Case) -> httpx.Response:
        return await client.post(f"interrupts/{at(case.item['ref'])}/{verb}", json=body)

    return act


async def start(client: Client, case: Case) -> httpx.Response:
    answer = await client.post("runs", json={"agent": "free", "input": "x"})
    if answer.status_code == 200:
        case.runs.append(answer.json()["run_id"])
    return answer


async def paused(admin: Client) -> Case:
    """Agreed to while it was paused: only somebody who may resume lets it run."""
    case = await at_rest("gated")(admin)
    await admin.post(f"runs/{case.run}/pause", json={})
    await admin.decide(case.item, "approve")
    await admin.until(case.run, "paused")
    await rest(admin, case.run)
    return case


async def failed_twice(admin: Client) -> Case:
    """Two runs of the same program that failed at the same step."""
    case, other = await at_rest("failing")(admin), await at_rest("failing")(admin)
    case.runs.append(other.run)
    return case


async def gated_twice(admin: Client) -> Case:
    """Two runs that wait for an approval each."""
    case, other = await at_rest("gated")(admin), await at_rest("gated")(admin)
    case.runs.append(other.run)
    case.others.append(other.item)
    return case


def on_several(decision: str) -> Callable[[Client, Case], Awaitable[httpx.Response]]:
    async def act(client: Client, case: Case) -> httpx.Response:
        items = [{"ref": item["ref"], "digest": item["digest"]} for item in (case.item, *case.others)]
        return await client.post("decisions", json={"decision": decision, "items": items})

    return act


async def outdated(admin: Client) -> Case:
    """A run that began with another version of its program, as the worker here has said."""
    runtime = admin.serving.runtime
    fingerprint = runtime.programs["free"].fingerprint
    old = {**fingerprint, "tools": {**fingerprint["tools"], "pay": "of before"}, "parameters": {}}
    case = Case(new_run_id())
    await runtime.store.create(Started(run=case.run, kind="agent", program="free", fingerprint=old, input="x"))
    runtime.worker.wake(case.run)

    async def is_refused() -> bool:
        case.item = (await admin.get(f"runs/{case.run}")).json()["misfit"] or {}
        return bool(case.item)

    await eventually(is_refused)
    return case


async def accept(client: Client, case: Case) -> httpx.Response:
    return await client.post(f"runs/{case.run}/accept", json={"digest": case.item["digest"]})


async def halted(admin: Client) -> Case:
    """Agreed to, and then halted: only somebody who may lift it lets it run."""
    case = await at_rest("gated")(admin)
    await admin.post(f"runs/{case.run}/pause", json={})
    await admin.decide(case.item, "approve")
    await admin.until(case.run, "paused")
    await admin.post("halts", json={"scope": "tool:pay", "reason": "x"})
    await admin.post(f"runs/{case.run}/resume", json={})

    async def is_held() -> bool:
        row = (await admin.get(f"runs/{case.run}/status")).json()
        return bool(row["held_by"]) and not row["worker"]

    await eventually(is_held)
    return case


async def lift(client: Client, case: Case) -> httpx.Response:
    return await client.post("halts/lift", json={"scope": "tool:pay", "reason": "y"})


async def agree(admin: Client, case: Case) -> None:
    """Somebody who may says yes; whether it runs is up to what was done before."""
    await admin.decide(case.item, "approve")


async def stop_tool(client: Client, case: Case) -> httpx.Response:
    return await client.post("halts", json={"scope": "tool:pay", "reason": "x"})


def choose(**value: Any) -> Callable[[Client, Case], Awaitable[httpx.Response]]:
    return on_item("answer", value=value)


GATED, ASKING = at_rest("gated"), at_rest("asking")
DOUBT = at_rest("doubtful", decide="approve")
WIRED = ["wire 9"]

VERBS = [
    Verb("start", CONTROL, at_rest("gated"), start, ["pay 5"]),
    Verb("approve", DECIDE, GATED, on_item("approve"), ["pay 5"]),
    Verb("approve, edited", DECIDE, GATED, on_item("approve", edit={"cents": 7}), ["pay 7"]),
    Verb("approve, for the run", DECIDE, at_rest("twice"), on_item("approve", scope="run"), ["pay 5", "pay 5"]),
    Verb("approve, once", DECIDE, at_rest("twice"), on_item("approve"), ["pay 5"]),
    Verb("deny", DECIDE, GATED, on_item("deny"), []),
    Verb("answer instead of the tool", DECIDE, GATED, on_item("instead", result="by hand"), []),
    Verb("assign", DECIDE, GATED, on_desk("assign", to=""), []),
    Verb("snooze", DECIDE, GATED, on_desk("snooze", until=1e11), []),
    Verb("comment", DECIDE, GATED, on_desk("comment", text="is it paid?"), []),
    Verb("run again", CONTROL, at_rest("gated"), on_run("again"), []),
    Verb("dismiss", DECIDE, ASKING, on_item("dismiss"), ["pay 5"]),
    Verb("decide on several: approve", DECIDE, gated_twice, on_several("approve"), ["pay 5", "pay 5"]),
    Verb("decide on several: deny", DECIDE, gated_twice, on_several("deny"), []),
    Verb("answer", DECIDE, ASKING, on_item("answer", value="yes"), ["pay 5"]),
    Verb("emit that answers a question", BOTH, at_rest("questioned"), on_run("emit", event="answered", value="yes"), ["pay 5"]),
    Verb("emit of an event", CONTROL, at_rest("evented"), on_run("emit", event="arrived"), ["pay 5"]),
    Verb("say, and drop the question", CONTROL, ASKING, on_run("say", text="go on", abandon=True), ["pay 5"]),
    Verb("resume", CONTROL, paused, on_run("resume"), ["pay 5"]),
    Verb("command many to resume", CONTROL, paused, on_many("bulk", verb="resume"), ["pay 5"]),
    Verb("command many to cancel", CONTROL, at_rest("undoing"), on_many("bulk", verb="cancel"), ["undo 5"], before=["pay 5"]),
    Verb("deny many", DECIDE, GATED, on_many("deny-all"), []),
    Verb("cancel", CONTROL, at_rest("undoing"), on_run("cancel"), ["undo 5"], before=["pay 5"]),
    Verb("fork, asking again", CONTROL, at_rest("asking", decide="answer"), on_run("fork"), [], before=["pay 5"]),
    Verb("fork, keeping answers", BOTH, at_rest("asking", decide="answer"), on_run("fork", answers="keep"), [], before=["pay 5"]),
    Verb("fork before the answer was used", CONTROL, ASKING, on_run("fork"), []),
    Verb("in doubt: run", DECIDE, DOUBT, choose(choice="run"), WIRED, before=WIRED),
    Verb("in doubt: happened", DECIDE, DOUBT, choose(choice="happened", result="sent"), ["pay 5"], before=WIRED),
    Verb("in doubt: cancel", DECIDE, DOUBT, choose(choice="cancel"), [], before=WIRED),
    Verb("limit: extend", DECIDE, at_rest("limited"), choose(choice="extend", amount=1), ["pay 5"], before=["pay 5"]),
    Verb("limit: stop", DECIDE, at_rest("limited"), choose(choice="stop"), [], before=["pay 5"]),
    Verb("error: retry", DECIDE, at_rest("failing"), choose(choice="retry"), ["pay 5"]),
    Verb("retry all that failed alike", DECIDE, failed_twice, on_item("retry-all", until=1e12), ["pay 5", "pay 5"]),
    Verb("accept", DECIDE, outdated, accept, ["pay 5"]),
    Verb("lift an admin's halt", BOTH, halted, lift, ["pay 5"]),
]  # fmt: skip

HOLDING = [
    Verb("pause", CONTROL, GATED, on_run("pause"), ["pay 5"], after=agree),
    Verb("halt", CONTROL, GATED, stop_tool, ["pay 5"], after=agree),
    Verb("cancel before", CONTROL, GATED, on_run("cancel"), ["pay 5"], after=agree),
]
"""Verbs that keep something from running: `then` is what happens if they had no effect."""


async def settled(serving: Serving, admin: Client, case: Case) -> list[str]:
    """What has happened once everything about it rests."""
    for run in (case.run, *case.runs):
        await rest(admin, run)
    return case.ledger
