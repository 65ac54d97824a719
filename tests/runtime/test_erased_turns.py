"""Erasing a conversation: whole or not at all; and no process sends what it has kept of an erased turn."""

from pathlib import Path
from typing import Any

import pytest
from tests.runtime.world import LIMIT

from adjourn import Agent, Refused, Run, RunErased, RunHeld, Runtime
from adjourn.driver.earlier_turns import EarlierTurns
from adjourn.testing.scripted import ScriptedModel

WHO: Any = {"by": "ana", "reason": "asked for"}


@pytest.fixture
def address(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/a.db"


def sent(model: ScriptedModel) -> str:
    """What the model was sent last."""
    return repr(list(model.requests[-1].messages))


def script() -> ScriptedModel:
    return ScriptedModel(*(f"answer {n}" for n in range(50)))


def chat(model: Any = None) -> Agent[Any]:
    return Agent("chat", model=model or script())


async def talk(rt: Runtime, agent: Agent[Any], text: str, **options: Any) -> Run[Any]:
    run = await rt.start(agent, text, **options)
    await run.wait(LIMIT)
    return run


async def test_a_turn_that_another_process_has_erased_is_not_sent_by_one_that_has_it_in_memory(address: str) -> None:
    model = script()
    async with Runtime(address, [chat(model)]) as rt, Runtime(address, work=False) as elsewhere:
        agent = chat(model)
        first = await talk(rt, agent, "a secret", session="s")
        await talk(rt, agent, "b", session="s")
        assert "secret" in sent(model)
        await elsewhere.erase(first.id, **WHO)
        third = await talk(rt, agent, "c", session="s")
        assert "secret" not in sent(model) and "[erased]" in sent(model)
        assert [one.proof for one in await third.requests()] == ["as sent"]


async def test_a_turn_that_another_process_has_erased_is_neither_shown_nor_archived(
    address: str, tmp_path: Path
) -> None:
    async with Runtime(address, [chat()]) as rt, Runtime(address, work=False) as elsewhere:
        first = await talk(rt, chat(), "a secret", session="s")
        second = await talk(rt, chat(), "b", session="s")
        assert "secret" in repr(await second.messages()) and "secret" in (await second.checkpoint()).to_json()
        await elsewhere.erase(first.id, **WHO)
        assert "secret" not in repr(await second.messages())
        assert "secret" not in repr([one.messages for one in await second.requests()])
        assert [one.proof for one in await second.requests()] == ["erased"]
        assert "secret" not in (await second.checkpoint()).to_json()
        done = await rt.prune(older=0, by="ana", archive=tmp_path / "old")
        files = [*(tmp_path / "old").glob("*.json")]
        assert done.runs and files and not any("secret" in file.read_text("utf-8") for file in files)


async def test_a_run_that_was_begun_before_and_taken_after_the_erasure_of_a_turn_does_not_send_it(address: str) -> None:
    """Between the two nobody holds it; while it is there and open, nothing before it can be erased."""
    model = script()
    async with Runtime(address, [chat(model)]) as rt, Runtime(address, work=False) as elsewhere:
        agent = chat(model)
        first = await talk(rt, agent, "a secret", run_id="first")
        second = await talk(rt, agent, "b", after=first)
        await elsewhere.erase(first.id, **WHO)
        third = await elsewhere.start(agent, "c", after=second.id)
        with pytest.raises(Refused, match="which continues its conversation, has not ended"):
            await elsewhere.erase(second.id, **WHO)
        await third.wait(LIMIT)
        assert "secret" not in sent(model) and "[erased]" in sent(model)


async def test_what_was_read_while_a_turn_was_erased_is_neither_given_nor_kept(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Runtime(address, [chat()]) as rt, Runtime(address, work=False) as elsewhere:
        first = await talk(rt, chat(), "a secret")
        second = await talk(rt, chat(), "b", after=first)
        third = await talk(rt, chat(), "c", after=second)
        started = (await third.checkpoint()).started
        real = elsewhere.store.turns

        async def turns(*given: Any) -> Any:
            found = await real(*given)
            monkeypatch.setattr(elsewhere.store, "turns", real)
            await rt.erase(first.id, **WHO)
            return found

        monkeypatch.setattr(elsewhere.store, "turns", turns)
        earlier = EarlierTurns(elsewhere.store)
        assert "secret" not in repr(await earlier.before(started))
        assert "secret" not in repr(earlier.known(started))


async def test_a_whole_conversation_is_erased_with_a_line_of_the_audit_for_each_turn(address: str) -> None:
    async with Runtime(address, [chat()]) as rt, Runtime(address, work=False) as elsewhere:
        runs = [await talk(rt, chat(), f"secret {n}", session="s", run_id=f"r{n}") for n in range(3)]
        branch = await talk(rt, chat(), "secret 3", after=runs[0], run_id="r3")
        apart = await talk(rt, chat(), "apart", session="s", after=None, run_id="r4")
        done = await (await elsewhere.get("r1")).erase(**WHO, whole=True)
        assert (done.run, done.turns) == ("r1", ("r3", "r2", "r0"))
        for run in (*runs, branch):
            assert (await elsewhere.store.get(run.id)).erased
            assert [x.reason for x in await run.audit() if x.verb == "erase"] == ["asked for"]
            with pytest.raises(RunErased):
                await elsewhere.start(chat(), "more", after=run.id)
        assert not (await elsewhere.store.get(apart.id)).erased
        assert await elsewhere.verify() == []
        assert (await (await elsewhere.get("r1")).erase(**WHO, whole=True)).turns == (), "twice is the same as once"


@pytest.mark.parametrize("why", ["held", "open"])
@pytest.mark.parametrize("turn", [0, 1, 2])
async def test_if_one_turn_must_stay_none_is_erased_and_the_audit_says_which(address: str, why: str, turn: int) -> None:
    if why == "open" and turn < 2:
        pytest.skip("only the last turn can be open")
    async with Runtime(address, [chat()]) as rt:
        runs = [await talk(rt, chat(), f"say {n}", session="s", run_id=f"r{n}") for n in range(3)]
    async with Runtime(address, work=False) as rt:
        if why == "held":
            await rt.hold(f"run:r{turn}", by="ana", reason="a case")
        else:
            turn = 3
            await rt.start(chat(), "open", session="s", run_id="r3")
        with pytest.raises(RunHeld if why == "held" else Refused, match=f"r{turn}"):
            await rt.erase("r1", **WHO, whole=True)
        assert not any([(await rt.store.get(run.id)).erased for run in runs])
        lines = [x for x in await rt.store.audit(f"r{turn}") if x.entry["verb"] == "erase"]
        assert [bool(x.entry.get("refused")) for x in lines] == [True]
        assert await rt.verify() == []


@pytest.mark.parametrize(
    ("kind", "erasures"),
    [
        ("sqlite", (0,)),
        ("sqlite", (1,)),
        ("sqlite", (2, 1)),
        ("sqlite", (0, 2)),
        ("sqlite", (0, 1, 2)),
        ("postgres", (1, 2)),
    ],
)
async def test_an_erased_turn_is_a_note_where_it_was_and_the_others_say_what_they_said(
    kind: str, erasures: tuple[int, ...], address: str, request: pytest.FixtureRequest
) -> None:
    if kind == "postgres":
        address = request.getfixturevalue("postgres").fresh()
    model = script()
    async with Runtime(address, [chat(model)]) as rt:
        runs = [await talk(rt, chat(model), f"say {n}", session="s", run_id=f"r{n}") for n in range(4)]
    async with Runtime(address, [chat(model)]) as rt:
        for turn in erasures:
            await rt.erase(runs[turn].id, **WHO)
        wanted = [
            word for n in range(4) for word in (["[erased]"] * 2 if n in erasures else [f"say {n}", f"answer {n}"])
        ]
        last = await rt.get(runs[3].id)
        assert [_text(message) for message in await last.messages()] == wanted
        more = await talk(rt, chat(model), "more", session="s")
        assert [_text(message) for message in model.requests[-1].messages] == [*wanted, "more"]
        assert [one.proof for one in await more.requests()] == ["as sent"]
        assert await rt.verify() == []


async def test_a_turn_that_brought_its_history_is_erased_with_it(address: str) -> None:
    async with Runtime(address, [chat()]) as rt:
        before = await chat().run("a secret")
        first = await talk(rt, chat(), "b", after=before.checkpoint)
        second = await talk(rt, chat(), "c", after=first)
        assert "secret" in repr(await second.messages())
        await rt.erase(first.id, **WHO)
        assert [_text(message) for message in await second.messages()][:-2] == ["[erased]"] * 4


async def test_a_fork_keeps_what_its_origin_said(address: str) -> None:
    async with Runtime(address, [chat()]) as rt:
        first = await talk(rt, chat(), "a", session="s")
        second = await talk(rt, chat(), "b", after=first)
        fork = await second.fork()
        await fork.wait(LIMIT)
        await rt.erase(second.id, **WHO)
        assert [_text(message) for message in await fork.messages()][:3] == ["a", "answer 0", "b"]


def _text(message: Any) -> str:
    return message.text if hasattr(message, "text") else message.parts[0].text
