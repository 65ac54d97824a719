"""The kill switch, and legal holds."""

from typing import Any

from adjourn.core.authority import person
from adjourn.errors import NotAllowed
from adjourn.server.api.pages import whole
from adjourn.server.api_request import ApiRequest, reaches
from adjourn.server.run_access import visible_halts
from adjourn.stores.protocol import Halt


async def halt(c: ApiRequest) -> Any:
    """Set a halt, and then say what it holds: the halt waits for no count."""
    scope = c.body["scope"]
    on = await c.rt.halt(scope, reason=c.body["reason"], by=c.who.name)
    found = await c.desk.survey.look(scope)
    return {**whole(on), "scope": found.of(scope), "complete": found.complete}


async def list_halt_scopes(c: ApiRequest) -> Any:
    """Everything that can be halted, the halts that are on, and the scope that was asked for."""
    found = await c.desk.survey.look(c.query.get("scope", ""))
    return {"items": found.items, "complete": found.complete, "now": c.rt.store.now()}


async def unhalt(c: ApiRequest) -> Any:
    """Lift a halt. Whoever may halt may lift what they or another operator set; what an admin set,
    an admin lifts."""
    for halt in await c.rt.halts():
        if halt.scope == c.body["scope"] and not await _may_lift(c, halt):
            raise NotAllowed(
                f"the halt of {halt.scope!r} was set by {halt.by!r}: an admin lifts it",
                consequence="nothing was lifted",
            )
    on = await c.rt.unhalt(c.body["scope"], by=c.who.name, reason=c.body["reason"])
    return whole(on)


async def _may_lift(c: ApiRequest, halt: Halt) -> bool:
    """Somebody of whom nothing is known here (the command line, a program) counts as an admin."""
    guard = c.desk.guard
    setter = await guard.ask(lambda: guard.users.get(halt.by))
    own = person(halt.by) == person(c.who.name)
    return (
        c.who.may_everywhere("admin") or own or (setter is not None and setter.role == "operator")
    )


async def hold(c: ApiRequest) -> Any:
    """Set a legal hold."""
    on = await c.rt.hold(c.body["scope"], reason=c.body["reason"], by=c.who.name)
    return whole(on)


async def lift_hold(c: ApiRequest) -> Any:
    """Lift a legal hold."""
    on = await c.rt.hold(c.body["scope"], reason=c.body["reason"], by=c.who.name, lift=True)
    return whole(on)


async def list_holds(c: ApiRequest) -> Any:
    """The legal holds that are on."""
    return whole(await c.rt.holds())


@reaches("some")
async def list_halts(c: ApiRequest) -> Any:
    """The halts that are on."""
    return whole(visible_halts(c.who, await c.rt.halts()))
