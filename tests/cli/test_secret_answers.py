"""A secret at the terminal: typed without an echo, or piped in, and never taken from the arguments of a command."""

import asyncio
from pathlib import Path
from typing import Annotated

import pytest
from tests.cli.conftest import AtTerminal, Run, advance, begin

from adjourn import Agent, pause_for, tool
from adjourn.secrets import KeyRing, Secret
from adjourn.testing import ScriptedModel, call

CANARY = "CANARY-0123456789"
saw: list[str] = []


@tool
async def login() -> str:
    """Log in."""
    pin = pause_for("pin", "Your PIN?", resume_to="self", answer_schema=Annotated[str, Secret()])
    saw.append(pin)
    return f"in with {pin}"


bank = Agent("bank", model=ScriptedModel([call("login")], "In."), tools=[login])


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("ADJOURN_SECRET_KEYS", KeyRing.new_key())
    saw.clear()
    return asyncio.run(begin(bank))[0]


def nowhere() -> bool:
    return not any(CANARY.encode() in file.read_bytes() for file in Path().glob("adjourn.db*"))


def test_a_secret_that_is_piped_in_reaches_the_body_alone(process: Run, asked: str) -> None:
    said = process("answer", f"{asked}:1.0?0", "-", "--by", "ana", typed=f"{CANARY}\n")
    assert said.code == 0 and CANARY not in said.out + said.err, said.err
    asyncio.run(advance(bank, run=asked))
    assert saw == [CANARY] and nowhere()


def test_a_secret_among_the_arguments_is_refused(adjourn: Run, asked: str) -> None:
    said = adjourn("answer", f"{asked}:1.0?0", CANARY, "--by", "ana")
    assert said.code != 0 and "the answer is a secret" in said.err and "Omit VALUE" in said.err
    assert CANARY not in said.err and nowhere()
    said = adjourn("answer", asked, CANARY, "--by", "ana")  # a run is no item
    assert said.code == 2 and "Look first" in said.err and CANARY not in said.err


def test_a_secret_that_is_typed_is_not_shown(terminal: AtTerminal, asked: str) -> None:
    at = terminal("answer", f"{asked}:1.0?0", "--by", "ana")
    at.see("not shown › ")
    at.type(CANARY)
    assert at.end() == 0 and "Answered by ana" in at.plain and CANARY not in at.plain
    asyncio.run(advance(bank, run=asked))
    assert saw == [CANARY] and nowhere()


def test_what_is_no_secret_is_not_asked_for(adjourn: Run, waiting: str) -> None:
    said = adjourn("answer", f"{waiting}:2.0?0", "--by", "ana")
    assert said.code != 0 and "VALUE is missing" in said.err


def test_the_hint_for_a_secret_has_no_place_for_it(adjourn: Run, asked: str) -> None:
    said = adjourn("inbox", asked)
    assert "adjourn answer" in said.err and "VALUE" not in said.err
