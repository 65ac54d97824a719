"""The contract of a guest as tests: subclass `GuestContract`, adopt an agent of your framework, run
pytest."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest

from adjourn.agent.agent import Agent
from adjourn.agent.hook import HookedCall, HookedResult, Veto, after_tool, before_tool
from adjourn.core.codec import encode
from adjourn.core.messages import ModelRequest, Reply, TextDelta, UserMessage
from adjourn.core.policy import Policy
from adjourn.core.policy_rule import ask
from adjourn.core.records import Asked, Parked, Replied
from adjourn.driver.live_feed import TextArrived
from adjourn.driver.watch import Recorded
from adjourn.errors import AlreadyDecided
from adjourn.runtime.outcome import Completed, is_paused
from adjourn.runtime.run import Run
from adjourn.runtime.runtime import Runtime
from adjourn.stores.memory.store import MemoryStore
from adjourn.stores.protocol import Store
from adjourn.testing.contract.fixtures import how_many, recorded, tried_at_once
from adjourn.testing.crash_points import crash_points
from adjourn.testing.env import Env, env
from adjourn.testing.guest_script import GuestScript, GuestShop, blocks, hand_to
from adjourn.testing.scripted import ScriptedModel, call, streamed

ASKED = Policy([ask("refund")], default="allow")
READS = {"look_up": "read"}
"""The terms on which the contract adopts the agents of its shop."""


class GuestContract:
    """Every promise of an adopted agent, one test each.

    ```python
    class TestMyGuest(GuestContract):
        def guest(self, script, tools, **terms):
            agent = TheirAgent(model=a_model_that_says(script), tools=tools)
            return Agent(
                "guest",
                model=MyGuest(agent),
                tools=...,
                policy=terms.get("policy"),
                hooks=terms.get("hooks", ()),
            )
    ```

    Such a model counts the replies in the history that it is sent, and awaits
    `script.reply(count, texts)`. A guest made anew must do in all tests what the first one would
    do: it is what another process has. Needs pytest and anyio's plugin.
    """

    pytestmark = pytest.mark.anyio
    streams = True
    """Whether text reaches watchers piece by piece."""

    def guest(
        self, script: GuestScript, tools: Sequence[Callable[..., Any]], **terms: Any
    ) -> Agent[Any]:
        """A new agent of the framework, adopted.

        Args:
            script: what its model says.
            tools: async functions with docstrings, to be its tools.
            terms: for `adopt`: `policy`, `effects`, `undo`, `hooks`.
        """
        raise NotImplementedError(
            "override guest: an agent of your framework with this script and these tools, adopted"
        )

    def marked_guest(
        self, script: GuestScript, tool: Callable[..., Any], **terms: Any
    ) -> Agent[Any]:
        """The same, with one tool that the framework itself marks: a person must agree to it."""
        pytest.skip("the framework has no marks of its own")

    def handing_guest(
        self,
        script: GuestScript,
        tools: Sequence[Callable[..., Any]],
        other: Sequence[Callable[..., Any]],
        **terms: Any,
    ) -> Agent[Any]:
        """The same, with `tools`, and with an agent `"clerk"` beside it that has the `other` tools
        and can be handed to."""
        pytest.skip("the framework has no handoffs")

    @pytest.fixture
    def anyio_backend(self) -> str:
        return "asyncio"

    @pytest.fixture
    def shop(self) -> GuestShop:
        return GuestShop()

    def _guest(self, shop: GuestShop, script: GuestScript, **terms: Any) -> Agent[Any]:
        given = {"policy": ASKED, "effects": READS, "undo": {"refund": shop.undo_refund}, **terms}
        return self.guest(script, [shop.look_up, shop.refund], **given)

    # Gate

    async def test_ungated_calls_run_at_once_while_a_gated_one_waits_for_a_person(
        self, shop: GuestShop
    ) -> None:
        script = GuestScript(
            [
                call("look_up", order="A1"),
                call("refund", order="A1", cents=500),
                call("look_up", order="B2"),
            ],
            "done",
        )
        async with in_memory(self._guest(shop, script)) as rt:
            run = await begin(rt, "refund A1")
            [waiting] = await rt.inbox()
            assert waiting.call is not None
            assert waiting.call.arguments == {"order": "A1", "cents": 500}
            assert sorted(shop.looked_up) == ["A1", "B2"] and not shop.refunds
            await rt.approve(waiting, by="ana")
            assert await output(run) == "done"
        assert shop.refunds == [("A1", 500)]
        results = [text for text in script.heard if "paid" in text or "refunded" in text]
        assert [("A1" in text, "refunded" in text) for text in results] == [
            (True, False),
            (True, True),
            (False, False),
        ]

    async def test_of_five_approvals_of_one_call_one_wins_and_it_runs_once(
        self, shop: GuestShop
    ) -> None:
        script = GuestScript([call("refund", order="A1", cents=500)], "done")
        async with in_memory(self._guest(shop, script)) as rt:
            run = await begin(rt, "refund A1")
            [waiting] = await rt.inbox()
            decided = await tried_at_once(
                5, lambda number: rt.approve(waiting, by=f"person {number}")
            )
            assert how_many(decided, AlreadyDecided) == 4, decided
            assert await output(run) == "done"
        assert shop.refunds == [("A1", 500)]

    async def test_a_denial_is_read_by_the_model_with_its_note(self, shop: GuestShop) -> None:
        script = GuestScript([call("refund", order="A1", cents=500)], "then not")
        async with in_memory(self._guest(shop, script)) as rt:
            run = await begin(rt, "refund A1")
            [waiting] = await rt.inbox()
            await rt.deny(waiting, by="ana", note="it was paid back in May")
            assert await output(run) == "then not"
        assert not shop.refunds
        assert has_heard(script, "paid back in May")

    async def test_edited_arguments_are_those_that_run_and_the_model_reads_that(
        self, shop: GuestShop
    ) -> None:
        script = GuestScript([call("refund", order="A1", cents=500)], "done")
        async with in_memory(self._guest(shop, script)) as rt:
            run = await begin(rt, "refund A1")
            [waiting] = await rt.inbox()
            await rt.approve(waiting, by="ana", edit={"order": "A1", "cents": 200})
            assert await output(run) == "done"
        assert shop.refunds == [("A1", 200)]
        assert has_heard(script, "ran_with_edited_arguments", "200")

    async def test_the_frameworks_own_mark_asks_a_person(self, shop: GuestShop) -> None:
        script = GuestScript([call("refund", order="A1", cents=500)], "done")
        async with in_memory(self.marked_guest(script, shop.refund)) as rt:
            run = await begin(rt, "refund A1")
            [waiting] = await rt.inbox()
            assert waiting.call is not None and waiting.call.tool == "refund"
            assert not shop.refunds
            await rt.approve(waiting, by="ana")
            assert await output(run) == "done"
        assert shop.refunds == [("A1", 500)]

    async def test_two_people_must_agree_where_the_policy_says_so(self, shop: GuestShop) -> None:
        script = GuestScript([call("refund", order="A1", cents=500)], "done")
        both = Policy([ask("refund", approvers=2)], default="allow")
        async with in_memory(self._guest(shop, script, policy=both)) as rt:
            run = await begin(rt, "refund A1")
            [waiting] = await rt.inbox()
            await rt.approve(waiting, by="ana")
            with pytest.raises(AlreadyDecided):
                await rt.approve(waiting, by="ana")
            [still] = await rt.inbox()
            assert still.id == waiting.id and not shop.refunds
            await rt.approve(waiting, by="ben")
            assert await output(run) == "done"
        assert shop.refunds == [("A1", 500)]

    async def test_hooks_stand_before_and_after_its_tools(self, shop: GuestShop) -> None:
        def small(hooked: HookedCall) -> Veto | None:
            if hooked.arguments["cents"] > 100:
                return Veto("more than this shop has")
            return None

        def without_order(hooked: HookedCall, result: HookedResult) -> HookedResult:
            return result.replace("hidden")

        hooks = [before_tool(small, tools="refund"), after_tool(without_order, tools="look_up")]
        script = GuestScript(
            [
                call("refund", order="A1", cents=500),
                call("refund", order="A1", cents=5),
                call("look_up", order="A1"),
            ],
            "done",
        )
        store = MemoryStore()
        async with in_memory(self._guest(shop, script, policy=None, hooks=hooks), store) as rt:
            run = await begin(rt, "refund A1")
            assert await output(run) == "done"
            journal = [str(record) for _, record in await store.load(run.run_id)]
        assert shop.refunds == [("A1", 5)] and shop.looked_up == ["A1"]
        assert has_heard(script, "more than this shop has") and has_heard(script, "hidden")
        assert not has_heard(script, "is paid") and "is paid" not in "".join(journal)

    # Errors and retries

    async def test_a_tool_that_fails_is_an_error_that_the_model_reads(
        self, shop: GuestShop
    ) -> None:
        script = GuestScript([call("refund", order="unknown", cents=5)], "sorry")
        async with in_memory(self._guest(shop, script, policy=None)) as rt:
            run = await begin(rt, "refund it")
            assert await output(run) == "sorry"
            [result] = [
                message
                for message in await run.messages()
                if type(message).__name__ == "ToolResult"
            ]
        assert getattr(result, "error", False)
        assert has_heard(script, "order not found")

    async def test_the_same_request_twice_gives_the_same_calls_and_runs_nothing(
        self, shop: GuestShop
    ) -> None:
        script = GuestScript([call("refund", order="A1", cents=500)], "done")
        model = self._guest(shop, script).model
        request = ModelRequest((UserMessage("refund A1"),), run="r", path="")
        first, second = await reply_of(model, request), await reply_of(model, request)
        for one, other in zip(first.calls, second.calls, strict=True):
            assert (one.id, one.tool, one.args) == (other.id, other.tool, other.args)
        assert first.calls and not shop.refunds

    async def test_a_request_that_fails_on_the_way_is_made_again_and_no_call_twice(
        self, shop: GuestShop
    ) -> None:
        script = GuestScript(
            [call("refund", order="A1", cents=500)],
            "done",
            failures=[ConnectionError("the line is down")],
        )
        async with env([self._guest(shop, script, policy=None)]) as at:
            run = await at.runtime.start(the_agent(at.runtime), "refund A1")
            await until_ended(at, run)
            assert await output(run) == "done"
        assert shop.refunds == [("A1", 500)]

    # Another process

    async def test_another_process_finishes_what_one_began(self, shop: GuestShop) -> None:
        script = GuestScript(
            [call("look_up", order="A1")], [call("refund", order="A1", cents=500)], "done"
        )
        store = MemoryStore()
        async with in_memory(self._guest(shop, script), store) as rt:
            run = await begin(rt, "refund A1")
        async with in_memory(self._guest(shop, script), store) as rt:
            [waiting] = await rt.inbox()
            await rt.approve(waiting, by="ana")
            assert await output(await rt.get(run.run_id)) == "done"
        assert shop.refunds == [("A1", 500)] and shop.looked_up == ["A1"]
        assert has_heard(script, "A1 is paid") and has_heard(script, "refunded")

    async def test_a_guest_that_has_just_spoken_sends_what_a_new_one_would_send(
        self, shop: GuestShop
    ) -> None:
        refunds = [[call("refund", order=f"A{cents}", cents=cents)] for cents in range(3)]
        sent: list[list[tuple[int, tuple[str, ...]]]] = []
        for anew in (False, True):
            script, store = GuestScript(*refunds, "done"), MemoryStore()
            async with in_memory(self._guest(shop, script), store) as rt:
                run_id = (await begin(rt, "refund them")).run_id
            agent = self._guest(shop, script)
            for _ in range(3):
                if anew:
                    agent = self._guest(shop, script)
                async with in_memory(agent, store) as rt:
                    [waiting] = await rt.inbox()
                    await rt.approve(waiting, by="ana")
                    await (await rt.get(run_id)).wait()
            sent.append(script.requests)
        assert sent[0] == sent[1] and len(sent[0]) == 4

    async def test_a_worker_may_die_at_any_write_and_no_refund_is_lost_or_made_twice(self) -> None:
        points = 0
        for point in crash_points():
            shop = GuestShop()
            script = GuestScript(
                [call("refund", order="A1", cents=1), call("refund", order="B2", cents=2)],
                [call("look_up", order="A1")],
                "done",
            )

            def answer(interrupt: Any, shop: GuestShop = shop) -> Any:
                if interrupt.kind != "in_doubt":
                    return True
                happened = (
                    interrupt.call.arguments["order"],
                    interrupt.call.arguments["cents"],
                ) in shop.refunds
                if happened:
                    return {"choice": "happened", "result": "refunded"}
                return "run"

            outcome = await point.run(self._guest(shop, script), "refund both", answer=answer)
            assert isinstance(outcome, Completed) and outcome.output == "done", point
            assert sorted(shop.refunds) == [("A1", 1), ("B2", 2)], point
            points += 1
        assert points > 10

    # Stop

    async def test_a_pause_cuts_a_thought_and_it_is_thought_again(self, shop: GuestShop) -> None:
        script = GuestScript([call("look_up", order="A1")], blocks("done"))
        async with in_memory(self._guest(shop, script)) as rt:
            run = await rt.start(the_agent(rt), "look it up")
            await asyncio.wait_for(script.thinking.wait(), 30)
            await run.pause(by="ana", now=True)
            await run.wait()
            assert await run.status() == "paused"
            await asyncio.wait_for(script.cut_off.wait(), 30)
            await run.resume(by="ana")
            assert await output(run) == "done"
        assert shop.looked_up == ["A1"]

    async def test_a_cancel_in_the_middle_of_a_thought_takes_back_what_was_done(
        self, shop: GuestShop
    ) -> None:
        script = GuestScript([call("refund", order="A1", cents=500)], blocks("done"))
        async with in_memory(self._guest(shop, script, policy=None)) as rt:
            run = await rt.start(the_agent(rt), "refund A1")
            await asyncio.wait_for(script.thinking.wait(), 30)
            await run.cancel(by="ana", reason="enough")
            await run.wait()
            assert await run.status() == "cancelled"
            await asyncio.wait_for(script.cut_off.wait(), 30)
        assert shop.refunds == [("A1", 500)] and shop.undone == [("A1", 500)]

    async def test_a_halt_holds_its_calls_until_it_is_lifted(self, shop: GuestShop) -> None:
        script = GuestScript([call("refund", order="A1", cents=500)], "done")
        async with in_memory(self._guest(shop, script, policy=None)) as rt:
            await rt.halt("tool:refund", by="ben", reason="the bank is closed")
            run = await rt.start(the_agent(rt), "refund A1")
            async for event in run.watch():
                if isinstance(event, Recorded) and isinstance(event.record, Parked):
                    assert event.record.blocked == ("tool:refund",) and not shop.refunds
                    break
            await rt.unhalt("tool:refund", by="ben")
            assert await output(run) == "done"
        assert shop.refunds == [("A1", 500)]

    async def test_a_fork_repeats_no_call_and_asks_again_about_what_was_approved(
        self, shop: GuestShop
    ) -> None:
        script = GuestScript(
            [call("look_up", order="A1")], [call("refund", order="A1", cents=500)], "done"
        )
        store = MemoryStore()
        async with in_memory(self._guest(shop, script), store) as rt:
            run = await begin(rt, "refund A1")
            [waiting] = await rt.inbox()
            await rt.approve(waiting, by="ana")
            assert await output(run) == "done"
        async with in_memory(self._guest(shop, script), store) as rt:
            first = await rt.get(run.run_id)
            [asked] = [
                seq for seq, record in await store.load(run.run_id) if isinstance(record, Asked)
            ]
            fork = await first.fork(asked, by="ana")
            await fork.wait()
            assert shop.refunds == [("A1", 500)]
            [waiting] = await rt.inbox()
            await rt.approve(waiting, by="ana", edit={"order": "A1", "cents": 7})
            assert await output(fork) == "done" and await output(first) == "done"
        assert shop.looked_up == ["A1"] and shop.refunds == [("A1", 500), ("A1", 7)]

    async def test_a_message_that_breaks_in_is_read(self, shop: GuestShop) -> None:
        script = GuestScript([call("refund", order="A1", cents=500)], "understood")
        async with in_memory(self._guest(shop, script)) as rt:
            run = await begin(rt, "refund A1")
            await run.say("only half of it", by="ana")
            [waiting] = await rt.inbox()
            await rt.deny(waiting, by="ana", note="half of it")
            assert await output(run) == "understood"
        assert has_heard(script, "only half of it")

    # Stream, turns, nesting, handoff

    async def test_words_reach_watchers_as_they_come(self, shop: GuestShop) -> None:
        script = GuestScript(streamed("one ", "two ", "three"))
        pieces: list[str] = []
        async with in_memory(self._guest(shop, script)) as rt:
            run = await rt.start(the_agent(rt), "count")
            async for event in run.watch():
                if isinstance(event, TextArrived):
                    pieces.append(event.text)
            assert await output(run) == "one two three"
        if self.streams:
            assert "".join(pieces) == "one two three" and len(pieces) > 1

    async def test_the_next_turn_of_a_conversation_knows_the_one_before(
        self, shop: GuestShop
    ) -> None:
        script = GuestScript([call("look_up", order="A1")], "it is paid", "you asked about A1")
        first = await self._guest(shop, script).run("what of A1?")
        assert isinstance(first, Completed)
        again = await self._guest(shop, script).run("what did I ask?", after=first.checkpoint)
        assert isinstance(again, Completed) and again.output == "you asked about A1"
        assert has_heard(script, "what of A1?") and has_heard(script, "A1 is paid")
        assert script.heard[-1] == "what did I ask?"

    async def test_it_can_be_a_tool_of_another_agent(self, shop: GuestShop) -> None:
        script = GuestScript([call("refund", order="A1", cents=500)], "paid back")
        guest = self._guest(shop, script)
        above = Agent(
            "above",
            model=ScriptedModel([call(guest.name, input="refund A1")], "all is well"),
            tools=[guest.as_tool()],
        )
        async with in_memory(above) as rt:
            run = await begin(rt, "help")
            [waiting] = await rt.inbox()
            assert waiting.path
            await rt.approve(waiting, by="ana")
            assert await output(run) == "all is well"
        assert shop.refunds == [("A1", 500)]

    async def test_a_handoff_stays_with_whom_it_was_handed_to_also_in_another_process(
        self, shop: GuestShop
    ) -> None:
        script = GuestScript(
            [call("look_up", order="A1")],
            hand_to("clerk"),
            [call("refund", order="A1", cents=500)],
            [call("refund", order="A1", cents=7)],
            "done",
        )
        terms: dict[str, Any] = {"policy": ASKED, "effects": READS}
        store = MemoryStore()
        async with in_memory(
            self.handing_guest(script, [shop.look_up], [shop.refund], **terms), store
        ) as rt:
            run_id = (await begin(rt, "refund A1")).run_id
            [waiting] = await rt.inbox()
            assert waiting.call is not None and waiting.call.tool == "refund"
        for cents in (500, 7):
            agent = self.handing_guest(script, [shop.look_up], [shop.refund], **terms)
            async with in_memory(agent, store) as rt:
                [waiting] = await rt.inbox()
                await rt.approve(waiting, by="ana")
                outcome = await (await rt.get(run_id)).wait()
            assert shop.refunds[-1] == ("A1", cents)
        assert isinstance(outcome, Completed) and outcome.output == "done"

    # Size

    async def test_a_turn_costs_what_it_adds(self, shop: GuestShop) -> None:
        turns = 24
        script = GuestScript(*([call("look_up", order=f"A{n:03}")] for n in range(turns)), "done")
        store = MemoryStore()
        async with in_memory(self._guest(shop, script), store) as rt:
            run = await begin(rt, "look them up")
            assert await output(run) == "done"
        sizes = [len(encode(reply)) for reply in await recorded(store, Replied, run.run_id)]
        assert len(sizes) == turns + 1
        assert max(sizes[-6:-1]) <= max(sizes[1:6]) + 64


@asynccontextmanager
async def in_memory(agent: Agent[Any], store: Store | None = None) -> AsyncGenerator[Runtime]:
    """A runtime with this agent, as one process has it."""
    async with Runtime(store or MemoryStore(), [agent]) as rt:
        yield rt


def the_agent(rt: Runtime) -> Agent[Any]:
    """The one agent of a runtime."""
    [program] = rt.programs.values()
    assert isinstance(program, Agent)
    return program


async def begin(rt: Runtime, input: str) -> Run[Any]:
    """A run, once it waits or has ended."""
    run = await rt.start(the_agent(rt), input)
    await run.wait()
    return run


async def output(run: Run[Any]) -> Any:
    """The output of a run that completes."""
    outcome = await run.wait()
    assert not is_paused(outcome), outcome
    assert isinstance(outcome, Completed), outcome
    return outcome.output


def has_heard(script: GuestScript, *parts: str) -> bool:
    """Whether the model was sent a message in which all of these stand."""
    return any(all(part in text for part in parts) for text in script.heard)


async def reply_of(model: Any, request: ModelRequest) -> Reply:
    """The reply to one request."""
    async for item in model.request(request):
        if isinstance(item, Reply):
            return item
        assert isinstance(item, TextDelta) or item.text is not None
    raise AssertionError("the model ended without a reply")


async def until_ended(at: Env, run: Run[Any]) -> None:
    """Let time pass until a run has ended or waits for a person."""
    for _ in range(50):
        if await run.status() in ("completed", "failed", "waiting", "cancelled"):
            return
        await at.skip(5)
