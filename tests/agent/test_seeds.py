"""The seeds' examples as a user writes them: one module, two processes, and only a JSON file between them."""

import json
import subprocess
import sys
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

REFUNDS = """
    from adjourn import Agent, pause_for, tool
    from adjourn.testing import ScriptedModel, call

    @tool
    async def ask_operator(question: str) -> dict:
        '''Ask a human operator for approval.'''
        print("asking", question)
        pause_for("approval", {"question": question, "severity": "high"})

    def make_agent() -> Agent:
        model = ScriptedModel(
            [call("ask_operator", question="approve $500 refund?")],
            lambda messages: f"The operator said {messages[-1].content}.",
        )
        return Agent("refunds", model=model, instructions="You process refunds.", tools=[ask_operator])
"""

REFUNDS_A = """
    import asyncio, pathlib
    from adjourn import is_paused
    from refunds import make_agent

    async def main():
        outcome = await make_agent().run("refund order 123")
        assert is_paused(outcome)
        assert outcome.status == "waiting"
        pathlib.Path("saved.json").write_text(outcome.checkpoint.to_json())
        print(outcome.interrupts[0].payload)

    asyncio.run(main())
"""

REFUNDS_B = """
    import asyncio, json, pathlib
    from refunds import make_agent

    async def main():
        checkpoint = json.loads(pathlib.Path("saved.json").read_text())
        outcome = await make_agent().resume(checkpoint, {"approved": True, "amount": 500})
        print(outcome.output)

    asyncio.run(main())
"""

DRAFTS = """
    import pathlib
    from adjourn import Agent, Policy, ask, tool
    from adjourn.testing import ScriptedModel, call

    @tool(name="kaos-source-delete")
    def delete(path: str, versions: list[int], force: bool = False) -> str:
        '''Delete a file.'''
        with open("ledger.txt", "a") as ledger:
            print(repr((path, versions, force)), file=ledger)
        return f"deleted {path}"

    def make_agent() -> Agent:
        model = ScriptedModel(
            [call("kaos-source-delete", path="/matter/acme/draft.docx", versions=[1, 2])],
            lambda messages: f"I read: {messages[-1].content}",
        )
        policy = Policy([ask("kaos-source-*", reason="destructive: deletes a file")], default="allow")
        return Agent("drafts", model=model, tools=[delete], policy=policy)
"""

DRAFTS_A = """
    from adjourn import is_paused
    from drafts import make_agent

    outcome = make_agent().run_sync("Clean up the old drafts.")
    assert is_paused(outcome)
    with open("saved.json", "w") as file:
        file.write(outcome.checkpoint.to_json())
"""

# The reviewer has neither the agent nor its module: the JSON says everything.
DRAFTS_REVIEW = """
    from adjourn import Checkpoint

    with open("saved.json") as file:
        checkpoint = Checkpoint.from_json(file.read())
    [interrupt] = checkpoint.interrupts
    pending = interrupt.call
    assert interrupt.kind == "approval" and pending is not None
    assert pending.tool == "kaos-source-delete"
    assert pending.arguments == {"path": "/matter/acme/draft.docx", "versions": [1, 2], "force": False}
    assert pending.reason == "destructive: deletes a file"
    assert pending.rule == "ask kaos-source-*"
    assert len(pending.digest) == 64
    assert checkpoint.input == "Clean up the old drafts."
    assert checkpoint.run_id == interrupt.run_id
    print(f"awaiting approval: tool={pending.tool!r} arguments={pending.arguments!r} reason={pending.reason!r}")
"""

DRAFTS_B = """
    import sys
    from drafts import make_agent

    with open("saved.json") as file:
        outcome = make_agent().resume_sync(file.read(), approved=sys.argv[1] == "yes", by="ada")
    print(outcome.output)
"""


def script(folder: Path, **files: str) -> None:
    for name, text in files.items():
        (folder / f"{name}.py").write_text(dedent(text), "utf-8")


def run(folder: Path, name: str, *args: str) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", f"{name}.py", *args],
        cwd=folder, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_ask_operator_pauses_in_one_process_and_goes_on_in_another(tmp_path: Path) -> None:
    script(tmp_path, refunds=REFUNDS, a=REFUNDS_A, b=REFUNDS_B)
    assert run(tmp_path, "a").splitlines() == [
        "asking approve $500 refund?",
        "{'question': 'approve $500 refund?', 'severity': 'high'}",
    ]
    assert run(tmp_path, "b").splitlines() == ["The operator said {'approved': True, 'amount': 500}."]


def plain_json(value: Any) -> bool:
    if isinstance(value, dict):
        return all(isinstance(k, str) and plain_json(v) for k, v in value.items())  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, list):
        return all(plain_json(v) for v in value)  # pyright: ignore[reportUnknownVariableType]
    return value is None or isinstance(value, str | int | float | bool)


def test_the_checkpoint_is_json_and_names_no_file_and_no_module(tmp_path: Path) -> None:
    script(tmp_path, refunds=REFUNDS, a=REFUNDS_A)
    run(tmp_path, "a")
    text = (tmp_path / "saved.json").read_text("utf-8")
    assert plain_json(json.loads(text))
    assert str(tmp_path) not in text
    assert "refunds.py" not in text


def test_a_destructive_delete_waits_and_its_pending_call_reads_back_from_json_alone(tmp_path: Path) -> None:
    script(tmp_path, drafts=DRAFTS, a=DRAFTS_A)
    run(tmp_path, "a")
    assert not (tmp_path / "ledger.txt").exists()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    script(elsewhere, review=DRAFTS_REVIEW)
    (elsewhere / "saved.json").write_bytes((tmp_path / "saved.json").read_bytes())
    assert run(elsewhere, "review").startswith("awaiting approval: tool='kaos-source-delete'")


@pytest.fixture
def paused(tmp_path: Path) -> Path:
    script(tmp_path, drafts=DRAFTS, a=DRAFTS_A, b=DRAFTS_B)
    run(tmp_path, "a")
    return tmp_path


def test_approved_that_call_runs_once_with_the_reviewed_still_typed_arguments(paused: Path) -> None:
    assert run(paused, "b", "yes") == "I read: deleted /matter/acme/draft.docx\n"
    assert (paused / "ledger.txt").read_text("utf-8") == "('/matter/acme/draft.docx', [1, 2], False)\n"


def test_denied_the_model_reads_the_refusal_and_goes_on(paused: Path) -> None:
    assert run(paused, "b", "no") == "I read: denied by ada. It was not run.\n"
    assert not (paused / "ledger.txt").exists()


def test_a_moved_file_a_comment_and_another_directory_change_nothing(paused: Path) -> None:
    other = paused / "src" / "moved"
    other.mkdir(parents=True)
    moved = dedent(DRAFTS).replace("'''Delete a file.'''", "'''Delete a file.'''  # a comment\n    x = 1")
    (other / "drafts.py").write_text("# moved\n\n\n" + moved, "utf-8")
    script(other, b=DRAFTS_B)
    (other / "saved.json").write_bytes((paused / "saved.json").read_bytes())
    assert "deleted" in run(other, "b", "yes")
