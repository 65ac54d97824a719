"""An agent that attacks the person who reads it: everywhere its words can appear, nothing raw comes out, nothing is hidden."""

import asyncio
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.cli import mob
from tests.cli.conftest import COLOUR, SECONDS, AtTerminal, Run, begin
from tests.hostile import BIDI, LETTERS, LINES, MEGABYTE, STRINGS, TERMINAL

from adjourn import Agent, Policy, Runtime, pause_for, tool
from adjourn.cli.terminal.format import exact
from adjourn.testing import ScriptedModel, call
from adjourn.views.visible import hidden, visible

OURS = re.compile(r"\r(\x1b\[\d+A)?\x1b\[J")
"""How the part of a terminal that changes is drawn again."""
MOB = str(Path(mob.__file__))


@tool
def wipe(path: str, options: dict[str, str] | None = None) -> str:
    """Delete a folder."""
    return path


@tool(effect="read")
def enquire(question: str) -> None:
    """Ask."""
    pause_for("a\x1b[31mword", {"question": question, question: [question]})


def attacker(text: str, n: int = 0) -> Agent[str]:
    """It puts `text` wherever an agent can put words; also into its own name."""
    name = "".join(c for c in text[:50] if c not in ":/\n\0") + f" {n}"
    model = ScriptedModel(
        [text, call("wipe", path=text, options={text: text})], text, text
    )  # a word may come after the end
    return Agent(name, model=model, tools=[wipe], policy=Policy([], default="ask"))


def raw(text: str) -> set[str]:
    """What a terminal would act on, or a person could not see."""
    return {c for c in text if c != "\n" and not c.isprintable()}


def all_of_them() -> Iterator[tuple[str, str]]:
    assert len(STRINGS) >= 60
    yield from STRINGS.items()


def called(name: str) -> str:
    """A string as somebody's name, in which no store takes a NUL."""
    return STRINGS[name].replace("\0", "")


async def crowd(verb: Any = None) -> dict[str, str]:
    """A run of an attacker for every string, in one database; ids by name. `verb` does something with each."""
    agents = {name: attacker(text, n) for n, (name, text) in enumerate(all_of_them())}
    async with Runtime("sqlite:///adjourn.db", agents.values()) as rt:
        runs = {
            name: await rt.start(
                agent, STRINGS[name], by=called(name), session=called(name), labels={"x": called(name)}, after=None
            )
            for name, agent in agents.items()
        }
        for run in runs.values():
            await run.wait(SECONDS)
        if verb is not None:
            for name, run in runs.items():
                await verb(rt, run, STRINGS[name])
    return {name: run.id for name, run in runs.items()}


def test_nothing_raw_reaches_the_terminal_from_what_waits(adjourn: Run) -> None:
    runs = asyncio.run(crowd())
    for command in (
        ["runs", "--limit", "1000"],
        ["inbox", "--limit", "1000"],
        ["audit", "--limit", "1000"],
        ["doctor"],
    ):
        said = adjourn(*command)
        assert said.code in (0, 1) and not raw(said.out + said.err), command
    for name, run in runs.items():
        Path("saved.json").write_text(adjourn("show", run, "--checkpoint").out)
        for command in (["show", run], ["inbox", run], ["watch", run, "--rest"], ["show", run, "--journal"],
                        ["checkpoint", "show", "saved.json"], ["audit", run]):  # fmt: skip
            said = adjourn(*command)
            assert said.code in (0, 3) and not raw(said.out + said.err), f"{name}: {command}"


def test_nothing_raw_reaches_the_terminal_from_what_was_decided(adjourn: Run) -> None:
    async def decide(rt: Runtime, run: Any, text: str) -> None:
        [i] = await rt.inbox(run=run.id)
        name = text.replace("\0", "")
        await rt.approve(i.id, by=name or "ana", note=text)
        await run.say(text or "x", by=name)
        await run.wait(SECONDS)

    runs = asyncio.run(crowd(decide))
    assert not raw(adjourn("runs", "--limit", "1000").out)
    for name, run in runs.items():
        for command in (["show", run], ["watch", run], ["audit", run]):
            said = adjourn(*command)
            assert said.code == 0 and not raw(said.out + said.err), f"{name}: {command}"


def test_nothing_of_an_action_is_hidden(adjourn: Run) -> None:
    for name, run in asyncio.run(crowd()).items():
        text, out = STRINGS[name], adjourn("inbox", run).out
        if "\n" not in text:
            assert f"text    {exact(text)}" in out, f"{name} is not shown whole"
            assert f"words, not checked\n  ┊ {visible(text)}\n" in out or not text
        assert out.count("⟨U+000A LINE FEED⟩") >= text.count("\n"), name
        if hidden(text):
            assert f"! path has {hidden(text)} character" in out, name


def test_every_command_with_words_of_its_own_says_them_harmlessly(adjourn: Run, waiting: str) -> None:
    for name, text in (TERMINAL | BIDI | LINES | LETTERS).items():
        if "\x00" in text or len(text) > 500:
            continue  # no shell could give that to a command
        for command in (
            ["show", text], ["say", waiting, text, "--by", text], ["pause", waiting, "--reason", text], ["resume", waiting, "--by", text],
            ["halt", "tool:x", "--reason", text, "--by", text], ["halt", text, "--reason", "x"], ["unhalt", "tool:x", "--reason", text],
            ["runs", "--status", text], ["runs", "--db", text[:100]], ["approve", text], ["answer", f"{waiting}:2.0?0", text],
            ["user", "add", text], ["checkpoint", "show", text], ["run", text], ["worker", text], ["db", "info", "--db", text[:100]],
        ):  # fmt: skip
            said = adjourn(*command)
            assert not raw(said.out + said.err), f"{name}: {command}"


def test_json_is_ascii_and_means_exactly_what_was_recorded(adjourn: Run) -> None:
    for name, run in asyncio.run(crowd()).items():
        text = STRINGS[name]
        for command in (["inbox", run], ["show", run], ["audit", run]):
            said = adjourn(*command, "--json")
            assert said.out.isascii() and not raw(said.out), name
        assert adjourn("inbox", run, "--json").json["call"]["arguments"] == {"path": text, "options": {text: text}}
        assert adjourn("show", run, "--json").json["input"] == text
        events = [json.loads(line) for line in adjourn("watch", run, "--rest", "--json").out.splitlines()]
        assert events[0]["record"]["input"] == text


def test_a_run_in_a_pipe_says_nothing_raw(process: Run) -> None:
    said = process("run", f"{MOB}:mob", "x")
    assert said.code == 0 and not raw(said.out + said.err)
    assert all(visible(text) in said.err for text in STRINGS.values() if "\n" not in text)
    live = process("run", f"{MOB}:mob", "x", "--json")
    assert live.out.isascii() and not raw(live.out)


def test_a_run_at_a_terminal_says_nothing_raw(terminal: AtTerminal) -> None:
    pty = terminal("run", f"{MOB}:mob", "x")
    assert pty.end() == 0
    text = OURS.sub("", COLOUR.sub("", pty.text)).replace("\r\n", "\n")
    assert not raw(text)


def test_a_new_line_cannot_pretend_to_be_another_field(adjourn: Run) -> None:
    [run] = asyncio.run(begin(attacker(STRINGS["false field"])))
    out = adjourn("inbox", run).out
    assert [line for line in out.splitlines() if line.strip().startswith("effect")] == [
        "  effect   unsafe: runs once, never repeated without a person; it has no undo"
    ]
    assert sum(line.strip().startswith("digest") for line in out.splitlines()) == 1


def test_hidden_characters_are_counted_where_they_are(adjourn: Run) -> None:
    [run] = asyncio.run(begin(attacker(STRINGS["right-to-left override"])))
    out = adjourn("inbox", run).out
    assert "⟨U+202E RIGHT-TO-LEFT OVERRIDE⟩0001⟨U+202C POP DIRECTIONAL FORMATTING⟩" in out
    assert "! path has 2 characters that cannot normally be seen" in out


def test_a_megabyte_is_shown_whole_and_lists_stay_lists(adjourn: Run) -> None:
    [run] = asyncio.run(begin(attacker(MEGABYTE), input=MEGABYTE))
    n = MEGABYTE.count("\u200b")
    for command in (["inbox", run], ["watch", run, "--rest"]):
        out = adjourn(*command).out
        assert out.count("⟨U+200B ZERO WIDTH SPACE⟩") >= n and "the end" in out and not raw(out), command
    for command in (["runs"], ["inbox"]):
        assert len(adjourn(*command).out) < 3_000


def test_a_hostile_question_is_only_text(adjourn: Run) -> None:
    texts = [text for _, text in all_of_them()]
    agents = [
        Agent(f"asks {n}", model=ScriptedModel([call("enquire", question=text)], "Done."), tools=[enquire])
        for n, text in enumerate(texts)
    ]
    for run in asyncio.run(begin(*agents)):
        for command in (["inbox", run], ["show", run], ["answer", run, "\x1b[31m", "--by", "\x9b"]):
            said = adjourn(*command)
            assert not raw(said.out + said.err)
            assert said.code in (0, 3)


def test_a_hostile_error_is_only_text(adjourn: Run) -> None:
    agents = [Agent(f"fails {n}", model=ScriptedModel(ValueError(t))) for n, (_, t) in enumerate(all_of_them())]
    for run in asyncio.run(begin(*agents)):
        for command in (["inbox", run], ["show", run], ["watch", run, "--rest"]):
            said = adjourn(*command)
            assert not raw(said.out + said.err)
    for command in (["runs", "--limit", "1000"], ["inbox", "--limit", "1000"]):
        assert not raw(adjourn(*command).out)
