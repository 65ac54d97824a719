"""The bell of the loop: one timer that stays on between waits."""

import asyncio

import pytest

from adjourn.driver.clock import SystemClock, TimedEvent

pytestmark = pytest.mark.anyio


async def test_it_rings_when_the_time_is_over() -> None:
    async with asyncio.timeout(5):
        await SystemClock().wait(TimedEvent(), 0.001)


async def test_a_ring_ends_the_wait_and_the_timer_stays() -> None:
    bell = TimedEvent()
    bell.arm(60)
    timer = bell._timer
    asyncio.get_running_loop().call_soon(bell.set)
    await SystemClock().wait(bell, 90)
    assert bell._timer is timer


async def test_an_earlier_time_replaces_a_later_one() -> None:
    bell = TimedEvent()
    bell.arm(3600)
    async with asyncio.timeout(5):
        await SystemClock().wait(bell, 0.001)


async def test_a_timer_that_has_rung_is_made_anew() -> None:
    bell = TimedEvent()
    for _ in range(3):
        bell.clear()
        async with asyncio.timeout(5):
            await SystemClock().wait(bell, 0.001)


async def test_disarmed_it_leaves_nothing_behind() -> None:
    bell = TimedEvent()
    bell.arm(0.0)
    bell.disarm()
    await asyncio.sleep(0.01)
    assert not bell.is_set()
