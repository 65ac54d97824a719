"""Whoever awaits what a store's thread does goes on in the turn of the loop that hears of it, and gives up like anybody."""

import asyncio
import threading
from contextvars import ContextVar
from typing import Any

import pytest

from adjourn.stores.work_request import WorkRequest, settle

pytestmark = pytest.mark.anyio

who: ContextVar[str] = ContextVar("who", default="nobody")


def answer(*requests: WorkRequest) -> None:
    """As a store's thread does it."""
    thread = threading.Thread(target=settle, args=(list(requests),))
    thread.start()
    thread.join()


def asked(result: Any = None, error: BaseException | None = None) -> WorkRequest:
    request = WorkRequest(None, asyncio.get_running_loop())
    request.result, request.error = result, error
    return request


async def test_it_goes_on_in_the_turn_of_the_loop_in_which_the_answer_is_heard() -> None:
    request, order = asked(1), list[str]()

    async def wait() -> None:
        await request.future
        order.append("woken")

    task = asyncio.create_task(wait())
    await asyncio.sleep(0)
    answer(request)
    asyncio.get_running_loop().call_soon(order.append, "later in the same turn")
    await task
    assert order == ["woken", "later in the same turn"]


async def test_all_who_asked_together_hear_their_own_result_or_error() -> None:
    requests = [asked(0), asked(error=ValueError("no")), asked(2)]
    tasks = [asyncio.ensure_future(request.future) for request in requests]
    answer(*requests)
    found = await asyncio.gather(*tasks, return_exceptions=True)
    assert [found[0], str(found[1]), found[2]] == [0, "no", 2]


async def test_it_goes_on_in_its_own_context_as_its_own_task() -> None:
    request, found = asked(1), list[Any]()

    async def wait() -> None:
        who.set("me")
        await request.future
        found.extend((who.get(), asyncio.current_task()))

    task = asyncio.create_task(wait())
    await asyncio.sleep(0)
    answer(request)
    await task
    assert found == ["me", task] and who.get() == "nobody"


async def test_whoever_gives_up_is_cancelled_and_the_answer_disturbs_nobody() -> None:
    request = asked(1)
    task = asyncio.create_task(_awaits(request))
    await asyncio.sleep(0)
    task.cancel()
    answer(request)
    with pytest.raises(asyncio.CancelledError):
        await task
    assert request.future.cancelled()


async def test_several_may_wait_for_one_answer() -> None:
    request = asked("x")
    tasks = [asyncio.create_task(_awaits(request)) for _ in range(3)]
    shielded = asyncio.shield(request.future)
    await asyncio.sleep(0)
    answer(request)
    assert await asyncio.gather(*tasks, shielded) == ["x"] * 4
    assert await request.future == "x"  # also later


async def test_who_need_not_know_any_more_is_not_told() -> None:
    request, told = asked(1), list[Any]()
    request.future.add_done_callback(told.append)
    assert request.future.remove_done_callback(told.append) == 1
    done = await asyncio.wait([request.future], timeout=0)  # adds a callback, and takes it away
    answer(request)
    await request.future
    assert not done[0] and told == []


def test_a_task_that_ends_the_loop_keeps_no_other_from_its_answer() -> None:
    found: list[Any] = []

    async def ends(request: WorkRequest) -> None:
        await request.future
        raise KeyboardInterrupt

    async def goes_on(request: WorkRequest) -> None:
        found.append(await request.future)

    async def begin() -> None:
        await asyncio.sleep(0)

    loop = asyncio.new_event_loop()
    try:
        requests = [WorkRequest(None, loop), WorkRequest(None, loop)]
        requests[1].result = 2
        first, second = loop.create_task(ends(requests[0])), loop.create_task(goes_on(requests[1]))
        loop.run_until_complete(begin())
        answer(*requests)
        with pytest.raises(KeyboardInterrupt):
            loop.run_until_complete(second)
        loop.run_until_complete(asyncio.wait_for(second, 5))
        assert isinstance(first.exception(), KeyboardInterrupt)
    finally:
        loop.close()
    assert found == [2]


async def _awaits(request: WorkRequest) -> Any:
    return await request.future
