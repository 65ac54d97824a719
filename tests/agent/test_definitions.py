"""A definition that cannot work as written is refused where it stands, with what to do instead."""

import datetime
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Generic, Literal, NamedTuple, NewType, Optional, TypeVar

import pytest
from pydantic import BaseModel, RootModel, Secret, SecretBytes, SecretStr
from tests.agent.words import last
from typing_extensions import TypeAliasType, TypedDict

from adjourn import (
    Agent,
    InvalidDefinition,
    Policy,
    Resource,
    Tool,
    allow,
    ask,
    deny,
    email_in,
    eq,
    gt,
    lt,
    matches,
    ne,
    one_of,
    pause_for,
    tool,
)
from adjourn.core.policy_rule import Rule
from adjourn.testing import ScriptedModel, call

# Secrets

T = TypeVar("T")


class Login(BaseModel):
    user: str
    password: SecretStr


class Deep(BaseModel):
    logins: list[dict[str, Login]]


class Later(BaseModel):
    login: "Later2 | None" = None  # noqa: F821  # pyright: ignore


class Box(BaseModel, Generic[T]):
    inside: T


@dataclass
class Credentials:
    keys: tuple[SecretBytes, ...]


class Typed(TypedDict):
    token: SecretStr


class Named(NamedTuple):
    token: SecretStr


class Root(RootModel[list[SecretStr]]):
    pass


class Own(Secret[str]):
    pass


Passwords = TypeAliasType("Passwords", list[SecretStr])


class Node(BaseModel):
    next: "Node | None" = None
    token: SecretStr


SECRETS: list[tuple[Any, str]] = [
    (SecretStr, "x"),
    (SecretBytes, "x"),
    (Secret[int], "x"),
    (Secret[datetime.date], "x"),
    (Own, "x"),
    (SecretStr | None, "x"),
    (Optional[SecretStr], "x"),  # noqa: UP045
    (list[SecretStr], "x"),
    (dict[str, list[SecretStr]], "x"),
    (tuple[int, SecretStr], "x"),
    (Annotated[SecretStr, "a password"], "x"),
    (NewType("Password", SecretStr), "x"),
    (Passwords, "x"),
    (Login, "x.password"),
    (Deep, "x.logins.password"),
    (Box[SecretStr], "x.inside"),
    (Credentials, "x.keys"),
    (Typed, "x.token"),
    (Named, "x.token"),
    (Root, "x.root"),
    (Node, "x.token"),
    (list[Credentials | None], "x.keys"),
]


@pytest.mark.parametrize(("hint", "where"), SECRETS)
def test_a_secret_is_no_argument_wherever_it_is(hint: Any, where: str) -> None:
    async def login(y: int, x: Any) -> str:
        """Log in."""
        return "in"

    login.__annotations__["x"] = hint
    for make in (lambda: tool(login), lambda: Tool("login", "", None, login)):
        with pytest.raises(InvalidDefinition, match=f"'{where}' is a secret.*resource"):
            make()
    with pytest.raises(InvalidDefinition, match="holds a secret"):
        Agent("a", model=ScriptedModel("x"), output_type=hint)


def test_a_secret_that_is_defined_after_the_tool_is_found_with_its_schema() -> None:
    @tool
    async def login(x: Later) -> str:
        """Log in."""
        return "in"

    class Later2(BaseModel):
        token: Secret[int]

    Later.model_rebuild(_types_namespace={"Later2": Later2})
    with pytest.raises(InvalidDefinition, match=r"'x.login.token' is a secret"):
        login.schema


def test_a_resource_may_be_as_secret_as_it_likes() -> None:
    @tool
    async def login(user: str, vault: Annotated[SecretStr, Resource("vault")]) -> str:
        """Log in."""
        return vault.get_secret_value()

    assert list(login.schema["properties"]) == ["user"]


@pytest.mark.parametrize("hint", [SecretStr, Login, list[SecretBytes]])
async def test_nobody_is_asked_for_a_secret(hint: Any) -> None:
    @tool
    async def ask_password() -> str:
        """Ask."""
        pause_for("password", answer_schema=hint)

    outcome = await Agent("a", model=ScriptedModel([call("ask_password")], last), tools=[ask_password]).run("go")
    assert "asks for a secret" in outcome.output


# Rules about what there is


class Money(BaseModel):
    cents: int
    currency: str = "EUR"


@tool
async def refund(order: str, money: Money, notes: list[Money] | None = None) -> str:
    """Refund."""
    return "refunded"


@tool
async def lookup(order: str) -> str:
    """Look up."""
    return "found"


def echo(args: dict[str, Any]) -> Any:
    return args


OPEN = Tool("anything", "", {"type": "object"}, echo)
EXTRA = Tool("extra", "", {"type": "object", "properties": {"a": {}}, "additionalProperties": True}, echo)
CLOSED = Tool("mcp", "", {"type": "object", "properties": {"cents": {"type": "integer"}}}, echo)
NONE = Tool("ping", "", {"type": "object", "properties": {}}, lambda: "pong")
TOOLS = [refund, lookup, OPEN, EXTRA, CLOSED, NONE]


def build(*rules: Rule, tools: Any = TOOLS) -> Agent:
    return Agent("a", model=ScriptedModel("x"), tools=tools, policy=Policy(rules))


@pytest.mark.parametrize(
    "rule",
    [
        ask("refund"),
        ask("refund", when={"order": eq("a")}),
        ask("refund", when={"money": eq({})}),
        ask("refund", when={"money.cents": gt(5)}),
        ask("refund", when={"notes": eq(None)}),
        ask("*", when={"money.cents": gt(5)}),
        deny("db_drop*"),
        deny("db_drop*", when={"table": eq("users")}),
        allow("l?okup"),
        ask("[rl]efund", when={"money.currency": eq("EUR")}),
        ask("anything", when={"whatever.it.is": eq(1)}),
        ask("extra", when={"b": eq(1)}),
        ask("mcp", when={"cents": gt(1)}),
        ask("refund", when=lambda args: True),
    ],
)
def test_a_rule_about_what_there_is_is_taken(rule: Rule) -> None:
    build(rule)


@pytest.mark.parametrize(
    ("rule", "says"),
    [
        (ask("refunds"), "neither this agent nor a nested agent has the tool 'refunds'. Did you mean 'refund'?"),
        (deny("delete"), "'delete'. There are 'anything', 'extra', 'lookup', 'mcp', 'ping', 'refund'."),
        (ask("refund", when={"cents": gt(5)}), "tool 'refund' has no argument 'cents'. Did you mean 'money.cents'?"),
        (ask("refund", when={"cent": gt(5)}), "tool 'refund' has no argument 'cent'. Did you mean 'money.cents'?"),
        (ask("refund", when={"money.cent": gt(5)}), "no argument 'money.cent'. Did you mean 'money.cents'?"),
        (ask("refund", when={"money.cents.x": gt(5)}), "no argument 'money.cents.x'. Did you mean 'money.cents'?"),
        (ask("refund", when={"notes.cents": gt(5)}), "use a function to check what is inside a list"),
        (ask("refund", when={"order.id": gt(5)}), "no argument 'order.id'"),
        (deny("mcp", when={"cent": gt(5)}), "tool 'mcp' has no argument 'cent'. Did you mean 'cents'?"),
        (deny("ping", when={"host": eq("a")}), "tool 'ping' has no argument 'host'. There are none."),
        (
            ask("[rl]*", when={"path": eq("/")}),
            "the tools 'refund', 'lookup' have no argument 'path'. There are 'money',",
        ),
        (ask("refund", when={"order": eq("a"), "oder": eq("b")}), "no argument 'oder'. Did you mean 'order'?"),
    ],
)
def test_a_rule_about_what_there_is_not_is_refused_with_what_is_near(rule: Rule, says: str) -> None:
    with pytest.raises(InvalidDefinition) as refused:
        build(rule)
    assert says in str(refused.value)
    assert rule.text in str(refused.value)


class Reason(Enum):
    BROKEN = "broken"
    LATE = "late"


@tool
async def pay(
    cents: int,
    to: str,
    reason: Reason = Reason.LATE,
    way: Literal["card", "bank"] = "card",
    rate: float = 1.0,
    price: Decimal = Decimal(1),
    day: date | None = None,
    fast: bool = False,
    tags: list[str] | None = None,
) -> str:
    """Pay."""
    return "paid"


@pytest.mark.parametrize(
    ("when", "says"),
    [
        ({"cents": "5"}, "'cents' is never '5'"),
        ({"cents": 5.5}, "'cents' is never 5.5"),
        ({"cents": True}, "'cents' is never True"),
        ({"cents": None}, "'cents' is never None"),
        ({"cents": ne("5")}, "'cents' is never '5'"),
        ({"cents": ~eq("5")}, "'cents' is never '5'"),
        ({"cents": one_of(1, "2")}, "'cents' is never '2'"),
        ({"cents": gt("5")}, "'cents' is never a string"),
        ({"cents": matches("[0-9]+")}, "'cents' is never a string"),
        ({"to": gt(5)}, "'to' is never a number"),
        ({"to": 5}, "'to' is never 5"),
        ({"to": ["ana"]}, "'to' is never ['ana']"),
        ({"reason": "brocken"}, "'reason' is never 'brocken'"),
        ({"way": one_of("card", "cash")}, "'way' is never 'cash'"),
        ({"fast": "yes"}, "'fast' is never 'yes'"),
        ({"fast": 1}, "'fast' is never 1"),
        ({"day": 5}, "'day' is never 5"),
        ({"tags": "late"}, "'tags' is never 'late'"),
    ],
)
def test_a_condition_on_a_value_that_its_argument_never_has_is_refused(when: Any, says: str) -> None:
    with pytest.raises(InvalidDefinition) as refused:
        build(ask("pay", when=when), tools=[pay])
    assert says in str(refused.value) and "judge it with a function" in str(refused.value)


@pytest.mark.parametrize(
    "when",
    [
        {"cents": 5}, {"cents": 5.0}, {"cents": gt(5.5)}, {"cents": ne(0)}, {"rate": 5}, {"rate": lt(1.5)},
        {"price": "10.00"}, {"price": 10}, {"day": None}, {"day": date(2030, 1, 1)}, {"day": gt("2030-01-01")},
        {"reason": Reason.BROKEN}, {"reason": "late"}, {"way": one_of("card", "bank")}, {"way": matches("ca.*")},
        {"fast": True}, {"tags": ["late"]}, {"tags": None}, {"to": email_in("example.com")},
    ],
)  # fmt: skip
def test_a_condition_on_a_value_that_its_argument_may_have_is_taken(when: Any) -> None:
    build(ask("pay", when=when), tools=[pay])


def test_of_several_tools_one_that_may_have_the_value_will_do() -> None:
    texts = Tool("text", "", {"type": "object", "properties": {"cents": {"type": ["string", "null"]}}}, echo)
    build(ask("*", when={"cents": "5"}), ask("*", when={"cents": 5}), tools=[CLOSED, texts])
    with pytest.raises(InvalidDefinition, match="'cents' is never True"):
        build(ask("*", when={"cents": True}), tools=[CLOSED, texts])


def test_a_policy_is_about_the_tools_of_the_agents_below_as_well() -> None:
    child = Agent("child", model=ScriptedModel("x"), tools=[refund])
    middle = Agent("middle", model=ScriptedModel("x"), tools=[child.as_tool()])
    parent = build(ask("refund", when={"money.cents": gt(5)}), ask("child", when={"input": eq("x")}), tools=[middle])
    assert list(parent.tools) == ["middle"]
    with pytest.raises(InvalidDefinition, match="Did you mean 'refund'"):
        build(ask("refnd"), tools=[middle])
    with pytest.raises(
        InvalidDefinition, match="neither this agent nor a nested agent"
    ):  # a child's policy never judges what is above it
        Agent("child", model=ScriptedModel("x"), tools=[lookup], policy=Policy([ask("refund")]))


def test_the_rules_of_a_parent_and_a_child_are_told_apart_too() -> None:
    def over(limit: Any) -> Any:
        def check(args: dict[str, Any]) -> bool:
            return args["cents"] > limit

        return check

    child = Agent(
        "child", model=ScriptedModel("x"), tools=[refund], policy=Policy([ask("refund", when=over(object()))])
    )
    with pytest.raises(InvalidDefinition, match="cannot be told apart"):
        build(ask("refund", when=over(object())), tools=[child])
    build(ask("refund", when=over(object()), name="parent's"), tools=[child])


# ask(...)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"escalate_to": "leads"}, "escalate_to= is a list of names"),
        ({"escalate_to": ["leads"]}, "needs expires_in= and on_expiry='escalate'"),
        ({"escalate_to": ["leads"], "expires_in": 5}, "needs expires_in= and on_expiry='escalate'"),
        ({"escalate_to": ["leads"], "on_expiry": "escalate"}, "needs expires_in= and on_expiry='escalate'"),
        ({"on_expiry": "escalate"}, "on_expiry='escalate' needs expires_in="),
        ({"escalate_to": [""], "expires_in": 5, "on_expiry": "escalate"}, "escalate_to= is a list of names"),
        ({"groups": [1]}, "groups= is a list of names"),
        ({"groups": "finance"}, "groups= is a list of names"),
        ({"groups": None}, "groups= is a list of names"),
        ({"each": True}, "name at least two in groups="),
        ({"each": True, "groups": ["a", "a"]}, "name at least two in groups="),
        ({"each": 1, "groups": ["a", "b"]}, "each= is True or False"),
        ({"not_requester": "yes"}, "not_requester= is True or False"),
        ({"queue": None}, "queue= is True or False"),
        ({"name": ""}, "name= must be a string"),
        ({"name": 5}, "name= must be a string"),
        ({"reason": 5}, "reason= must be a string"),
        ({"approvers": 1.5}, "approvers= must be an integer"),
        ({"on_expiry": "approve"}, "on_expiry= must be 'deny', 'cancel' or 'escalate'"),
        ({"when": {"a..b": 1}}, "keys are names of arguments"),
        ({"when": {5: 1}}, "keys are names of arguments"),
        ({"when": {"": 1}}, "keys are names of arguments"),
        ({"when": gt(5)}, "when= must be"),
    ],
)
def test_an_option_that_makes_no_sense_is_refused_by_name(options: Any, says: str) -> None:
    with pytest.raises(InvalidDefinition) as refused:
        ask("refund", **options)
    assert says in str(refused.value)
    assert "refund" in str(refused.value)


def test_an_escalation_is_recorded_with_its_question() -> None:
    rule = ask("refund", expires_in=60, on_expiry="escalate", escalate_to=["board", "board"])
    assert rule.escalate_to == ("board",)


# Explicit schemas


@pytest.mark.parametrize(
    ("schema", "says"),
    [
        ({"type": "text"}, "tool 't': input_schema is not a valid JSON Schema: 'type'"),
        ({"properties": {"a": {"pattern": "(?!b)"}}}, "linear time"),
        ({"properties": {"a": {"type": "integer", "default": "x"}}}, "the default 'x' does not fit its own schema"),
        ({"properties": {"a": {"$ref": "#", "default": {}}}}, "are endless"),
        ({"$ref": "#/$defs/none"}, "does not exist"),
        ({"enum": ["x" * 100_001]}, "at most 100,000 are allowed"),
        ("object", "is not a valid JSON Schema"),
    ],
)
def test_a_schema_that_cannot_work_is_refused_with_its_tool(schema: Any, says: str) -> None:
    with pytest.raises(InvalidDefinition) as refused:
        Tool("t", "", schema, echo)
    assert says in str(refused.value)
    assert "tool 't'" in str(refused.value)


@pytest.mark.parametrize("given", [3, 1.5, True, b"x", [int], {"a": int}, {1}])
def test_an_output_type_is_a_type(given: Any) -> None:
    with pytest.raises(InvalidDefinition, match="output_type= must be a type"):
        Agent("a", model=ScriptedModel("x"), output_type=given)
