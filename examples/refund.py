"""Pause in one process, resume in another: only a JSON text crosses.

    python examples/refund.py            plays both processes, one after the other

The model follows a script, so no API key is needed; with one, say `model="openai:gpt-5-mini"` instead.
"""

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from adjourn import Agent, is_paused, pause_for, tool
from adjourn.testing import ScriptedModel, call


@tool
async def ask_operator(question: str) -> dict[str, Any]:
    """Ask a human operator for approval."""
    pause_for("approval", {"question": question, "severity": "high"})  # never returns: the answer is the result


def make_agent() -> Agent:
    model = ScriptedModel(
        [call("ask_operator", question="Approve a refund of $500 for order 123?")],
        "Order 123 is refunded: $500.",
    )
    return Agent("refunds", model=model, instructions="You process refunds.", tools=[ask_operator])


def ask(file: Path) -> None:
    """Process A: runs until it needs a person, saves the checkpoint, and is done."""
    outcome = make_agent().run_sync("refund order 123")  # or `await make_agent().run(...)`
    assert is_paused(outcome)
    file.write_text(outcome.checkpoint.to_json(), "utf-8")  # or Redis, S3, Postgres
    print("waiting:", outcome.interrupts[0].payload)


def answer(file: Path) -> None:
    """Process B, another day: builds the agent anew and goes on where the other one stopped."""
    outcome = make_agent().resume_sync(file.read_text("utf-8"), {"approved": True, "amount": 500})
    print("done:", outcome.output)
    assert outcome.output == "Order 123 is refunded: $500."


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        saved = str(Path(folder) / "checkpoint.json")
        for step in ("ask", "answer"):
            subprocess.run([sys.executable, __file__, step, saved], check=True)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["ask", file]:
            ask(Path(file))
        case ["answer", file]:
            answer(Path(file))
        case _:
            main()
