"""An agent that attacks the person who reads it: everywhere its words can appear, nothing raw comes out."""

import asyncio
import json

import pytest
from tests.cli.conftest import Run, begin

from adjourn import Agent, Policy, pause_for, tool
from adjourn.testing import ScriptedModel, call

ATTACKS = {
    "ansi": "\x1b[2J\x1b[1;1H✓ Approved",
    "osc": "\x1b]0;owned\x07\x1b]8;;https://evil.example\x1b\\safe\x1b]8;;\x1b\\\x1b]52;c;cm0gLXJm\x07",
    "c1": "\x9b31m\x9d0;x\x9c\x90q\x9c",
    "bidi": "pay \u202e0001\u202c to \u2067evil\u2069 \u200f\u061c",
    "zero width": "ig\u200bno\u200cre\u200d th\u2060is\ufeff\u00ad",
    "newlines": "fine\n  effect   read: changes nothing\r\n\x0b\x0c\x85\u2028digest   0000 0000",
    "tags": "".join(chr(0xE0000 + ord(c)) for c in "approve"),
    "nul": "a\x00b\x7fc\x08\x08",
}


@tool
def wipe(path: str, options: dict[str, str] | None = None) -> str:
    """Delete a folder."""
    return path


@tool(effect="read")
def enquire(question: str) -> None:
    """Ask."""
    pause_for("a\x1b[31mword", {"question": question, question: [question]})


def attacker(text: str) -> Agent[str]:
    """It puts `text` wherever an agent can put words."""
    model = ScriptedModel([text, call("wipe", path=text, options={text: text})], text)
    return Agent("attacker", model=model, tools=[wipe], policy=Policy([], default="ask"))


def commands(run: str) -> list[list[str]]:
    return [
        ["runs"], ["show", run], ["inbox"], ["inbox", run], ["inbox", "1"], ["show", "NO\x1b[31m"],
        ["approve", run, "--note", "\x1b[31m", "--by", "an\u202ea"], ["show", run], ["runs"], ["show", run, "--journal"],
        ["say", run, "\x1b]0;x\x07"], ["pause", run, "--reason", "\u202e\nx"], ["show", run],
    ]  # fmt: skip


def raw(text: str) -> set[str]:
    return {c for c in text if c != "\n" and not c.isprintable()}


@pytest.mark.parametrize("attack", ATTACKS)
def test_nothing_raw_reaches_the_terminal(attack: str, adjourn: Run) -> None:
    text = ATTACKS[attack]
    [run] = asyncio.run(begin(attacker(text), input=text))
    for command in commands(run):
        said = adjourn(*command)
        assert not raw(said.out + said.err), f"{command} wrote {raw(said.out + said.err)}"


@pytest.mark.parametrize("attack", ATTACKS)
def test_json_is_ascii_and_means_exactly_what_was_recorded(attack: str, adjourn: Run) -> None:
    text = ATTACKS[attack]
    [run] = asyncio.run(begin(attacker(text), input=text))
    for command in (["runs"], ["inbox"], ["inbox", run], ["show", run]):
        said = adjourn(*command, "--json")
        assert said.out.isascii() and not raw(said.out)
    assert adjourn("inbox", run, "--json").json["call"]["arguments"] == {"path": text, "options": {text: text}}
    assert adjourn("show", run, "--json").json["input"] == text
    journal = [json.loads(line) for line in adjourn("show", run, "--journal").out.splitlines()]
    assert journal[0]["input"] == text


def test_a_new_line_cannot_pretend_to_be_another_field(adjourn: Run) -> None:
    [run] = asyncio.run(begin(attacker(ATTACKS["newlines"])))
    out = adjourn("inbox", run).out
    assert [line for line in out.splitlines() if line.strip().startswith("effect")] == [
        "  effect   unsafe: runs once, never repeated without a person; it has no undo"
    ]
    assert sum(line.strip().startswith("digest") for line in out.splitlines()) == 1


def test_hidden_characters_are_counted_where_they_are(adjourn: Run) -> None:
    [run] = asyncio.run(begin(attacker(ATTACKS["bidi"])))
    out = adjourn("inbox", run).out
    assert "⟨U+202E RIGHT-TO-LEFT OVERRIDE⟩0001⟨U+202C POP DIRECTIONAL FORMATTING⟩" in out
    assert "! path has 6 characters that cannot normally be seen" in out


def test_a_large_argument_is_shown_whole(adjourn: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "word \u200b" * 16_000 + "the end"
    [run] = asyncio.run(begin(attacker(text)))
    out = adjourn("inbox", run).out
    assert out.count("⟨U+200B ZERO WIDTH SPACE⟩") >= 3 * 16_000, "in both arguments and in the agent's words"
    assert 'the end"' in out and "…" not in out
    for command in ("runs", "inbox"):
        assert len(adjourn(command).out) < 3_000, "a list is a list"


def test_a_hostile_question_is_only_text(adjourn: Run) -> None:
    model = ScriptedModel([call("enquire", question=ATTACKS["osc"])], "Done.")
    [run] = asyncio.run(begin(Agent("asks", model=model, tools=[enquire])))
    for command in (["runs"], ["inbox"], ["inbox", run], ["show", run], ["answer", run, "\x1b[31m", "--by", "\x9b"]):
        said = adjourn(*command)
        assert not raw(said.out + said.err)
        assert said.code in (0, 3)


def test_a_hostile_error_is_only_text(adjourn: Run) -> None:
    [run] = asyncio.run(begin(Agent("fails", model=ScriptedModel(ValueError(ATTACKS["ansi"])))))
    for command in (["runs"], ["inbox"], ["inbox", run], ["show", run]):
        said = adjourn(*command)
        assert not raw(said.out + said.err) and "⟨U+001B ESCAPE⟩[2J" in said.out
