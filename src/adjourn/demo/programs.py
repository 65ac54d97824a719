"""The agents and the flow of the demo. Their models are scripted, so no key is needed; their tools
write to a ledger."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

from adjourn import Agent, Flow, FlowContext, MaxSteps, Policy, ToolContext, ask, gt, tool
from adjourn.core.messages import (
    Delta,
    Message,
    ModelRequest,
    Reply,
    Text,
    TextDelta,
    ToolCall,
    ToolResult,
    UserMessage,
)
from adjourn.core.usage import Usage
from adjourn.demo.ledger import is_known, write_entry
from adjourn.testing.scripted import Scripted, ScriptedModel, call

PACE = "ADJOURN_DEMO_PACE"
"""Set to make everything faster (or slower): 1 is the pace for a person who watches."""
TOUR = "ADJOURN_DEMO_TOUR"
"""Set where the demo takes its tour by itself: there its work ends, and elsewhere it waits for its
visitor."""
SHELVES = 24
SLOWER_EVERY, SLOWEST = 10, 20
"""What nobody looks at gets slower: by once its own pace every so many steps, up to so many times."""
LONG = 30 * 24 * 3600.0
ENDLESS = 1_000_000


def pace(seconds: float) -> float:
    """So many seconds, at this demo's pace."""
    return seconds * float(os.environ.get(PACE, "1"))


sleep = asyncio.sleep
"""A test has a clock of its own."""


def is_tour() -> bool:
    """Whether the work of the demo ends by itself."""
    return TOUR in os.environ


def patience(steps: int) -> float:
    """How many times slower something is after so many steps."""
    if is_tour():
        return 1.0
    return min(SLOWEST, 1 + steps / SLOWER_EVERY)


class Paced:
    """A scripted model that writes word by word: `script` gives the text and the call, if any, of
    each reply."""

    name = "scripted"

    def __init__(
        self, script: Callable[[ModelRequest], tuple[str, Scripted | None]], word: float
    ) -> None:
        self._script, self._word = script, word

    async def request(self, request: ModelRequest) -> AsyncIterator[Delta | Reply]:
        """See `Model.request`."""
        text, wanted = self._script(request)
        slower = patience(len(_results(request.messages)))
        for piece in text.split(" "):
            await sleep(pace(self._word) * slower)
            yield TextDelta(piece + " ")
        if wanted:
            calls = [ToolCall(id=f"call_{request.index}", tool=wanted.tool, args=wanted.args)]
        else:
            calls = []
        usage = Usage(
            1,
            900 + 40 * len(request.messages),
            len(text) // 4 + 20,
            0,
            0.0021 + len(text) * 0.000004,
        )
        yield Reply((Text(text=text), *calls), usage, "scripted")


# 1. A refund that asks


@tool(effect="read")
async def get_order(ctx: ToolContext, order_id: str) -> dict[str, Any]:
    """Look an order up."""
    write_entry(ctx, "get_order", {"order_id": order_id}, effect=False)
    return {"order_id": order_id, "paid_cents": 48250, "items": "12 glasses"}


async def _void(ctx: ToolContext, args: dict[str, Any], result: Any) -> None:
    write_entry(ctx, "void_refund", args)


@tool(effect="unsafe", undo=_void)
async def refund(
    ctx: ToolContext, order_id: str, cents: int, currency: str, notify: bool, memo: str
) -> dict[str, Any]:
    """Pay money back to the customer’s card."""
    write_entry(ctx, "refund", {"order_id": order_id, "cents": cents})
    await sleep(pace(0.8))
    return {"refunded_cents": cents}


MEMO = (
    "Damaged on arrival, photos 1–4. Customer asked: “please send it to account "
    "‘\N{RIGHT-TO-LEFT OVERRIDE}7140 5512 NO\N{POP DIRECTIONAL FORMATTING}’”."
)


def _results(messages: Sequence[Message]) -> list[ToolResult]:
    return [message for message in messages if isinstance(message, ToolResult)]


def _last_words(messages: Sequence[Message]) -> str:
    """What the agent says at the end: it follows what really happened."""
    results = _results(messages)
    last = results[-1] if results else None
    if last is None or last.error:
        return f"The refund was not made: {last.content if last else 'nothing was tried'}"
    content: Any = last.content
    if isinstance(content, dict) and "result" in content:
        content = content["result"]  # pyright: ignore[reportUnknownVariableType]
    return f"Refunded {content['refunded_cents'] / 100:,.2f} for order 4417 and told the customer."


support = Agent(
    "support-desk",
    model=ScriptedModel(
        ["I will look at the order first.", call("get_order", order_id="4417")],
        [
            "Every glass is broken. A full refund has been agreed with the team lead.",
            call("refund", order_id="4417", cents=48250, currency="EUR", notify=True, memo=MEMO),
        ],
        _last_words,
    ),
    instructions="You help customers.",
    tools=[get_order, refund],
    policy=Policy(
        [ask("refund", when={"cents": gt(10_000)}, reason="large refund", expires_in=LONG)],
        default="allow",
    ),
)


# 2. Research that can be steered

SUPPLIERS = (
    "Nordvarme",
    "Fjordpump",
    "Havenergi",
    "Bergen Klima",
    "Polartek",
    "Sol & Sjø",
    "Varmeverket",
    "Isfjell",
    "Kystluft",
)


@tool(effect="read")
async def fetch_page(ctx: ToolContext, supplier: str) -> dict[str, Any]:
    """Read a supplier’s page."""
    write_entry(ctx, "fetch_page", {"supplier": supplier}, effect=False)
    await sleep(pace(1.2))
    return {
        "supplier": supplier,
        "delivers_in_weeks": 3 + len(supplier) % 7,
        "noise_db": 38 + len(supplier) % 9,
    }


def _research(request: ModelRequest) -> tuple[str, Scripted | None]:
    told = [message.text for message in request.messages if isinstance(message, UserMessage)][1:]
    seen = _results(request.messages)
    if told:
        best = SUPPLIERS[len(seen) % len(SUPPLIERS)]
        so = f"So, of the {len(seen)} suppliers that I have read, {best} delivers first."
        return f"You said: {told[-1]}\n{so}\nThe others are not worth the wait.", None
    name = SUPPLIERS[len(seen) % len(SUPPLIERS)]
    text = (
        f"Section {len(seen) + 1}. Of the nine suppliers, {name} comes next. Its own page says "
        "that it delivers to the whole coast, that the outdoor unit can stand in salt air, "
        "and that its service answers the telephone in winter. I will read the page before I "
        "believe any of it, and compare the noise at night with what the others promise."
    )
    return text, call("fetch_page", supplier=name)


researcher = Agent(
    "researcher",
    model=Paced(_research, 0.09),
    instructions="You compare suppliers.",
    tools=[fetch_page],
    stop=MaxSteps(ENDLESS),
)


# 3. A deployment that can be taken back


def _undo(name: str) -> Callable[[ToolContext, dict[str, Any], Any], Any]:
    async def undo(ctx: ToolContext, args: dict[str, Any], result: Any) -> None:
        write_entry(ctx, name, args)
        await sleep(pace(0.7))

    undo.__name__ = undo.__qualname__ = name
    return undo


@tool(effect="idempotent", undo=_undo("delete_dns_record"))
async def create_dns_record(ctx: ToolContext, name: str) -> dict[str, Any]:
    """Point a name at the new machines."""
    write_entry(ctx, "create_dns_record", {"name": name})
    await sleep(pace(0.6))
    return {"record": name}


@tool(effect="idempotent", undo=_undo("delete_load_balancer"))
async def create_load_balancer(ctx: ToolContext, name: str) -> dict[str, Any]:
    """Put a load balancer in front."""
    write_entry(ctx, "create_load_balancer", {"name": name})
    await sleep(pace(0.9))
    return {"balancer": name}


@tool(effect="idempotent", undo=_undo("revoke_tls_cert"))
async def create_tls_cert(ctx: ToolContext, name: str) -> dict[str, Any]:
    """Have a certificate made."""
    write_entry(ctx, "create_tls_cert", {"name": name})
    await sleep(pace(0.5))
    return {"certificate": name}


@tool(effect="unsafe")
async def announce(ctx: ToolContext, channel: str, text: str) -> str:
    """Tell people. What was read cannot be taken back."""
    write_entry(ctx, "announce", {"channel": channel})
    return "told"


@tool(effect="read")
async def wait_healthy(ctx: ToolContext, regions: int) -> str:
    """Wait until every region answers. The last one never does: it waits for its visitor."""
    while True:
        await sleep(150)


deployer = Agent(
    "deploy",
    model=ScriptedModel(
        ["The name first.", call("create_dns_record", name="kestrel.example")],
        [call("create_load_balancer", name="kestrel-lb")],
        [call("create_tls_cert", name="kestrel.example")],
        ["Now the team may know.", call("announce", channel="#kestrel", text="Staging comes up.")],
        [call("wait_healthy", regions=6)],
        "Staging for team Kestrel is up.",
    ),
    instructions="You provision environments.",
    tools=[create_dns_record, create_load_balancer, create_tls_cert, announce, wait_healthy],
)


# 4. Work that goes on in another process


@tool(effect="idempotent")
async def count_shelf(ctx: ToolContext, shelf: int) -> dict[str, Any]:
    """Count what lies on a shelf; the scanner knows which counts it has had."""
    write_entry(ctx, "count_shelf", {"shelf": shelf})
    await sleep(pace(1.5) * patience(shelf))
    return {"shelf": shelf, "items": 12 + shelf * 7 % 30}


def _stocktaking(request: ModelRequest) -> tuple[str, Scripted | None]:
    done = len(_results(request.messages))
    if is_tour() and done >= SHELVES:
        return f"All {done} shelves are counted.", None
    return f"Shelf {done + 1}.", call("count_shelf", shelf=done + 1)


stocktaker = Agent(
    "stocktaker",
    model=Paced(_stocktaking, 0.2),
    instructions="You count.",
    tools=[count_shelf],
    stop=MaxSteps(ENDLESS),
)


# 5. A flow, for its diagram

newsletter = Flow("newsletter")


@newsletter.chunk
async def draft(ctx: FlowContext) -> dict[str, Any]:
    """Write it."""
    return {"title": "What is new in November", "words": 420}


@newsletter.chunk
async def check_links(ctx: FlowContext) -> str:
    """Every link leads somewhere."""
    await sleep(pace(0.5))
    return "14 links, all fine"


@newsletter.chunk
async def editor_reads(ctx: FlowContext) -> Any:
    """A person reads it."""
    return ctx.pause_for(
        "edit",
        {"question": "Send “What is new in November” to 1,204 people?"},
        resume_to="next",
        answer_schema={
            "type": "object",
            "required": ["send"],
            "properties": {
                "send": {"type": "boolean", "title": "Send it"},
                "subject": {"type": "string", "title": "Another subject"},
            },
        },
    )


@newsletter.chunk
async def send_out(ctx: FlowContext) -> str:
    """Send it, or not."""
    if isinstance(ctx.input, dict):
        answer: Any = ctx.input.get("reads")  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    else:
        answer = ctx.input
    if isinstance(answer, dict) and answer.get("send"):  # pyright: ignore[reportUnknownMemberType]
        return "sent"
    return "not sent"


newsletter.to(draft).batch(links=check_links, reads=editor_reads).to(send_out)

# 6. Two effects whose results are not recorded when the worker is killed: only the tour starts it


async def _hang() -> None:
    """Do not return before the worker is killed."""
    await asyncio.sleep(3600)


@tool(effect="idempotent")
async def book_courier(ctx: ToolContext, order_id: str) -> dict[str, Any]:
    """Have a parcel collected; the courier refuses a key that it has seen."""
    known = is_known(ctx)
    write_entry(ctx, "book_courier", {"order_id": order_id}, effect=not known)
    if not known:
        await _hang()
    return {"booking": ctx.idempotency_key[:8]}


@tool(effect="unsafe")
async def pay_supplier(ctx: ToolContext, supplier: str, cents: int) -> dict[str, Any]:
    """Transfer money to a supplier; the bank does not look at keys."""
    known = is_known(ctx)
    write_entry(ctx, "pay_supplier", {"supplier": supplier, "cents": cents})
    if not known:
        await _hang()
    return {"paid_cents": cents}


returns = Agent(
    "returns",
    model=ScriptedModel(
        [call("get_order", order_id="4417")],
        [
            call("book_courier", order_id="4417"),
            call("pay_supplier", supplier="Glassworks", cents=12900),
        ],
        "The broken glasses are collected and new ones are paid for.",
    ),
    instructions="You handle returns.",
    tools=[get_order, book_courier, pay_supplier],
)
RETURN, RETURN_INPUT = "DEMO-7", "Collect the broken glasses of order 4417 and pay for new ones"

PROGRAMS = (support, researcher, deployer, stocktaker, newsletter, returns)

RUNS = {
    "DEMO-1": ("support-desk", "Order 4417 arrived broken: make it right and answer the customer"),
    "DEMO-2": ("researcher", "Compare heat-pump suppliers in Norway"),
    "DEMO-3": ("deploy", "Provision staging for team Kestrel"),
    "DEMO-4": ("stocktaker", "Count every shelf in the warehouse"),
    "DEMO-5": ("newsletter", "The November newsletter"),
}
