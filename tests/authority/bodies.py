"""What the body of `pay` does before it pays: it comes into doubt, dies, asks, or stops to let somebody pause."""

import asyncio
from typing import Any

from tests.authority.world import Body, Office

from adjourn import InDoubt, ToolContext


def doubts_first(office: Office, times: int = 1) -> Body:
    """Does not know whether it paid, so many times (it did not), and then pays."""
    attempts: dict[tuple[str, int], int] = {}

    async def pay(ctx: ToolContext, cents: int) -> str:
        attempts[ctx.run_id, cents] = attempts.get((ctx.run_id, cents), 0) + 1
        if attempts[ctx.run_id, cents] <= times:
            await office.begun.add()
            raise InDoubt("the bank did not answer")
        office.ledger.write(ctx.run_id, cents)
        return "paid"

    return pay


def doubts_first_and_lapses(office: Office, many: int, life: float) -> Body:
    """As `doubts_first`; once so many have begun, so much time passes."""
    doubting = doubts_first(office)

    async def pay(ctx: ToolContext, cents: int) -> str:
        try:
            return await doubting(ctx, cents)
        except InDoubt:
            await office.begun.reaches(many)
            office.clock.advance(life)
            raise

    return pay


def dies_first(office: Office) -> Body:
    """Never ends, the first time; whoever waits for that hears of it."""
    tried: set[tuple[str, int]] = set()

    async def pay(ctx: ToolContext, cents: int) -> str:
        if (ctx.run_id, cents) not in tried:
            tried.add((ctx.run_id, cents))
            await office.begun.add()
            await asyncio.Event().wait()
        office.ledger.write(ctx.run_id, cents)
        return "paid"

    return pay


def yields_first(office: Office) -> Body:
    """Somebody pauses the run while it works; it stops at its next save, and goes on from there."""
    begun: set[tuple[str, int]] = set()

    async def pay(ctx: ToolContext, cents: int) -> str:
        if (ctx.run_id, cents) not in begun:
            begun.add((ctx.run_id, cents))
            if not ctx.pause_requested:
                await (await office.rt.get(ctx.run_id)).pause(by="ada")
            while not ctx.pause_requested:
                await asyncio.sleep(0)
            await ctx.save("half way")
        office.ledger.write(ctx.run_id, cents)
        return "paid"

    return pay


def asks_first(office: Office) -> Body:
    """Asks a person, and pays whatever they answer."""

    async def pay(ctx: ToolContext, cents: int) -> str:
        ctx.pause_for("sure", {"cents": cents}, resume_to="self")
        office.ledger.write(ctx.run_id, cents)
        return "paid"

    return pay


async def did_not_happen(ctx: ToolContext, args: dict[str, Any]) -> bool:
    """What the world says."""
    return False


def time_passes_and_it_did_not_happen(office: Office, many: int, life: float) -> Any:
    """What the world says, long after so many have begun."""

    async def verify(ctx: ToolContext, args: dict[str, Any]) -> bool:
        await office.begun.reaches(many)
        office.clock.advance(life)
        return False

    return verify
