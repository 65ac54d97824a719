"""How the demo ends: a file that runs as it is, and the commands that put it into a console."""

import shlex
import shutil
import sys
from pathlib import Path
from typing import NamedTuple

AGENT = '''\
from adjourn import Agent, Policy, ask, tool
from adjourn.testing import ScriptedModel, call


@tool(effect="unsafe")
def send(to: str, text: str) -> str:
    """Send a message."""
    return f"sent to {to}"


model = ScriptedModel([call("send", to="kari@example.no", text="Hello")], "Done.")
agent = Agent("mine", model=model, tools=[send], policy=Policy([ask("send")]))
'''
FILE, DATABASE = "agent.py", "mine.db"


class NowYours(NamedTuple):
    """A file, its name, and the commands, each with what then appears."""

    file: str
    text: str
    commands: tuple[tuple[str, str], ...]


def yours() -> NowYours:
    """The file and the commands, as they work in a shell on this machine."""
    program = _program()
    return NowYours(
        FILE,
        AGENT,
        (
            (
                f"{program} serve {FILE}:agent --db {DATABASE} --port 0",
                "It prints the address of its own console. This demo continues beside it until you stop it.",
            ),
            (
                f'{program} start {FILE}:agent "say hello to Kari" --db {DATABASE}',
                "In another terminal. It waits in that console's inbox: send to kari@example.no.",
            ),
        ),
    )


def _program() -> str:
    """`adjourn`, or where it is if a shell would not find this one."""
    beside = Path(sys.executable).parent / "adjourn"
    found = shutil.which("adjourn")
    if found and Path(found).resolve() == beside.resolve():
        return "adjourn"
    if beside.exists():
        return shlex.quote(str(beside))
    return f"{shlex.quote(sys.executable)} -m adjourn"
