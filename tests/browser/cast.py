"""The programs of the browser tests. What must last until a test says otherwise waits for a file in the world's folder."""

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from adjourn import Agent, Flow, FlowContext, MaxSteps, Policy, ToolContext, ask, gt, pause_for, tool
from adjourn.core.messages import Delta, ModelRequest, Reply, Text, TextDelta, ToolResult, UserMessage
from adjourn.core.usage import Usage
from adjourn.hooks import AskPerson, check_output
from adjourn.parts import Image
from adjourn.testing.scripted import ScriptedModel, call

FOLDER = "ADJOURN_TEST_FOLDER"


def folder() -> Path:
    return Path(os.environ.get(FOLDER, "."))


async def until_told(name: str) -> None:
    """Wait until the test makes the file."""
    while not (folder() / name).exists():
        await asyncio.sleep(0.02)


def note(line: str) -> None:
    """A line in the ledger: something happened in the world."""
    fd = os.open(folder() / "ledger", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.write(fd, f"{line}\n".encode())
    os.close(fd)


class Writer:
    """Writes words until it is told to end; after an instruction it ends by itself and repeats it."""

    name = "scripted"

    async def request(self, request: ModelRequest) -> AsyncIterator[Delta | Reply]:
        told = [m.text for m in request.messages if isinstance(m, UserMessage)][1:]
        if told:
            yield Reply((Text(text=f"Heard: {told[-1]}"),), Usage(1, 100, 10, 0, 0.01), "scripted")
            return
        words: list[str] = []
        while not (folder() / "end").exists() and len(words) < 3000:
            words.append(f"word{len(words)}")
            yield TextDelta(f"{words[-1]} ")
            await asyncio.sleep(0.03)
        yield Reply((Text(text=" ".join(words)),), Usage(1, 100, 10, 0, 0.01), "scripted")


writer = Agent("writer", model=Writer(), instructions="Write.")


@tool(effect="unsafe", describe="refund {cents} of order {order_id}")
async def refund(ctx: ToolContext, order_id: str, cents: int, notify: bool, memo: str) -> dict[str, Any]:
    """Pay money back to the customer’s card."""
    note(f"refund {ctx.run_id} {order_id} {cents} {notify} {memo}")
    return {"refunded": cents}


def _refunded(messages: Any) -> str:
    last = next(m for m in reversed(messages) if isinstance(m, ToolResult))
    return f"Result: {last.content}"


refunds = Agent(
    "refunds",
    model=ScriptedModel(
        ["Every glass is broken. Approve this quickly.",
         call("refund", order_id="4417", cents=48250, notify=True, memo="pay \u202e0001\u202c now")],
        _refunded,
    ),
    tools=[refund],
    policy=Policy([ask("refund", when={"cents": gt(100)}, reason="large refund", expires_in=3600)], default="allow"),
)  # fmt: skip

hasty = Agent(
    "hasty",
    model=ScriptedModel([call("refund", order_id="9", cents=900, notify=False, memo="")], "without it"),
    tools=[refund],
    policy=Policy([ask("refund", reason="in no time", expires_in=0.3)], default="allow"),
)

pair = Agent(
    "pair",
    model=ScriptedModel([call("refund", order_id="1", cents=500, notify=False, memo="")], _refunded),
    tools=[refund],
    policy=Policy([ask("refund", reason="two people", approvers=2)], default="allow"),
)

series = Agent(
    "series",
    model=ScriptedModel(
        *[[call("refund", order_id="7", cents=cents, notify=False, memo="")] for cents in (200, 200, 900)], "done"
    ),
    tools=[refund],
    policy=Policy([ask("refund", reason="one by one")], default="allow"),
)


async def unlock(ctx: ToolContext, args: dict[str, Any], result: Any) -> None:
    note(f"unlock {args['name']}")


@tool(effect="idempotent", undo=unlock, policy="ask")
async def lock(name: str) -> str:
    """Lock something. It takes until told."""
    await until_told("end")
    note(f"lock {name}")
    return name


patient = Agent("patient", model=ScriptedModel([call("lock", name="door")], "locked"), tools=[lock])


@tool(effect="unsafe", policy="ask", describe="letter to {whom}")
async def post(whom: str) -> str:
    """Send a letter."""
    raise ValueError("SMTP 550")


unlucky = Agent("unlucky", model=ScriptedModel([call("post", whom="kari")], "not sent"), tools=[post])

brief_yes = Agent(
    "brief_yes",
    model=ScriptedModel([call("refund", order_id="8", cents=800, notify=False, memo="")], _refunded),
    tools=[refund],
    policy=Policy([ask("refund", reason="now or never", valid_for=0.05)], default="allow"),
)


@tool(effect="read")
async def ask_desk(question: str) -> Any:
    """Ask somebody at the desk."""
    pause_for(
        "desk", {"question": question},
        answer_schema={
            "type": "object", "required": ["keep", "count"], "additionalProperties": False,
            "properties": {
                "keep": {"type": "boolean", "title": "Keep them"}, "count": {"type": "integer", "title": "How many", "minimum": 0},
                "why": {"type": "string", "title": "Why"}, "colour": {"enum": ["red", "green"], "title": "Colour"},
            },
        },
    )  # fmt: skip


def _answered(messages: Any) -> str:
    last = next(m for m in reversed(messages) if isinstance(m, ToolResult))
    return f"Answer: {last.content}"


asker = Agent(
    "asker", model=ScriptedModel([call("ask_desk", question="Keep the accounts?")], _answered), tools=[ask_desk]
)


VISIT: dict[str, Any] = {
    "type": "object", "additionalProperties": False, "required": ["who", "day", "people", "gate", "badge"],
    "properties": {
        "who": {"type": "string", "title": "Visitor", "description": "As on the passport.", "maxLength": 100, "examples": ["Ana Berg"]},
        "day": {"type": "string", "format": "date", "title": "Day of the visit"},
        "hour": {"type": "string", "format": "time", "title": "Time"},
        "leaves": {"type": "string", "format": "date-time", "title": "Leaves at"},
        "mail": {"type": "string", "format": "email", "title": "E-mail"},
        "site": {"type": "string", "format": "uri", "title": "Web page"},
        "people": {"type": "integer", "title": "How many", "minimum": 1, "maximum": 12},
        "cost": {"type": "number", "title": "Cost", "multipleOf": 0.5},
        "gate": {"enum": ["north", "south"], "title": "Gate"},
        "floor": {"enum": [1, 2, 3, 4, 5, 6, 7], "title": "Floor"},
        "badge": {"type": "boolean", "title": "Needs a badge"},
        "parking": {"type": "boolean", "title": "Parking", "default": True},
        "kind": {"const": "visit", "title": "Kind"},
        "notes": {"type": "string", "title": "Notes"},
        "cars": {"type": "array", "title": "Cars", "maxItems": 3, "items": {"type": "string"}},
        "host": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string", "title": "Host", "maxLength": 50}}},
        "extra": {"title": "Anything else", "anyOf": [{"type": "integer"}, {"type": "array"}]},
        "nick": {"type": ["string", "null"], "title": "Nickname"},
        "meal": {"title": "Meal", "oneOf": [{"const": "v", "title": "Without meat"}, {"const": "f", "title": "Fish"}]},
        "days": {"type": "array", "title": "Weekdays", "uniqueItems": True, "items": {"enum": ["Mon", "Tue", "Wed"]}},
        "pay": {"title": "How it is paid", "anyOf": [
            {"type": "object", "title": "By card", "required": ["number"],
             "properties": {"number": {"type": "string", "title": "Card", "maxLength": 20}}},
            {"type": "string", "title": "By invoice", "maxLength": 40}]},
        "plan": {"type": "string", "title": "Plan of the yard", "contentEncoding": "base64", "contentMediaType": "text/plain"},
        "photo": {**Image.schema(), "title": "Photo"},
        "code": {"type": "string", "title": "Door code", "format": "password"},
        "stay": {"type": "string", "format": "duration", "title": "Stays for"},
        "badges": {"type": "array", "title": "Badges", "items": {"$ref": "#/$defs/Badge"}},
        "printer": {"type": "string", "format": "hostname", "title": "Printer"},
        "dogs": {"type": "boolean", "title": "Brings a dog"},
    },
    "$defs": {"Badge": {"type": "object", "title": "A badge", "required": ["on"], "properties": {
        "on": {"type": "string", "title": "Name on it", "maxLength": 40}, "metal": {"type": "boolean", "title": "Of metal"}}}},
}  # fmt: skip


@tool(effect="read")
async def plan_visit(question: str) -> Any:
    """Ask somebody to plan a visit."""
    pause_for("visit", {"question": question}, answer_schema=VISIT)


MORE: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["meal", "days", "pay", "code"],
    "properties": {name: VISIT["properties"][name] for name in ("meal", "days", "pay", "plan", "photo", "code")},
}


@tool(effect="read")
async def plan_more(question: str) -> Any:
    """Ask somebody for the rest."""
    pause_for("visit", {"question": question}, answer_schema=MORE)


RULED: dict[str, Any] = {
    "minimum": {"type": "integer", "minimum": 5},
    "maximum": {"type": "integer", "maximum": 9},
    "exclusiveMinimum": {"type": "number", "exclusiveMinimum": 0},
    "exclusiveMaximum": {"type": "number", "exclusiveMaximum": 10},
    "multipleOf": {"type": "integer", "multipleOf": 5},
    "minLength": {"type": "string", "minLength": 3, "maxLength": 50},
    "maxLength": {"type": "string", "maxLength": 3},
    "pattern": {"type": "string", "pattern": "^[A-Z]{2}[0-9]+$", "maxLength": 50},
    "format": {"type": "string", "format": "ipv6"},
    "minItems": {"type": "array", "minItems": 2},
    "maxItems": {"type": "array", "maxItems": 1},
    "prefixItems": {"type": "array", "prefixItems": [{"type": "integer"}]},
    "allOf": {"allOf": [{"type": "integer"}, {"minimum": 5}]},
    "required": {"type": "object", "required": ["a"]},
    "additionalProperties": {"type": "object", "additionalProperties": {"type": "integer"}},
    "type": {"type": ["array", "object"]},
    "uniqueItems": {"type": "array", "uniqueItems": True},
    "contains": {"type": "array", "contains": {"type": "string"}},
    "unevaluatedItems": {"type": "array", "prefixItems": [{}], "unevaluatedItems": False},
    "minProperties": {"type": "object", "minProperties": 1},
    "maxProperties": {"type": "object", "maxProperties": 1},
    "propertyNames": {"type": "object", "propertyNames": {"maxLength": 1}},
    "patternProperties": {"type": "object", "patternProperties": {"^n": {"type": "integer"}}},
    "dependentRequired": {"type": "object", "dependentRequired": {"a": ["b"]}},
    "dependentSchemas": {"type": "object", "dependentSchemas": {"a": {"required": ["b"]}}},
    "unevaluatedProperties": {"type": "object", "unevaluatedProperties": False},
    "not": {"not": {"type": "string"}},
    "if": {"if": {"type": "string"}, "then": {"maxLength": 1}},
}
"""A field for each rule of JSON Schema that says what a value may be, called like it."""


@tool(effect="read")
async def ask_by_rules(question: str) -> Any:
    """Ask somebody for values that keep rules."""
    pause_for("rules", {"question": question}, answer_schema={"type": "object", "properties": RULED})


ruled = Agent(
    "ruled", model=ScriptedModel([call("ask_by_rules", question="Which values?")], _answered), tools=[ask_by_rules]
)

asker_of_more = Agent(
    "asker_of_more", model=ScriptedModel([call("plan_more", question="What else?")], _answered), tools=[plan_more]
)


visitor = Agent(
    "visitor", model=ScriptedModel([call("plan_visit", question="Who comes when?")], _answered), tools=[plan_visit]
)


def _undo(name: str) -> Any:
    async def undo(ctx: ToolContext, args: dict[str, Any], result: Any) -> None:
        note(f"{name} {args['name']}")

    undo.__name__ = undo.__qualname__ = name
    return undo


@tool(effect="idempotent", undo=_undo("delete"))
async def create(ctx: ToolContext, name: str) -> str:
    """Make something."""
    note(f"create {name}")
    return name


@tool(effect="unsafe")
async def announce(text: str) -> str:
    """Tell people. It cannot be taken back."""
    note(f"announce {text}")
    return "told"


@tool(effect="read")
async def hold() -> str:
    """Wait until told."""
    await until_told("end")
    return "held"


deployer = Agent(
    "deployer",
    model=ScriptedModel(
        [call("create", name="dns")], [call("create", name="lb")], [call("announce", text="soon")], [call("hold")], "up"
    ),
    tools=[create, announce, hold],
)

boss = Agent(
    "boss",
    model=ScriptedModel(["The clerk does it.", call("refunds", input="please")], "done"),
    tools=[refunds.as_tool()],
)

limited = Agent(
    "limited", model=ScriptedModel(*[[call("create", name=str(n))] for n in range(9)], "done"), tools=[create],
    stop=MaxSteps(2).then("pause"),
)  # fmt: skip

checked = Agent(
    "checked", model=ScriptedModel("A letter."), hooks=[check_output(lambda text: AskPerson("it may be rude"), name="polite")]
)  # fmt: skip

failing = Agent("failing", model=ScriptedModel(ValueError("no such model"), "better"), retries=1)

review = Flow("review")


@review.chunk
async def draft(ctx: FlowContext) -> str:
    """Write it."""
    return f"draft of {ctx.input}"


@review.chunk
async def proofread(ctx: FlowContext) -> str:
    """Look for mistakes."""
    return "no mistakes"


@review.chunk
async def editor(ctx: FlowContext) -> Any:
    """A person reads it."""
    return ctx.pause_for(
        "edit", {"question": "Print it?"}, resume_to="next", answer_schema={"type": "boolean", "title": "Print it"}
    )


@review.chunk
async def publish(ctx: FlowContext) -> str:
    """Print it."""
    note(f"publish {ctx.input}")
    return "printed"


review.to(draft).batch(proof=proofread, says=editor).to(publish)


@tool(effect="unsafe", policy="ask")
async def carry(value: Any, other: str) -> Any:
    """Carry a value around."""
    return value


class Parrot:
    """Says, calls, and asks with whatever it was given."""

    name = "scripted"

    async def request(self, request: ModelRequest) -> AsyncIterator[Delta | Reply]:
        text = next(m.text for m in request.messages if isinstance(m, UserMessage))
        if any(isinstance(m, ToolResult) for m in request.messages):
            yield Reply((Text(text=text),), Usage(1, 1, 1), "scripted")
            return
        yield TextDelta(text)
        from adjourn.core.messages import ToolCall

        carried = ToolCall(id="c0", tool="carry", args={"value": {text[:80]: [text]}, "other": text})
        asked = ToolCall(id="c1", tool="ask_desk", args={"question": text})
        yield Reply((Text(text=text), carried, asked), Usage(1, 1, 1), "scripted")


parrot = Agent("parrot", model=Parrot(), tools=[carry, ask_desk])


def _shown(messages: Any) -> Any:
    photo = next(part for part in messages[0].parts if not isinstance(part, str))
    return ["Look.", call("carry", value={"photo": photo}, other="as it is")]


class Eyes(ScriptedModel):
    """It sees, and does not hear."""

    async def file_refusal(self, ref: dict[str, Any], data: bytes) -> str:
        return f"{self.name} does not take {ref['type']}" if ref["type"].startswith("audio") else ""


looker = Agent("looker", model=Eyes(_shown, "carried"), tools=[carry])

CAST: tuple[Agent[Any] | Flow, ...] = (
    writer,
    refunds,
    hasty,
    pair,
    series,
    asker,
    deployer,
    boss,
    limited,
    failing,
    review,
    parrot,
    visitor,
    asker_of_more,
    ruled,
    looker,
    checked,
    patient,
    unlucky,
    brief_yes,
)
