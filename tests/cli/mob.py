"""One agent that says, asks for and gets back every hostile string, turn by turn."""

import runpy
from pathlib import Path

from adjourn import Agent, MaxSteps, tool
from adjourn.testing import ScriptedModel, call

TEXTS: list[str] = list(runpy.run_path(str(Path(__file__).parents[1] / "hostile.py"))["STRINGS"].values())


@tool(effect="read")
def echo(text: str) -> dict[str, str]:
    """Give it back."""
    return {text: text}


mob = Agent(
    "mob",
    model=ScriptedModel(*([text, call("echo", text=text)] for text in TEXTS), "".join(TEXTS)),
    tools=[echo],
    stop=MaxSteps(1000),
)
