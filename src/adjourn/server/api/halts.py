"""The kill switch, and legal holds."""

from typing import Any

from adjourn.core.person_name import person
from adjourn.errors import NotAllowed
from adjourn.server.api.pages import whole
from adjourn.server.api_request import ApiRequest, operation
from adjourn.server.run_access import visible_halts
from adjourn.server.schemas import (
    FLAG,
    HELD,
    NAME,
    NUMBER,
    SCOPE,
    answer,
    many,
    ref,
    several,
    thing,
)
from adjourn.stores.protocol import Halt
from adjourn.views.halt_scope import HaltScope

HALTS = many(Halt)
HALT = thing(("scope", "reason"), scope=SCOPE, reason=NAME)
HOLD = thing(("scope", "reason"), scope=HELD, reason=NAME)
HALTED = answer(**HALTS["properties"], scope=ref(HaltScope), complete=FLAG)


@operation("POST /halts", "halt", HALTED, body=HALT)
async def halt(c: ApiRequest) -> Any:
    """Halt everything, one agent or one tool.

    And then say what it holds: the halt waits for no count.
    """
    scope = c.body["scope"]
    on = await c.rt.halt(scope, reason=c.body["reason"], by=c.who.name)
    found = await c.app.survey.look(scope)
    return {**whole(on), "scope": found.of(scope), "complete": found.complete}


@operation(
    "GET /halts/scopes",
    "read",
    answer(items=several(HaltScope), complete=FLAG, now=NUMBER),
    query={"scope": SCOPE},
)
async def list_halt_scopes(c: ApiRequest) -> Any:
    """The scopes that can be halted, and how many runs each would hold.

    Also the halts that are on, and the scope that was asked for.
    """
    found = await c.app.survey.look(c.query.get("scope", ""))
    return {"items": found.items, "complete": found.complete, "now": c.rt.store.now()}


@operation("POST /halts/lift", "halt", HALTS, body=HALT)
async def unhalt(c: ApiRequest) -> Any:
    """Lift a halt.

    Whoever may halt may lift what they or another operator set; what an admin set, an admin lifts.
    """
    for halt in await c.rt.halts():
        if halt.scope == c.body["scope"] and not await _may_lift(c, halt):
            raise NotAllowed(
                f"the halt of {halt.scope!r} was set by {halt.by!r}: only an admin can lift it",
                consequence="nothing was lifted",
            )
    on = await c.rt.unhalt(c.body["scope"], by=c.who.name, reason=c.body["reason"])
    return whole(on)


async def _may_lift(c: ApiRequest, halt: Halt) -> bool:
    """Somebody of whom nothing is known here (the command line, a program) counts as an admin."""
    guard = c.app.guard
    setter = await guard.ask(lambda: guard.users.get(halt.by))
    own = person(halt.by) == person(c.who.name)
    return (
        c.who.may_everywhere("admin") or own or (setter is not None and setter.role == "operator")
    )


@operation("POST /holds", "admin", HALTS, problems=(404,), body=HOLD)
async def hold(c: ApiRequest) -> Any:
    """Keep a run (`run:ID`) or a label (`label:KEY=VALUE`) from being erased or pruned."""
    on = await c.rt.hold(c.body["scope"], reason=c.body["reason"], by=c.who.name)
    return whole(on)


@operation("POST /holds/lift", "admin", HALTS, problems=(404,), body=HOLD)
async def lift_hold(c: ApiRequest) -> Any:
    """Lift a legal hold."""
    on = await c.rt.hold(c.body["scope"], reason=c.body["reason"], by=c.who.name, lift=True)
    return whole(on)


@operation("GET /holds", "read", HALTS)
async def list_holds(c: ApiRequest) -> Any:
    """Active legal holds."""
    return whole(await c.rt.holds())


@operation("GET /halts", "read", HALTS, reaches="some")
async def list_halts(c: ApiRequest) -> Any:
    """Active halts."""
    return whole(visible_halts(c.who, await c.rt.halts()))
