"""What people leave on an item of the inbox, beside its decision: to whom it is given, until when
they do not want to see it, and comments. Whoever may decide may do this."""

from typing import Any, cast

from adjourn.core.interrupt import Interrupt
from adjourn.errors import NotFound
from adjourn.server.api.decider import decidable
from adjourn.server.api_request import ApiRequest, interrupt_verb, operation
from adjourn.server.schemas import TIME, Schema, ref, thing
from adjourn.stores.item_note import GROUP, NO_MARK, ItemMark
from adjourn.views.item_note_view import DecidersView, ItemMarkView
from adjourn.views.words import RIGHTS, Role

TO: Schema = {"type": "string", "maxLength": 200, "pattern": r"^[^\u0000]*$"}
COMMENT: Schema = {
    "type": "string",
    "minLength": 1,
    "maxLength": 10_000,
    "pattern": r"^[^\u0000]*[^\s\u0000][^\u0000]*$",
}


def snoozed_until(c: ApiRequest, mark: ItemMark) -> float | None:
    """When whoever asks wants to see an item again; None if it is not hidden from them."""
    until = mark.snoozed.get(c.who.name, 0.0)
    if until > c.rt.store.now():
        return until
    return None


@operation("GET /deciders", "read", ref(DecidersView))
async def list_deciders(c: ApiRequest) -> Any:
    """People who can decide, and their groups: an item can be assigned to them."""
    people: set[str] = set()
    groups: set[str] = set()
    if c.who.may("decide"):  # who is known by a token, or to another application, is in no list
        people.add(c.who.name)
        groups.update(c.who.groups)
    for user in c.app.guard.users.all():
        if "decide" in RIGHTS.get(cast("Role", user.role), ()):
            people.add(user.name)
            groups.update(user.groups)
    return DecidersView(people=tuple(sorted(people)), groups=tuple(sorted(groups)))


@interrupt_verb("assign", ref(ItemMarkView), thing(("to",), to=TO))
async def assign(c: ApiRequest) -> Any:
    """Assign it to a person or to `group:NAME`; empty: remove the assignment."""
    to, found = c.body["to"], await decidable(c)
    known = await list_deciders(c)
    if to and to not in known.people and to not in {f"{GROUP}{group}" for group in known.groups}:
        raise NotFound(
            f"{to!r:.80} is not a person who can decide, or a group of such people",
            consequence="it was not assigned",
            advice=f"name a person, or a group as {GROUP}NAME",
        )
    await c.rt.assign(found, to, by=c.who.name, request_id=c.request_id)
    return await _marked(c, found)


@interrupt_verb("snooze", ref(ItemMarkView), thing(("until",), until=TIME))
async def snooze(c: ApiRequest) -> Any:
    """Hide it from your inbox until a time; 0: show it again. Its expiry does not move."""
    found = await decidable(c)
    await c.rt.snooze(found, c.body["until"], by=c.who.name, request_id=c.request_id)
    return await _marked(c, found)


@interrupt_verb("comment", ref(ItemMarkView), thing(("text",), text=COMMENT))
async def comment(c: ApiRequest) -> Any:
    """Write a comment about it; it is a line of the audit."""
    found = await decidable(c)
    await c.rt.comment(found, c.body["text"], by=c.who.name, request_id=c.request_id)
    return await _marked(c, found)


async def _marked(c: ApiRequest, found: Interrupt) -> ItemMarkView:
    await c.app.hub.tell(found.run_id)
    item = (found.run_id, found.local)
    mark = (await c.rt.store.marks([item])).get(item, NO_MARK)
    return ItemMarkView(assigned_to=mark.assigned, snoozed_until=snoozed_until(c, mark))
