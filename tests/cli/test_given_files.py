"""`--file`: what a person has on this machine goes with what they start, say and answer, or is refused before anything happens."""

import asyncio
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import AtTerminal, Run, advance

from adjourn import Agent, Flow, FlowContext, Runtime, pause_for, tool
from adjourn.parts import Document, Image
from adjourn.testing import ScriptedModel, call

PNG = b"\x89PNG\r\n\x1a\n" + bytes(64)
HERE = f"{__file__}:"


@dataclass
class Claim:
    cents: int
    proof: Image


@tool(effect="read")
async def ask_for_proof() -> Any:
    """Ask for a proof."""
    return pause_for("claim", "What did you pay?", answer_schema=Claim)


@tool(effect="read")
async def ask_for_photo() -> Any:
    """Ask for a photo."""
    return pause_for("photo", "Show it.", answer_schema=Image)


class Blind(ScriptedModel):
    """Takes PDF and nothing else."""

    async def file_refusal(self, ref: dict[str, Any], data: bytes) -> str:
        return "" if ref["type"] == "application/pdf" else f"blind does not take {ref['type']}"


clerk = Agent("clerk", model=ScriptedModel([call("ask_for_proof")], "Thanks."), tools=[ask_for_proof])
viewer = Agent("viewer", model=ScriptedModel([call("ask_for_photo")], "Nice."), tools=[ask_for_photo])
blind = Agent("blind", model=Blind("Read."))
flow = Flow("flow")


@flow.chunk
async def seen(ctx: FlowContext) -> None:
    ctx.state["size"] = (await ctx.file(ctx.input["proof"])).size


flow.to(seen)


@pytest.fixture(autouse=True)
def files() -> None:
    Path("a.png").write_bytes(PNG)
    Path("notes").write_text("a note")
    Path("rows.csv").write_text("a,b")
    Path("a=b.pdf").write_bytes(b"%PDF-1.7")
    Path("empty.png").touch()
    Path("odd").write_bytes(b"\xff\x00odd")
    Path("wrong.png").write_text("no image")


async def blobs(run: str) -> set[str]:
    async with Runtime("sqlite:///adjourn.db", work=False) as rt:
        return set(await rt.store.blobs(run))


def first(adjourn: Run, run: str) -> Any:
    return adjourn("show", run, "--json").json["input"]


def asked(adjourn: Run, agent: Agent[Any], run: str) -> str:
    """The ref of what the run asks, once it does and was shown."""
    asyncio.run(advance(agent, run=run))
    [item] = adjourn("inbox", "--json").json
    return item["ref"]


def test_files_stand_behind_the_input_in_the_order_in_which_they_are_given(adjourn: Run) -> None:
    words = (
        "start",
        f"{HERE}viewer",
        "Look.",
        "--file",
        "a.png",
        "--file",
        "notes",
        "--file",
        "rows.csv",
        "--file",
        "a=b.pdf",
    )
    said = adjourn(*words)
    assert said.code == 0, said.err
    text, *refs = first(adjourn, said.out.strip())
    assert text == "Look."
    assert [(ref["name"], ref["type"]) for ref in refs] == [
        ("a.png", "image/png"),
        ("notes", "text/plain"),
        ("rows.csv", "text/csv"),
        ("a=b.pdf", "application/pdf"),
    ]
    assert len(asyncio.run(blobs(said.out.strip()))) == 4


def test_a_file_alone_is_an_input_and_a_named_one_is_a_field_of_it(adjourn: Run) -> None:
    alone = adjourn("start", f"{HERE}viewer", "--file", "a.png")
    assert first(adjourn, alone.out.strip())["name"] == "a.png"
    field = adjourn("start", f"{HERE}flow", '{"order": 7}', "--data", "--file", "proof=a.png")
    input = first(adjourn, field.out.strip())
    assert (input["order"], input["proof"]["type"]) == (7, "image/png")
    assert asyncio.run(advance(flow, run=field.out.strip())).output == {"size": len(PNG)}  # type: ignore[arg-type]


def test_run_takes_files_as_start_does(adjourn: Run) -> None:
    assert adjourn("run", f"{HERE}blind", "Read it.", "--file", "a=b.pdf").out == "Read.\n"
    said = adjourn("run", f"{HERE}blind", "--resume", "x", "--file", "a.png")
    assert said.code == 2 and "Remove INPUT, --file" in said.err


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--file", "gone.png"), "'gone.png' cannot be read: No such file"),
        (("--file", "."), "'.' cannot be read: Is a directory"),
        (("--file", "empty.png"), "'empty.png' cannot be given: a file is empty"),
        (("--file", "wrong.png"), "'wrong.png' cannot be given: a file is given as image/png, and its bytes are not"),
        (("x", "--file", "proof=a.png"), "INPUT is not an object, but --file proof= names a field"),
        (('{"a": 1}', "--data", "--file", "a.png"), "does not say which field it is"),
        (('{"a": 1}', "--data", "--file", "a=a.png"), "INPUT has 'a' already"),
        (("--file", "a=a.png", "--file", "notes"), "for each of them, or for none"),
        (("--file", "a=a.png", "--file", "a=notes"), "gives 'a' twice"),
    ],
)
def test_a_file_that_cannot_be_given_starts_nothing(words: tuple[str, ...], why: str, adjourn: Run) -> None:
    said = adjourn("start", f"{HERE}viewer", *words)
    assert said.code == 2 and said.out == ""
    assert why in " ".join(said.err.split()), said.err
    assert not Path("adjourn.db").exists()


@pytest.mark.parametrize("file", ["a.png", "odd"])
@pytest.mark.parametrize("verb", ["start", "run"])
def test_a_type_that_the_model_does_not_take_starts_nothing(verb: str, file: str, adjourn: Run) -> None:
    said = adjourn(verb, f"{HERE}blind", "Look.", "--file", file)
    assert said.code == 2 and "blind does not take" in said.err and "nothing was started" in said.err.lower()
    assert adjourn("runs", "--json").json == []


def test_a_dry_run_says_which_file_it_would_start_with(adjourn: Run) -> None:
    said = adjourn("start", f"{HERE}viewer", "Look.", "--file", "a.png", "--dry-run")
    assert '"name": "a.png"' in said.out, said
    assert adjourn("start", f"{HERE}viewer", "--file", "a.png", "--dry-run", "--json").json["input"]["size"] == len(PNG)
    refused = adjourn("start", f"{HERE}blind", "--file", "a.png", "--dry-run")
    assert refused.code == 2 and "does not take" in refused.err


def test_files_are_said_with_words_or_alone(adjourn: Run) -> None:
    run = adjourn("start", f"{HERE}viewer", "x").out.strip()
    assert adjourn("say", run, "the right one:", "--file", "a.png").code == 0
    assert adjourn("say", run, "--file", "notes").code == 0
    assert asyncio.run(blobs(run)) == {Image(PNG).digest, Document(b"a note", "text/plain").digest}
    nothing, named = adjourn("say", run), adjourn("say", run, "--file", "a=a.png")
    assert nothing.code == 2 and "TEXT is missing" in nothing.err
    assert named.code == 2 and "a message has no fields" in named.err


def test_a_question_is_answered_with_a_file(adjourn: Run) -> None:
    run = adjourn("start", f"{HERE}viewer", "x").out.strip()
    item = asked(adjourn, viewer, run)
    wrong = adjourn("answer", item, "--file", "notes")
    assert wrong.code == 2 and "Not answered" in wrong.err
    elsewhere = adjourn("answer", item, json.dumps(Image(PNG).ref))
    assert elsewhere.code == 2 and "refers to a missing file" in elsewhere.err, elsewhere
    assert adjourn("answer", item, "--file", "a.png").code == 0
    assert asyncio.run(advance(viewer, run=run)).output == "Nice."
    assert asyncio.run(blobs(run)) == {Image(PNG).digest}


def test_a_field_of_an_answer_is_a_file(adjourn: Run) -> None:
    run = adjourn("start", f"{HERE}clerk", "x").out.strip()
    item = asked(adjourn, clerk, run)
    assert adjourn("answer", item, '{"cents": 5}', "--file", "proof=gone.png").code == 2
    assert adjourn("answer", item, "--file", "proof=a.png").code == 2, "the cents are missing"
    said = adjourn("answer", item, '{"cents": 5}', "--file", "proof=a.png")
    assert said.code == 0, said.err
    assert asyncio.run(advance(clerk, run=run)).output == "Thanks."
    assert asyncio.run(blobs(run)) == {Image(PNG).digest}


def test_the_command_that_is_shown_for_a_question_says_where_the_file_goes(adjourn: Run) -> None:
    run = adjourn("start", f"{HERE}viewer", "x").out.strip()
    shown = adjourn("inbox", asked(adjourn, viewer, run))
    assert shown.code == 3 and f"adjourn answer '{run}:1.0?0' --file PATH" in shown.err, shown
    run = adjourn("start", f"{HERE}clerk", "x").out.strip()
    asyncio.run(advance(clerk, run=run))
    assert "VALUE --file proof=PATH" in adjourn("inbox", f"{run}:1.0?0").err


def test_a_person_at_a_terminal_gives_a_file_by_its_path(terminal: AtTerminal, adjourn: Run) -> None:
    run = adjourn("start", f"{HERE}clerk", "x").out.strip()
    screen = terminal("inbox", asked(adjourn, clerk, run))
    screen.answer("later.", '{"cents": 5}')
    screen.answer("proof, the path of a file", "gone.png")
    screen.answer("cannot be read: No such file", '{"cents": 5}')
    screen.answer("proof, the path of a file", "a.png")
    screen.answer("yes/no", "yes")
    assert screen.end() == 0
    assert asyncio.run(advance(clerk, run=run)).output == "Thanks."
