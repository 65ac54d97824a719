"""A step that has failed is not executed again when its body runs again: it may have done its work."""

import asyncio
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from tests.bodies.cases import KINDS, Kind, program

from adjourn import InDoubt, RunFailed, Runtime, ToolContext, is_paused
from adjourn.bodies import step_failure
from adjourn.bodies.step_failure import failed_again, noted
from adjourn.core.records import Stepped
from adjourn.errors import Misused, NotJSON

pytestmark = pytest.mark.anyio


class CardRefused(Exception):
    """Has what a caller looks at."""

    def __init__(self, code: int, *, retry: bool) -> None:
        super().__init__(f"refused with {code}")
        self.code, self.retry, self.session = code, retry, object()


def times_out() -> None:
    raise TimeoutError("no answer from the bank")


def is_refused() -> None:
    raise CardRefused(51, retry=False)


def gives_an_object() -> Any:
    return object()


async def fails_later() -> None:
    await asyncio.sleep(0)
    raise ValueError("later")


WAYS: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (times_out, TimeoutError, "no answer from the bank"),
    (is_refused, CardRefused, "refused with 51"),
    (gives_an_object, NotJSON, "step 'charge'"),
    (fails_later, ValueError, "later"),
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("sync", [False, True])
@pytest.mark.parametrize(("fails", "error", "says"), WAYS, ids=[way[0].__name__ for way in WAYS])
async def test_a_step_that_failed_before_a_pause_fails_again_and_is_not_executed(
    kind: Kind, sync: bool, fails: Callable[[], Any], error: type[Exception], says: str
) -> None:
    charged: list[int] = []
    seen: list[str] = []

    def charge() -> Any:
        charged.append(1)
        return fails()

    async def body(ctx: ToolContext) -> str:
        for key in ("charge", "charge again"):
            try:
                await ctx.step(key, charge)
            except error as failed:
                seen.append(str(failed))
                if isinstance(failed, CardRefused):
                    assert (failed.code, failed.retry) == (51, False)
        return str(ctx.pause_for("question", "was it charged?", resume_to="self"))

    def body_in_thread(ctx: ToolContext) -> str:
        for key in ("charge", "charge again"):
            try:
                ctx.sync.step(key, charge)
            except error as failed:
                seen.append(str(failed))
        return str(ctx.pause_for("question", "was it charged?", resume_to="self"))

    one = program(kind, body_in_thread if sync else body, effect="unsafe")
    async with Runtime("memory://", [one]) as rt:
        run = await rt.start(one, "go")
        assert is_paused(await run.wait(60))
        for _ in range(2):  # two of everything
            [item] = await rt.inbox()
            await rt.answer(item, "yes", by="ann")
            if (await run.wait(60)).status == "completed":
                break
        assert (await run.wait(60)).status == "completed"
    assert len(charged) == 2
    assert len(seen) == 4 and all(says in one or "step 'charge again'" in one for one in seen)


@pytest.mark.parametrize("kind", KINDS)
async def test_a_step_that_failed_before_a_sleep_is_not_executed_again(kind: Kind) -> None:
    charged: list[int] = []

    def charge() -> None:
        charged.append(1)
        raise TimeoutError

    async def body(ctx: ToolContext) -> str:
        try:
            await ctx.step("charge", charge)
        except TimeoutError:
            await ctx.sleep(timedelta(milliseconds=1))
        return "done"

    one = program(kind, body, effect="unsafe")
    async with Runtime("memory://", [one]) as rt:
        assert (await (await rt.start(one, "go")).wait(60)).status == "completed"
    assert charged == [1]


@pytest.mark.parametrize("kind", KINDS)
async def test_a_body_that_fails_with_its_step_executes_it_again(kind: Kind) -> None:
    """`retries=` is for that: nothing is recorded of an attempt that has failed as a whole."""
    charged: list[int] = []

    def charge() -> str:
        charged.append(1)
        if len(charged) == 1:
            raise ConnectionError("down")
        return "ok"

    async def body(ctx: ToolContext) -> str:
        return await ctx.step("charge", charge)

    one = program(kind, body, effect="idempotent", retries=2, backoff=0.001)
    async with Runtime("memory://", [one]) as rt:
        run = await rt.start(one, "go", run_id="r")
        assert (await run.wait(60)).status == "completed"
        assert [r.key for _, r in await rt.store.load("r") if isinstance(r, Stepped)] == ["step:charge"]
    assert charged == [1, 1]


async def test_a_class_that_is_gone_stops_the_body_and_keeps_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    charged: list[int] = []

    def charge() -> None:
        charged.append(1)
        is_refused()

    async def body(ctx: ToolContext) -> str:
        try:
            await ctx.step("charge", charge)
        except Exception:
            return str(ctx.pause_for("question", "was it charged?", resume_to="self"))
        return "charged"

    one = program("tool", body, effect="unsafe")
    async with Runtime("memory://", [one]) as rt:
        run = await rt.start(one, "go")
        assert is_paused(await run.wait(60))
        monkeypatch.delitem(globals(), "CardRefused")
        [item] = await rt.inbox()
        await rt.answer(item, "yes", by="ann")
        with pytest.raises(RunFailed, match=r"which this program does not have.*restore it and resume"):
            await run.wait(60)
        monkeypatch.undo()
        await run.resume(by="ann")
        assert (await run.wait(60)).status == "completed"
    assert charged == [1]


@pytest.mark.parametrize("kind", KINDS)
async def test_another_type_of_question_stops_the_body_and_loses_no_answer(kind: Kind) -> None:
    """The model must not read it as a failed call: it would begin all of it again."""
    paid: list[int] = []
    asks = "confirm"

    async def body(ctx: ToolContext) -> str:
        await ctx.step("pay", lambda: paid.append(1))
        return str(ctx.pause_for(asks, 1, resume_to="self"))

    one = program(kind, body, effect="unsafe")
    async with Runtime("memory://", [one]) as rt:
        run = await rt.start(one, "go")
        assert is_paused(await run.wait(60))
        [item] = await rt.inbox()
        asks = "sign-off"
        await rt.answer(item, "yes, confirmed", by="ann")
        with pytest.raises(RunFailed, match="was asked 'confirm', but the body now asks 'sign-off'"):
            await run.wait(60)
        asks = "confirm"
        await run.resume(by="ann")
        assert (await run.wait(60)).status == "completed"
        assert await rt.inbox() == []
    assert paid == [1]


def test_what_is_noted_of_an_error_is_little_and_says_no_secret() -> None:
    assert noted(CardRefused(51, retry=True), (), quiet=False) == {
        "module": __name__, "name": "CardRefused", "args": ["refused with 51"], "has": {"code": 51, "retry": True},
    }  # fmt: skip
    assert noted(ValueError("x" * 10_000), (), quiet=False)["args"] == ["x" * step_failure.LONGEST]
    assert noted(ValueError(object()), (), quiet=False)["args"][0].startswith("<object")
    secret = "4111-2222"  # where a long text is cut
    cut = noted(ValueError("x" * (step_failure.LONGEST - 4) + secret), [secret], quiet=False)
    assert secret[:4] not in str(cut)
    hushed = noted(ValueError("card 4111 was refused"), ["4111"], quiet=False)
    assert "4111" not in str(hushed)
    assert noted(ValueError("secret"), (), quiet=True)["args"] == []


@pytest.mark.parametrize(
    "note",
    [
        {"module": "builtins", "name": "print", "args": []},
        {"module": "builtins", "name": "KeyboardInterrupt", "args": []},
        {"module": "nowhere", "name": "Lost", "args": []},
        {"module": "os", "name": "system", "args": ["true"]},
    ],
)
def test_nothing_but_an_exception_is_made_of_a_note(note: dict[str, Any]) -> None:
    with pytest.raises(Misused, match="does not have"):
        failed_again("charge", note)


class Picky(Exception):
    """Is made in one way only."""

    def __new__(cls, code: int, why: str) -> "Picky":  # pyright: ignore[reportInconsistentConstructor]
        return super().__new__(cls, code, why)


def test_a_group_of_errors_is_a_group_again() -> None:
    group = ExceptionGroup("two of them", [CardRefused(51, retry=False), ValueError(object())])
    again: Any = failed_again("k", noted(group, (), quiet=False))
    assert (type(again), again.message) == (ExceptionGroup, "two of them")
    assert [type(one) for one in again.exceptions] == [CardRefused, ValueError]


def test_an_error_that_cannot_be_made_again_is_refused_and_not_another_one() -> None:
    with pytest.raises(Misused, match="cannot recreate"):
        failed_again("k", noted(Picky(1, object()), (), quiet=False))  # pyright: ignore[reportArgumentType]


def test_an_error_is_made_without_its_own_code() -> None:
    again = failed_again("k", noted(InDoubt("perhaps"), (), quiet=False))
    assert isinstance(again, InDoubt) and "perhaps" in str(again)
