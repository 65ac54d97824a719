"""Kills real processes in which guests run, at every transaction and inside a tool, and has others recover.

`python -m tests.guests.crash_rig FRAMEWORK…` prints a report as JSON; see `tests.crash.rig`, whose lives these are.
"""

# pyright: reportUnknownVariableType=false
# (LangChain's own types are unknown in part)

import gc
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

from agents import Agent as OpenAIAgent
from agents import function_tool, set_tracing_disabled
from langchain.agents import create_agent
from pydantic_ai import Agent as PydanticAgent
from tests.crash.ground import FOLDERS
from tests.crash.rig import Campaign, Failed, life
from tests.crash.scenarios import READ, UNSAFE, Scenario, World
from tests.guests import test_agent_framework, test_langgraph, test_openai_agents, test_pydantic_ai_guest

from adjourn import Agent, Policy, ask
from adjourn.driver import worker_mark
from adjourn.guests import adopt
from adjourn.guests.langgraph import AdjournSaver
from adjourn.stores.protocol import Store
from adjourn.testing import GuestScript, call

DIES = Path("dies")


async def pay(x: str) -> str:
    """Pay for something, once."""
    happen(UNSAFE)
    return f"pay {x}"


async def pay_now(x: str) -> str:
    """Pay for something, once, and nobody is asked."""
    happen(UNSAFE)
    return f"pay_now {x}"


async def look(x: str) -> str:
    """Look something up."""
    happen(READ)
    return f"look {x}"


def happen(effect: str) -> None:
    """Write down that the tool which runs now did something; and die, if this folder says so."""
    context: Any = worker_mark.body.get()
    world: World = context.resources["world"]
    world.happen(effect, context.call_id)
    if effect == UNSAFE and (world.path.parent / DIES).exists():
        os.kill(os.getpid(), signal.SIGKILL)


TOOLS = [pay, pay_now, look]


def script() -> GuestScript:
    return GuestScript(
        [call("pay", x="a"), call("look", x="b"), call("pay", x="c")],
        [call("look", x="d"), call("pay_now", x="e")],
        "done",
    )


def pydantic_ai() -> Any:
    return PydanticAgent(test_pydantic_ai_guest.says(script()), name="guest", tools=TOOLS)


def openai_agents() -> Any:
    set_tracing_disabled(True)
    return OpenAIAgent("guest", model=test_openai_agents.Says(script()), tools=[function_tool(tool) for tool in TOOLS])


def langgraph() -> Any:
    return create_agent(test_langgraph.Says(script=script()), TOOLS, name="guest")


def agent_framework() -> Any:
    return test_agent_framework.TheirAgent(client=test_agent_framework.Says(script()), name="guest", tools=TOOLS)


def langgraph_saver(store: Store) -> Any:
    return create_agent(test_langgraph.Says(script=script()), TOOLS, name="guest", checkpointer=AdjournSaver(store))


FRAMEWORKS = {make.__name__: make for make in (pydantic_ai, openai_agents, langgraph, agent_framework)}
KEEPING = {make.__name__: make for make in (langgraph_saver,)}
"""Those that keep their state in the store of the runs."""


class GuestScenario(Scenario):
    """A scenario whose agent is a guest."""

    def agent_on(self, store: Store) -> Agent:
        policy = Policy([ask("pay")], default="allow")
        agent = KEEPING[self.name](store) if self.name in KEEPING else FRAMEWORKS[self.name]()
        return adopt(agent, policy=policy, effects={"look": "read"})


def killed_inside_a_tool(campaign: Campaign) -> None:
    """The process dies in the tool, right after the payment: the call is in doubt, and a person says that it happened."""
    with FOLDERS.place() as folder:
        (folder / DIES).touch()
        if life(folder, campaign.scenario):
            raise Failed("it should have died")
        campaign.report.add("killed")
        (folder / DIES).unlink()
        campaign.recovers(folder, "a death inside a tool")


def main() -> None:
    gc.collect()
    gc.freeze()
    reports: dict[str, Any] = {}
    for name in sys.argv[1:]:
        campaign = Campaign(GuestScenario(name, ()))
        killed_inside_a_tool(campaign)
        campaign.commits()
        reports[name] = campaign.report.json()
    json.dump(reports, sys.stdout)


if __name__ == "__main__":
    main()
