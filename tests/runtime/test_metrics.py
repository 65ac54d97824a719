"""The numbers of a store, as Prometheus reads them."""

import re

from tests.runtime.conftest import on_both

from adjourn import Agent, Policy, Runtime, ask, tool
from adjourn.runtime.announcer import EVERY
from adjourn.runtime.health_server import numbers
from adjourn.runtime.metrics import metrics_of
from adjourn.stores.fleet import WorkerCard
from adjourn.testing import ScriptedModel, call

SECONDS = 30.0
LINE = re.compile(r'([a-z_]+)(?:\{([a-z_]+)="((?:[^"\\\n]|\\.)*)"\})? (\S+)')


def parsed(text: str) -> dict[tuple[str, str], float]:
    """Each sample by its name and the value of its label; every line is one, or a comment on one."""
    found: dict[tuple[str, str], float] = {}
    typed: set[str] = set()
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            typed.add(line.split()[2])
        if line.startswith("#"):
            continue
        match = LINE.fullmatch(line)
        assert match is not None, line
        assert match[1] in typed, line
        found[match[1], match[3] or ""] = float(match[4])
    return found


def asker(name: str = "asker") -> Agent[str]:
    @tool
    def pay() -> str:
        """Pay."""
        return "paid"

    return Agent(name, model=ScriptedModel([call("pay")], "done"), tools=[pay], policy=Policy([ask("pay")]))


@on_both
async def test_what_waits_who_works_and_what_is_halted_are_numbers(address: str) -> None:
    agent, odd = asker(), asker('od"d\\')
    async with Runtime(address, [agent]) as rt:
        run = await rt.start(agent, "x")
        await run.wait(SECONDS)
        await rt.halt("tool:pay", reason="a test", by="ana")
        await rt.store.roster(WorkerCard("w1", slots=4, running=1, draining=True, every=EVERY))
        async with Runtime(address, work=False) as desk:
            await desk.start(odd, "y")
        found = parsed(await metrics_of(rt.store))
        assert (await numbers(rt)()).status == 200
    assert found["adjourn_interrupts_open", "approval"] == 1
    assert found["adjourn_interrupt_oldest_seconds", "approval"] >= 0
    assert found["adjourn_halts", ""] == 1
    assert found["adjourn_workers", "draining"] == 1
    assert (found["adjourn_worker_slots", ""], found["adjourn_worker_slots_used", ""]) == (4, 1)
    assert found["adjourn_runs_ready", r"od\"d\\"] == 1
    assert found["adjourn_ready_oldest_seconds", r"od\"d\\"] >= 0
    assert found["adjourn_runs_unfit", r"od\"d\\"] == 1
    assert (found["adjourn_outbox_letters", "due"], found["adjourn_outbox_letters", "dead"]) == (0, 0)


async def test_a_process_whose_store_is_not_open_has_no_numbers() -> None:
    assert (await numbers(Runtime("memory://"))()).status == 503
