"""Don't let an agent delete anything unsupervised: a policy asks first, a person reviews the exact call.

python examples/delete_with_approval.py
"""

from adjourn import Agent, Checkpoint, Decision, Policy, allow, ask, is_paused, tool, under
from adjourn.testing import ScriptedModel, call

deleted: list[str] = []


@tool(name="source-delete")
def delete(path: str) -> str:
    """Delete a file."""
    deleted.append(path)
    return f"deleted {path}"


@tool(name="source-list", effect="read")
def list_files(folder: str) -> list[str]:
    """List the files in a folder."""
    return [f"{folder}/draft.docx", f"{folder}/contract.docx"]


POLICY = Policy(
    [
        allow("source-list"),
        ask("source-delete", when={"path": under("/matter/acme")}, reason="destructive: deletes a file"),
    ],
    default="deny",
)


def make_agent() -> Agent:
    model = ScriptedModel(
        [call("source-list", folder="/matter/acme")],
        [call("source-delete", path="/matter/acme/draft.docx"), call("source-delete", path="/etc/passwd")],
        lambda messages: f"I have cleaned up: {getattr(messages[-2], 'content', '')}",
    )
    return Agent("drafts", model=model, tools=[list_files, delete], policy=POLICY)


def review(saved: str) -> None:
    """The pending call reads back from the JSON alone: no agent, no model, no tools needed."""
    checkpoint = Checkpoint.from_json(saved)
    [interrupt] = checkpoint.interrupts
    pending = interrupt.call
    assert pending is not None
    print(f"awaiting approval: tool={pending.tool!r} arguments={pending.arguments!r} reason={pending.reason!r}")
    print(f"  run={checkpoint.run_id} task={checkpoint.input!r}")
    assert pending.tool == "source-delete"
    assert pending.arguments == {"path": "/matter/acme/draft.docx"}


def main() -> None:
    outcome = make_agent().run_sync("Clean up the old drafts.")
    assert is_paused(outcome)
    assert deleted == []
    saved = outcome.checkpoint.to_json()
    print(f"paused run serialized to {len(saved)} bytes of JSON")
    review(saved)

    approved = make_agent().resume_sync(saved, Decision.approve(note="it is in the archive"), by="ada")
    print("approved:", approved.output)
    assert deleted == ["/matter/acme/draft.docx"]  # that call, once; what no rule allows was never asked for

    denied = make_agent().resume_sync(saved, Decision.deny(note="we need it"), by="ada")
    print("denied:", denied.output)
    assert deleted == ["/matter/acme/draft.docx"]
    assert "denied by ada: we need it" in denied.output


if __name__ == "__main__":
    main()
