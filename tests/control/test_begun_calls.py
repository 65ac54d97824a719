"""A body that has begun, and how its call can end: a cancel undoes what was done, or lists it. It never hides it."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any, Literal

import pytest
from tests.control.world import LIMIT

from adjourn import (
    Agent,
    Cancelled,
    Decision,
    InDoubt,
    Policy,
    Run,
    Tool,
    ToolContext,
    ToolFailed,
    allow,
    ask,
    ask_human,
    deny,
)  # fmt: skip
from adjourn.stores.memory import MemoryStore
from adjourn.stores.protocol import Store
from adjourn.stores.sqlite import SQLiteStore
from adjourn.testing import FakeClock, ScriptedModel, call, env
from adjourn.testing.env import Env
from adjourn.views.run_view import Residue

Noted = Literal["nothing", "a step", "progress"]
NOTED: tuple[Noted, ...] = ("nothing", "a step", "progress")
ARGUMENTS: dict[str, Any] = {"type": "object", "properties": {"to": {"type": "string"}}}


class World:
    """One tool that begins, notes what it has done, and ends; a person; and what really happened."""

    def __init__(self, store: Store, clock: FakeClock, ends: str, noted: Noted, undo: bool) -> None:
        self.store, self.clock, self.ends, self.noted = store, clock, ends, noted
        self.undo: Callable[..., Any] | None = self._take_back if undo else None
        self.sent: list[str] = []
        self.taken_back: list[Any] = []

    def _take_back(self, ctx: ToolContext, args: Any, result: Any) -> None:
        self.taken_back.append(args)

    async def body(self, ctx: ToolContext, to: str) -> Any:
        if self.noted == "a step":
            await ctx.step("send", lambda: self.sent.append(to))
        if self.noted == "progress" and ctx.progress is None:
            self.sent.append(to)
            await ctx.save({"sent": 1})
        return self._end(ctx)

    def _end(self, ctx: ToolContext) -> Any:
        match self.ends:
            case "raises":
                raise ValueError("the line broke")
            case "fails":
                raise ToolFailed("sold out")
            case "is cancelled from inside":
                raise asyncio.CancelledError
            case "is in doubt, and a person says not" | "is in doubt, and a person gives up":
                raise InDoubt("no answer came")
            case "gives what no journal holds":
                return object()
            case "asks with the answer as its result, and is dismissed":
                ctx.pause_for("code", "which code?")
            case _:
                answer = ctx.pause_for("code", "which code?", resume_to="self", expires_in=60)
        if self.ends == "raises behind an answer":
            raise ValueError("the line broke")
        return {"answer": answer}

    def agent(self, version: int = 1) -> Agent[str]:
        """Another version is another definition: what it is asked to go on with must be agreed to anew."""
        tool = Tool("wire", f"Wire, version {version}.", ARGUMENTS, self.body, effect="unsafe", undo=self.undo)
        model = ScriptedModel([call("wire", to="a")], [call("ask_human", question="more?")], "done")
        rule = deny("wire") if version == 3 else ask("wire", expires_in=600)
        return Agent("payer", model=model, tools=[tool, ask_human], policy=Policy([rule, allow("*")]))

    async def until(self, there: Env, kind: str, ask: str = "") -> Any:
        """Wait until a person is asked this."""
        async with asyncio.timeout(LIMIT):
            while True:
                for item in await there.runtime.inbox():
                    if item.kind == kind and (not ask or item.payload == ask or ask in str(item.payload)):
                        return item
                await asyncio.sleep(0.002)

    async def begin(self, there: Env) -> Run[Any]:
        run = await there.runtime.start(self.agent(), "go", run_id="r")
        await there.runtime.approve(await self.until(there, "approval"), by="ana")
        return run


async def _dismissed(world: World, there: Env, run: Run[Any]) -> None:
    await there.runtime.answer(await world.until(there, "question", "code?"), Decision.dismiss(), by="ana")


async def _abandoned(world: World, there: Env, run: Run[Any]) -> None:
    await world.until(there, "question", "code?")
    await run.say("forget it", abandon=True, by="ana")


async def _expired(world: World, there: Env, run: Run[Any]) -> None:
    await world.until(there, "question", "code?")
    await there.skip(61)


async def _answered(world: World, there: Env, run: Run[Any]) -> None:
    await there.runtime.answer(await world.until(there, "question", "code?"), "1234", by="ana")


async def _open(world: World, there: Env, run: Run[Any]) -> None:
    await world.until(there, "question", "code?")


async def _nothing(world: World, there: Env, run: Run[Any]) -> None:
    pass


async def _doubted(world: World, there: Env, run: Run[Any]) -> None:
    await world.until(there, "in_doubt")


async def _redenied(world: World, there: Env) -> None:
    await there.runtime.deny(await world.until(there, "approval"), by="ben")


async def _reinstead(world: World, there: Env) -> None:
    item = await world.until(there, "approval")
    await there.runtime.answer(item, Decision.instead("by hand"), by="ben", digest=item.call.digest)


async def _reexpired(world: World, there: Env) -> None:
    await world.until(there, "approval")
    await there.skip(601)


async def _refused(world: World, there: Env) -> None:
    pass


ENDS: dict[str, Callable[[World, Env, Run[Any]], Awaitable[None]]] = {
    "raises": _nothing,
    "fails": _nothing,
    "is cancelled from inside": _nothing,
    "gives what no journal holds": _nothing,
    "returns": _answered,
    "raises behind an answer": _answered,
    "is dismissed": _dismissed,
    "is abandoned": _abandoned,
    "expires": _expired,
    "asks with the answer as its result, and is dismissed": _dismissed,
    "waits still": _open,
    "is in doubt, and a person says not": _doubted,
    "is in doubt, and a person gives up": _doubted,
}
AGAIN: dict[str, tuple[int, Callable[[World, Env], Awaitable[None]]]] = {
    "is asked about anew, and denied": (2, _redenied),
    "is asked about anew, and done by hand": (2, _reinstead),
    "is asked about anew, and nobody decides": (2, _reexpired),
    "is forbidden meanwhile": (3, _refused),
}
"""What another version of the program does with a body that waits."""
MERELY_RAISED = {
    "raises", "fails", "is cancelled from inside", "raises behind an answer", "is dismissed", "is abandoned", "expires",
}  # fmt: skip
"""Without a note of what was done, an error says that nothing was."""
SAID_NOT, GAVE_UP = "is in doubt, and a person says not", "is in doubt, and a person gives up"
TELLS = MERELY_RAISED | set(AGAIN) - {"is asked about anew, and done by hand"}
"""Ends of which the model reads an error."""


@pytest.fixture(params=["memory", "sqlite"])
async def place(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[tuple[Store, FakeClock]]:
    clock = FakeClock()
    store: Store = MemoryStore(now=clock.now)
    if request.param == "sqlite":
        store = SQLiteStore(str(tmp_path / "runs.db"), now=clock.now)
    yield store, clock
    await store.close()


async def over(world: World, there: Env, run: Run[Any]) -> None:
    """Wait until the call has ended, if it ends before the cancel."""
    if world.ends not in ("waits still", SAID_NOT, GAVE_UP):
        await world.until(there, "question", "more?")


async def cancelled(world: World, there: Env, run: Run[Any]) -> Cancelled:
    if world.ends == GAVE_UP:
        await there.runtime.answer(await world.until(there, "in_doubt"), "cancel", by="ana")
    else:
        await run.cancel(by="ana")
    if world.ends == SAID_NOT and world.undo:
        async with asyncio.timeout(LIMIT):
            while not (items := [x for x in await there.runtime.inbox() if "not" in (x.choices or {})]):
                await asyncio.sleep(0.002)
        await there.runtime.answer(items[0], "not", by="ana")
    async with asyncio.timeout(LIMIT):
        while (await world.store.get("r")).status.value != "cancelled":
            await asyncio.sleep(0.002)
    outcome = await run.wait(LIMIT)
    assert isinstance(outcome, Cancelled)
    return outcome


def expected(world: World) -> tuple[bool, bool]:
    """Whether it is undone, and whether it stays."""
    if world.ends == SAID_NOT and world.undo is None:
        return False, True  # nobody is asked: it is in doubt
    nothing = world.noted == "nothing" and world.ends in MERELY_RAISED | {SAID_NOT}
    undone = not nothing and world.undo is not None and world.ends != SAID_NOT
    return undone, not nothing and not undone


async def check(world: World, there: Env, run: Run[Any]) -> None:
    """The law: what was begun and not undone is undone, or it is residue; and the preview said so."""
    await over(world, there, run)
    heard = str([getattr(message, "content", "") for message in await run.messages()])
    preview = await run.cancel_preview()
    outcome = await cancelled(world, there, run)
    undone, stays = expected(world)
    assert outcome.undone == (["1.0"] if undone else [])
    assert world.taken_back == ([{"to": "a"}] if undone else [])
    assert [x["call_id"] for x in outcome.residue] == (["1.0"] if stays else [])
    if preview.in_flight:
        assert world.ends in (SAID_NOT, GAVE_UP), "it depends on what a person will say"
    else:
        assert [x.call_id for x in preview.undo] == outcome.undone
        assert preview.residue == tuple(map(Residue.of, outcome.residue))
    assert len(world.sent) == (world.noted != "nothing")
    assert "nothing was recorded" not in heard
    if world.ends in TELLS:
        done = {"nothing": "", "a step": "send", "progress": "progress was saved"}[world.noted]
        assert ("It had begun, and this is done: " in heard) == bool(done)
        assert done in heard


def each(ends: Any) -> Callable[[Any], Any]:
    def marked(test: Any) -> Any:
        test = pytest.mark.parametrize("undo", [True, False], ids=["undo", "no undo"])(test)
        test = pytest.mark.parametrize("noted", NOTED)(test)
        return pytest.mark.parametrize("ends", list(ends))(test)

    return marked


@each(ENDS)
async def test_however_a_begun_call_ends_a_cancel_undoes_or_lists_what_it_did(
    place: tuple[Store, FakeClock], ends: str, noted: Noted, undo: bool
) -> None:
    world = World(*place, ends, noted, undo)
    async with env([world.agent()], store=world.store, clock=world.clock) as there:
        run = await world.begin(there)
        await ENDS[ends](world, there, run)
        await check(world, there, run)


@each(AGAIN)
async def test_however_another_version_ends_a_begun_call_a_cancel_undoes_or_lists_what_it_did(
    place: tuple[Store, FakeClock], ends: str, noted: Noted, undo: bool
) -> None:
    world = World(*place, ends, noted, undo)
    version, then = AGAIN[ends]
    async with env([world.agent()], store=world.store, clock=world.clock) as there:
        await world.begin(there)
        await world.until(there, "question", "code?")
    agent = world.agent(version)
    async with env([agent], store=world.store, clock=world.clock, on_change="warn") as there:
        await there.runtime.answer(await world.until(there, "question", "code?"), "1234", by="ana")
        await then(world, there)
        await check(world, there, await there.runtime.get("r"))
