"""Commands for what people leave on an item beside its decision: `assign`, `snooze`, `comment`."""

from collections.abc import Awaitable, Callable
from typing import Annotated, Any

import typer
from rich.text import Text

from adjourn.cli.error_report import says
from adjourn.cli.interrupt_lookup import find
from adjourn.cli.opened_database import address_of, with_runtime
from adjourn.cli.options import By, Db, InterruptId, Json
from adjourn.cli.person import deciders, person
from adjourn.cli.suggestions import check_known
from adjourn.cli.terminal.console import give, out, remark
from adjourn.cli.terminal.format import duration
from adjourn.cli.times import seconds_until
from adjourn.core.interrupt import Interrupt
from adjourn.errors import Invalid
from adjourn.runtime.runtime import Runtime
from adjourn.stores.item_note import GROUP

app = typer.Typer()
NOW = "now"
"""Until when an item is snoozed that is to be shown again."""


def _leave(
    db: str | None,
    item: str,
    leave: Callable[[Runtime, Interrupt], Awaitable[tuple[str, dict[str, Any]]]],
    as_json: bool,
) -> None:
    """Leave a note on an item, and print what was left."""

    async def work(rt: Runtime) -> tuple[str, dict[str, Any], str]:
        interrupt = (await find(rt, address_of(db), item)).interrupt
        said, data = await leave(rt, interrupt)
        return said, data, interrupt.ref

    said, data, ref = with_runtime(db, work)
    if not give(as_json, {"ref": ref, **data}):
        out().print(Text(said))
        remark(ref)


@app.command()
@says("Not assigned")
def assign(
    item: InterruptId,
    to: Annotated[
        str,
        typer.Argument(metavar="[NAME]", help=f"A person, or a group as {GROUP}NAME."),
    ] = "",
    nobody: Annotated[
        bool, typer.Option("--nobody", help="Remove the assignment instead.")
    ] = False,
    db: Db = None,
    as_json: Json = False,
    by: By = None,
) -> None:
    """Give an item to a person or a group; others may still decide it."""
    if bool(to) == nobody:
        raise Invalid("name a person or a group, or give --nobody")
    who = person(db, by, right="decide").name
    if to:
        check_known(to, deciders(db) or [to], "person who can decide, or group of such people,")

    async def leave(rt: Runtime, interrupt: Interrupt) -> tuple[str, dict[str, Any]]:
        await rt.assign(interrupt, to, by=who)
        if not to:
            return "The assignment was removed.", {"assigned_to": ""}
        return f"Assigned to {to}.", {"assigned_to": to}

    _leave(db, item, leave, as_json)


@app.command()
@says("Not snoozed")
def snooze(
    item: InterruptId,
    until: Annotated[
        str,
        typer.Argument(help=f"2h, 3d, or a date such as 2031-01-31; {NOW}: show it again."),
    ],
    db: Db = None,
    as_json: Json = False,
    by: By = None,
) -> None:
    """Hide an item from your inbox in the console until a time.

    Others see it as before. It is shown again 15 minutes before it expires at the latest; its
    expiry and its escalation do not move.
    """
    who = person(db, by, right="decide").name

    async def leave(rt: Runtime, interrupt: Interrupt) -> tuple[str, dict[str, Any]]:
        now, wanted = rt.store.now(), 0.0
        if until != NOW:
            wanted = now + seconds_until(until, now)
        then = await rt.snooze(interrupt, wanted, by=who)
        if not then:
            return f"{who} sees it again.", {"snoozed_until": None}
        return f"{who} sees it again in {duration(then - now)}.", {"snoozed_until": then}

    _leave(db, item, leave, as_json)


@app.command()
@says("Not written")
def comment(
    item: InterruptId,
    text: Annotated[str, typer.Argument(help="The comment; it is recorded.")],
    db: Db = None,
    as_json: Json = False,
    by: By = None,
) -> None:
    """Write a comment about an item; it is a line of the audit."""
    who = person(db, by, right="decide").name

    async def leave(rt: Runtime, interrupt: Interrupt) -> tuple[str, dict[str, Any]]:
        await rt.comment(interrupt, text, by=who)
        return "Commented.", {"text": text, "by": who}

    _leave(db, item, leave, as_json)
