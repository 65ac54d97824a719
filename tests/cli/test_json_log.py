"""A log for programs: one JSON object a line, with run, step and worker, and nothing of what a run says."""

import asyncio
import io
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest

from adjourn import Agent, Policy, Runtime, ask, is_paused, tool
from adjourn.cli.terminal import console
from adjourn.cli.terminal.json_log import JsonLines
from adjourn.cli.terminal.log_lines import log_as
from adjourn.driver.log_place import LogPlace, log_place
from adjourn.errors import Invalid, InvalidDefinition
from adjourn.testing import ScriptedModel, call

SECONDS = 30.0
SECRET = "sk-canary-of-this-test"


class Lines:
    """What a logger writes as JSON."""

    def __init__(self) -> None:
        self.stream = io.StringIO()
        self.handler = JsonLines(self.stream)

    def read(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.stream.getvalue().splitlines()]


@pytest.fixture
def lines() -> Iterator[Lines]:
    """Everything that the library logs while a test runs."""
    found, log = Lines(), logging.getLogger("adjourn")
    before = log.handlers[:], log.propagate, log.level
    log.handlers[:], log.propagate = [found.handler], False
    log.setLevel(logging.INFO)
    yield found
    log.handlers[:], log.propagate = before[0], before[1]
    log.setLevel(before[2])


@pytest.fixture
def as_before() -> Iterator[None]:
    """What `log_as` changes is put back."""
    log, everything = logging.getLogger("adjourn"), logging.getLogger()
    before = log.handlers[:], log.propagate, log.level, everything.handlers[:]
    yield
    log.handlers[:], log.propagate, everything.handlers[:] = before[0], before[1], before[3]
    log.setLevel(before[2])
    console.say_instead(None)


@pytest.mark.anyio
async def test_every_record_of_a_run_is_a_line_and_none_has_its_content(lines: Lines) -> None:
    @tool
    def pay(to: str) -> str:
        """Pay."""
        return f"{SECRET} paid"

    model = ScriptedModel([call("pay", to=SECRET)], f"{SECRET} done")
    agent = Agent("payer", model=model, tools=[pay], policy=Policy([ask("pay")]))
    async with Runtime("memory://", [agent]) as rt:
        paused = await (await rt.start(agent, SECRET)).wait(SECONDS)
        assert is_paused(paused)
        await rt.approve(paused.interrupts[0].id, by="ana", note=SECRET)
        run = await rt.get(paused.run_id)
        assert (await run.wait(SECONDS)).status == "completed"
    assert SECRET not in lines.stream.getvalue()
    found = [line for line in lines.read() if line["logger"] == "adjourn.journal"]
    assert [line["record"] for line in found] == [
        "replied", "asked", "parked", "intended", "returned", "replied", "completed",
    ]  # fmt: skip
    assert {line["run_id"] for line in found} == {run.id}
    assert {line["agent"] for line in found} == {"payer"}
    [began] = [line for line in found if line["record"] == "intended"]
    [ended] = [line for line in found if line["record"] == "returned"]
    assert (began["tool"], began["step"]) == ("pay", ended["step"])
    assert ended["ok"] == 1 and ended["took"] >= 0


@pytest.mark.anyio
async def test_what_a_body_logs_names_its_run_and_step_also_from_a_thread(lines: Lines) -> None:
    places: list[LogPlace] = []

    @tool(effect="read")
    async def look() -> str:
        """Look."""
        logging.getLogger("adjourn.test").info("here")
        places.append(log_place())
        return "seen"

    @tool(effect="read")
    def stare() -> str:
        """Stare."""
        logging.getLogger("adjourn.test").info("there")
        places.append(log_place())
        return "seen"

    agent = Agent("looker", model=ScriptedModel([call("look")], [call("stare")], "done"), tools=[look, stare])
    async with Runtime("memory://", [agent]) as rt:
        run = await rt.start(agent, "x")
        assert (await run.wait(SECONDS)).status == "completed"
    here, there = (line for line in lines.read() if line["logger"] == "adjourn.test")
    assert (here["run_id"], there["run_id"]) == (run.id, run.id)
    assert [here["step"], there["step"]] == [place.step for place in places]
    assert here["step"] and here["step"] != there["step"]
    assert here["worker"] == there["worker"] != ""


@pytest.mark.anyio
async def test_the_drive_of_a_run_and_a_model_call_are_known_by_their_tasks() -> None:
    async def where() -> LogPlace:
        return log_place()

    loop = asyncio.get_running_loop()
    assert await loop.create_task(where(), name="adjourn-run:r 1") == LogPlace("r 1")
    assert await loop.create_task(where(), name="adjourn:r1:2:model") == LogPlace("r1", "2:model")
    assert await loop.create_task(where(), name="other") == LogPlace()
    assert await asyncio.to_thread(log_place) == LogPlace()


def test_of_an_error_only_its_type_and_its_places_are_said_unless_it_is_ours(lines: Lines) -> None:
    log = logging.getLogger("adjourn.test")
    for error in (ValueError(SECRET), Invalid("a name is needed")):
        try:
            raise error
        except Exception:
            log.exception("it failed")
    theirs, ours = lines.read()
    assert (theirs["error"], theirs["level"]) == ("builtins.ValueError", "error")
    assert "error_text" not in theirs and SECRET not in json.dumps(theirs)
    assert theirs["stack"][0].endswith("test_of_an_error_only_its_type_and_its_places_are_said_unless_it_is_ours")
    assert "a name is needed" in ours["error_text"]


def test_a_line_is_one_line_whatever_is_in_it(lines: Lines) -> None:
    logging.getLogger("adjourn.test").warning("two\nlines\x1b[31m and “quotes”")
    [line] = lines.read()
    assert line["message"] == "two\nlines\x1b[31m and “quotes”"
    assert line["time"].endswith("Z") and line["logger"] == "adjourn.test"


@pytest.mark.usefixtures("as_before")
def test_as_json_nothing_else_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    log_as("json", "")
    console.say("Worker 7 advances clerk.")
    logging.getLogger("adjourn.test").debug("not this")
    said = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert [(line["message"], line["level"]) for line in said] == [("Worker 7 advances clerk.", "info")]


@pytest.mark.usefixtures("as_before")
def test_as_text_warnings_are_said_and_what_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    log = logging.getLogger("adjourn.test")
    log_as("text", "")
    log.info("no")
    log.warning("yes")
    log_as("text", "info")
    log.info("this too")
    assert capsys.readouterr().err == "! yes\n! this too\n"


@pytest.mark.usefixtures("as_before")
@pytest.mark.parametrize(("kind", "level"), [("xml", ""), ("text", "loud"), ("", "")])
def test_a_format_and_a_level_must_be_known(kind: str, level: str) -> None:
    with pytest.raises(InvalidDefinition, match="must be one of"):
        log_as(kind, level)
