"""Images and other files in runs: they reach the model, survive crashes, and go where the run goes."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from adjourn import Agent, Flow, FlowContext, Policy, Runtime, ToolContext, ask, summarise, tool
from adjourn.core.decision import Decision
from adjourn.core.files import FILE, Document, File, FileRef, Image, refs
from adjourn.core.interrupt import Interrupt
from adjourn.core.messages import FilePart, ModelRequest, Reply, Text, ToolResult, UserMessage, files_in
from adjourn.errors import CheckpointInvalid, Invalid, InvalidAnswer, InvalidDefinition, RunFailed
from adjourn.runtime.checkpoint import Checkpoint
from adjourn.runtime.outcome import is_paused
from adjourn.testing import ScriptedModel, call, crash_points
from adjourn.views.timeline import Timeline

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 4
PHOTO, PAGE, MADE = Image(PNG, name="photo.png"), Document(b"%PDF-1.7 bill"), Image(b"GIF89a made")


@tool(effect="read")
async def scan(ctx: ToolContext) -> list[Any]:
    """Scan the bill."""
    return ["the bill", PAGE]


@tool
async def pay(cents: int) -> str:
    """Pay."""
    return f"paid {cents}"


def clerk(*replies: Any, **options: Any) -> tuple[Agent[str], ScriptedModel]:
    made = Reply((Text(text="drawn"), FilePart(file=MADE.ref)))
    model = ScriptedModel(*(replies or ([call("scan")], [call("pay", cents=5)], made)))
    policy = Policy([ask("pay")], default="allow")
    return Agent("clerk", model=model, tools=[scan, pay], policy=policy, **options), model


def settled(interrupt: Interrupt) -> Any:
    """Yes; and what is in doubt did not happen."""
    return {"choice": "run"} if interrupt.kind == "in_doubt" else True


def seen(request: ModelRequest) -> list[tuple[str, bytes]]:
    """The files of a request, in order, with their bytes."""
    return [(ref["type"], request.files[ref[FILE]]) for ref in files_in(request.messages)]


async def test_a_model_is_given_the_files_of_the_input_and_of_results_in_order() -> None:
    agent, model = clerk()
    outcome = await agent.run(["What is this?", PHOTO, "and what next?"])
    first, second = model.requests
    [said] = first.messages
    assert isinstance(said, UserMessage)
    assert said.parts == ("What is this?", PHOTO.ref, "and what next?")
    assert said.text == "What is this?\n[image: photo.png, image/png, 1 KB]\nand what next?"
    assert seen(first) == [("image/png", PNG)]
    assert seen(second) == [("image/png", PNG), ("application/pdf", PAGE.data)]
    assert is_paused(outcome)
    text = outcome.checkpoint.to_json()
    assert json.loads(text)["version"] == 4
    assert not any(isinstance(ref, FileRef) and ref.data for ref in refs(outcome.checkpoint.state.messages))


async def test_a_checkpoint_is_whole_by_itself_elsewhere() -> None:
    agent, _ = clerk()
    paused = await agent.run(PHOTO)
    assert is_paused(paused)
    saved = json.loads(json.dumps(json.loads(paused.checkpoint.to_json())))
    elsewhere, model = clerk()
    done = await elsewhere.resume(saved, True)
    assert seen(model.requests[0])[:2] == [("image/png", PNG), ("application/pdf", PAGE.data)]
    assert done.output == "drawn"
    assert set(done.checkpoint.files) == {PHOTO.digest, PAGE.digest, MADE.digest}
    after, model = clerk("", "", "", "and now?")
    await after.run("Go on", after=Checkpoint.from_json(done.checkpoint.to_json()))
    assert [kind for kind, _ in seen(model.requests[0])] == ["image/png", "application/pdf", "image/gif"]


async def test_a_checkpoint_whose_file_was_changed_is_refused() -> None:
    agent, _ = clerk()
    paused = await agent.run(PHOTO)
    assert is_paused(paused)
    saved = json.loads(paused.checkpoint.to_json())
    with pytest.raises(CheckpointInvalid, match="digest does not match"):
        Checkpoint.from_json({**saved, "files": saved["files"].replace("A", "B", 1)})
    forged = Checkpoint(paused.checkpoint.records, files={PHOTO.digest: b"other"})
    with pytest.raises(CheckpointInvalid, match="are not those of its digest"):
        Checkpoint.from_json(forged.to_json())
    without, _ = clerk()
    with pytest.raises(Invalid, match="refers to a missing file"):
        await without.resume(Checkpoint(paused.checkpoint.records), True)


async def test_wherever_a_worker_dies_no_record_names_a_file_that_is_not_there() -> None:
    died: set[str] = set()
    for point in crash_points():
        agent, model = clerk()
        done = await point.run(agent, ["look", PHOTO], answer=settled)
        died.add(point.operation)
        assert done.output == "drawn"
        saved = done.checkpoint
        assert {ref[FILE] for ref in refs(saved.records)} == saved.files.keys()
        assert set(saved.files.values()) == {PNG, PAGE.data, MADE.data}
        assert seen(model.requests[-1]) == [("image/png", PNG), ("application/pdf", PAGE.data)]
    assert {"create", "commit", "deliver"} <= died


async def test_a_fork_a_run_again_and_the_next_turn_have_the_files(tmp_path: Path) -> None:
    agent, model = clerk("one", "two", "three", "four", "five")
    async with Runtime(f"sqlite:///{tmp_path}/runs.db", [agent]) as rt:
        first = await rt.start(agent, ["see", PHOTO], session="s")
        await first.wait()
        second = await rt.start(agent, "next", session="s")
        await second.wait()
        third = await rt.start(agent, ["and", PAGE], after=second)
        await third.wait()
        assert [kind for kind, _ in seen(model.requests[-1])] == ["image/png", "application/pdf"]
        assert await rt.store.blobs(second.id) == {}
        saved = await third.checkpoint()
        assert set(saved.files) == {PHOTO.digest, PAGE.digest}
        again = await rt.again(first)
        await again.wait()
        copy = await rt.fork(third, at=1)
        await copy.wait()
        assert set(await rt.store.blobs(again.id)) == {PHOTO.digest}
        assert set(await rt.store.blobs(copy.id)) == {PAGE.digest}
        await rt.erase(again.id, by="ann", reason="asked to")
        assert await rt.store.blobs(again.id) == {} != await rt.store.blobs(first.id)
        assert await rt.store.verify() == []


async def test_an_archive_is_whole_and_is_taken_back_with_its_files(tmp_path: Path) -> None:
    agent, _ = clerk("one")
    async with Runtime(f"sqlite:///{tmp_path}/runs.db", [agent]) as rt:
        run = await rt.start(agent, ["see", PHOTO])
        await run.wait()
        saved = await run.checkpoint()
    from adjourn.runtime.archive import put

    file, _ = put(tmp_path / "archive", saved, None)
    assert Checkpoint.from_json(file.read_bytes()).files == {PHOTO.digest: PNG}


async def test_a_model_that_does_not_take_files_is_not_asked_and_the_next_of_the_chain_is() -> None:
    class Blind(ScriptedModel):
        takes_files = False

        @property
        def name(self) -> str:
            return "blind"

    blind = Blind("I see text")
    with pytest.raises(RunFailed, match=r"blind does not take files.*\[image: photo.png.*nothing was sent"):
        await Agent("clerk", model=blind).run(PHOTO)
    assert blind.requests == []
    sees = ScriptedModel("", "a photo")
    assert (await Agent("clerk", model=[blind, sees]).run(PHOTO)).output == "a photo"
    assert (await Agent("clerk", model=blind).run("only text")).output == "I see text"


async def test_an_input_that_names_a_file_and_does_not_give_it_is_refused() -> None:
    agent, _ = clerk("one")
    with pytest.raises(Invalid, match=r"refers to a missing file.*File\(data\)"):
        await agent.run(["look", dict(PHOTO.ref)])


async def test_what_is_dropped_or_summarised_is_not_sent_and_stays_in_the_journal() -> None:
    shorter = [summarise(after=3, keep=1, model=ScriptedModel("in short", "shorter"))]
    replies = ([call("scan")], [call("scan")], [call("scan")], "done")
    agent, model = clerk(*replies, history=shorter)
    done = await agent.run(["look", PHOTO])
    assert done.output == "done"
    assert len(seen(model.requests[-1])) < 4
    results = [m for m in done.checkpoint.messages if isinstance(m, ToolResult)]
    assert all(result.files == (dict(PAGE.ref),) for result in results)


async def test_values_of_steps_and_events_of_a_run_may_be_files(tmp_path: Path) -> None:
    @tool(effect="idempotent")
    async def draw(ctx: ToolContext) -> Any:
        """Draw."""
        return await ctx.step("draw", lambda: {"made": MADE})

    agent = Agent("artist", model=ScriptedModel([call("draw")], "drawn"), tools=[draw], policy=Policy(default="allow"))
    async with Runtime(f"sqlite:///{tmp_path}/runs.db", [agent]) as rt:
        run = await rt.start(agent, "draw")
        await run.wait()
        assert await rt.store.blobs(run.id) == {MADE.digest: MADE.data}


async def test_files_that_are_said_to_a_run_are_read_once_in_order_and_go_with_it(tmp_path: Path) -> None:
    agent, model = clerk([call("pay", cents=5)], "paid", "again")
    async with Runtime(f"sqlite:///{tmp_path}/runs.db", [agent]) as rt:
        run = await rt.start(agent, "pay")
        await run.wait()
        await run.say(["this", PHOTO, "and", PAGE], by="ana", request_id="q1")
        await run.say(["this", PHOTO, "and", PAGE], by="ana", request_id="q1")
        await run.say(MADE, by="ana")
        [asked] = (await run.state()).interrupts
        await rt.approve(asked.ref, by="bo")
        assert (await run.wait()).output == "paid"
        said = [m for m in model.requests[-1].messages if isinstance(m, UserMessage)]
        assert [m.parts for m in said if m.parts] == [("this", PHOTO.ref, "and", PAGE.ref), (MADE.ref,)]
        assert [data for _, data in seen(model.requests[-1])] == [PNG, PAGE.data, MADE.data]
        assert set(await rt.store.blobs(run.id)) == {PHOTO.digest, PAGE.digest, MADE.digest}
        shown = [step for step in Timeline.of(await rt.store.load(run.id)).steps if step.given]
        assert [len(step.files) for step in shown] == [2, 1] and "photo.png" in shown[0].text
        copy = await rt.fork(run)
        again = await rt.again(run, input=["see", PAGE])
        assert set(await rt.store.blobs(copy.id)) == {PHOTO.digest, PAGE.digest, MADE.digest}
        assert set(await rt.store.blobs(again.id)) == {PAGE.digest}
        await rt.erase(run.id, by="ann", reason="asked to")
        assert await rt.store.blobs(run.id) == {} and len(await rt.store.blobs(copy.id)) == 3


@pytest.mark.parametrize("said", ["", [], ["only text"], 7, {"photo": PHOTO}, [PHOTO, 7]])
async def test_what_is_neither_text_nor_file_is_not_said(said: Any) -> None:
    agent, _ = clerk([call("pay", cents=5)])
    async with agent.stream("pay") as stream:
        with pytest.raises(Invalid, match="a non-empty string, a file, or a list of strings and files"):
            await stream.say(said)


async def test_a_flow_is_told_how_to_send_a_file(tmp_path: Path) -> None:
    flow = asks_for_proof(File)
    async with Runtime(f"sqlite:///{tmp_path}/runs.db", [flow]) as rt:
        run = await rt.start(flow, {})
        await run.wait()
        with pytest.raises(Invalid, match=r"emit\(event, File\(data\)\)"):
            await run.say(["see", PHOTO])


@dataclass
class Claim:
    """A form with a field that is a file."""

    cents: int
    proof: Image


def asks_for_proof(kind: Any, resume_to: str = "next") -> Flow:
    flow = Flow("claims")

    @flow.chunk
    async def ask(ctx: FlowContext) -> Any:
        return ctx.pause_for("proof", answer_schema=kind, resume_to=resume_to)

    @flow.chunk
    def read(ctx: FlowContext) -> None:
        found = ctx.sync.file(ctx.input.get("proof", ctx.input))
        ctx.state["read"] = [found.name, found.media_type, found.size]

    flow.to(ask).to(read)
    return flow


@pytest.mark.parametrize("kind", [File, Image, Claim])
async def test_an_answer_or_a_field_of_it_is_a_file_that_a_body_reads(kind: Any, tmp_path: Path) -> None:
    flow = asks_for_proof(kind, "self" if kind is Claim else "next")
    answer = {"cents": 5, "proof": PHOTO} if kind is Claim else PHOTO
    async with Runtime(f"sqlite:///{tmp_path}/runs.db", [flow]) as rt:
        run = await rt.start(flow, {})
        await run.wait()
        [asked] = (await run.state()).interrupts
        wrong: list[Any] = ["photo.png", {"cents": 5}, None, {"cents": 5, "proof": "photo.png"}]
        if kind is not File:
            wrong.append(PAGE if kind is Image else {"cents": 5, "proof": PAGE})
        for value in wrong:
            with pytest.raises(InvalidAnswer):
                await rt.answer(asked.ref, value, by="ana")
        bare = json.loads(json.dumps({"cents": 5, "proof": PHOTO.ref} if kind is Claim else PHOTO.ref))
        with pytest.raises(Invalid, match=r"refers to a missing file.*File\(data\)"):
            await rt.answer(asked.ref, bare, by="ana")
        assert await rt.store.blobs(run.id) == {}
        await rt.answer(asked.ref, answer, by="ana")
        assert (await run.wait()).output["read"] == ["photo.png", "image/png", len(PNG)]
        assert await rt.store.blobs(run.id) == {PHOTO.digest: PNG}


async def test_an_answer_with_a_file_resumes_a_checkpoint_elsewhere_and_in_a_fork(tmp_path: Path) -> None:
    flow = asks_for_proof(File)
    execution = flow.create_execution(auto_close=False)
    await execution.start({})
    saved = execution.save().to_json()
    elsewhere = flow.create_execution(auto_close=False).load(saved)
    [asked] = elsewhere.pending_interrupts
    await elsewhere.continue_with(asked, PHOTO, by="ana")
    assert elsewhere.save().files == {PHOTO.digest: PNG}
    assert (await elsewhere.close())["read"] == ["photo.png", "image/png", len(PNG)]
    async with Runtime(f"sqlite:///{tmp_path}/runs.db", [flow]) as rt:
        run = await rt.start(flow, {})
        await run.wait()
        [asked] = (await run.state()).interrupts
        copy = await rt.fork(run, answers={asked.id: PAGE}, by="ana")
        assert (await copy.wait()).output["read"] == ["", "application/pdf", PAGE.size]
        assert await rt.store.blobs(run.id) == {} != await rt.store.blobs(copy.id)


async def test_a_tool_reads_files_of_the_conversation_and_of_no_other_run() -> None:
    read: list[Any] = []

    @tool(effect="read")
    async def look(ctx: ToolContext) -> str:
        """Look at what was said."""
        said = next(m for m in ctx.messages if isinstance(m, UserMessage))
        read.append(await ctx.file(said.parts[1]))
        read.append(await ctx.file(PAGE))
        for wrong in ("photo.png", {**said.parts[1], FILE: "0" * 64}):
            with pytest.raises(Invalid, match=r"needs the reference to a file|has no file \[image: photo.png"):
                await ctx.file(wrong)
        return "seen"

    agent = Agent("looker", model=ScriptedModel([call("look")], "done"), tools=[look], policy=Policy(default="allow"))
    assert (await agent.run(["see", PHOTO])).output == "done"
    assert read == [PHOTO, PAGE]


def test_a_tool_that_wants_a_file_as_an_argument_is_told_how_to_get_it() -> None:
    async def look(photo: Image) -> str:
        """Look."""
        return ""

    with pytest.raises(InvalidDefinition, match=r"'photo': a file cannot be an argument.*ctx.file\(\)"):
        tool(look)


async def test_of_an_erased_run_no_byte_of_a_file_is_left(tmp_path: Path) -> None:
    canary = b"c4n4ry-of-a-file" * 300
    agent, _ = clerk([call("pay", cents=5)], "paid")
    async with Runtime(f"sqlite:///{tmp_path}/runs.db", [agent]) as rt:
        run = await rt.start(agent, ["see", Image(b"GIF89a" + canary)])
        await run.wait()
        await run.say(Document(b"%PDF-1.7" + canary), by="ana")
        [asked] = (await run.state()).interrupts
        await rt.answer(asked.ref, Decision.instead(File(canary, "text/plain")), by="ana")
        await run.wait()
        assert len(await rt.store.blobs(run.id)) == 3
        await rt.erase(run.id, by="ann", reason="asked to")
    left = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert b"c4n4ry" not in left


async def test_what_a_tool_read_somewhere_and_looks_like_a_file_stops_no_run() -> None:
    class Blind(ScriptedModel):
        takes_files = False

    @tool(effect="read")
    async def fetch() -> Any:
        """Fetch a page."""
        return {"page": {"$file": "0" * 64, "type": "image/png", "size": 3}}

    model = Blind([call("fetch")], "nothing there")
    assert (await Agent("reader", model=model, tools=[fetch]).run("What is there?")).output == "nothing there"
