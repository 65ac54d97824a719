"""What is given in a wrong form is refused with a sentence that names it and says what to write; nothing is recorded."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from adjourn import Agent, InvalidAnswer, Policy, Runtime, ask, ask_human
from adjourn.errors import AdjournError, Invalid, InvalidDefinition
from adjourn.testing import ScriptedModel, call


def asker() -> Agent[Any]:
    return Agent("asker", model=ScriptedModel([call("ask_human", question="Who?")], "done"), tools=[ask_human])


DEFINITIONS: dict[str, tuple[Callable[[], Any], str]] = {
    "a rule in the place of a list": (lambda: Policy(ask("x")), r"Policy\(\[ask\(\.\.\.\)\]\)"),  # type: ignore[arg-type]
    "settings that are a number": (lambda: Agent("a", model=ScriptedModel(), settings=3), "settings= must be"),  # type: ignore[arg-type]
    "a number as a store": (lambda: Runtime(3), "sqlite:///runs.db"),  # type: ignore[arg-type]
    "no store": (lambda: Runtime(None), "sqlite:///runs.db"),  # type: ignore[arg-type]
    "a path as a store": (lambda: Runtime(Path("runs.db")), "sqlite:///runs.db"),  # type: ignore[arg-type]
    "an agent in the place of a list": (lambda: Runtime("memory://", asker()), r"Runtime\(store, \[agent\]\)"),  # type: ignore[arg-type]
    "agents by name": (lambda: Runtime("memory://", {"asker": asker()}), r"Runtime\(store, \[agent\]\)"),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("what", DEFINITIONS)
def test_what_is_defined_in_a_wrong_form_is_refused(what: str) -> None:
    define, advice = DEFINITIONS[what]
    with pytest.raises(InvalidDefinition, match=advice):
        define()


Verb = Callable[[Runtime], Awaitable[Any]]
QUESTIONS: dict[str, tuple[Verb, str]] = {
    "a label as text": (lambda rt: rt.runs(label="team=ops"), "label= must be a pair"),  # type: ignore[arg-type]
    "a label as a dict": (lambda rt: rt.runs(label={"team": "ops"}), "label= must be a pair"),  # type: ignore[arg-type]
    "a label of one letter": (lambda rt: rt.runs(label="a"), "label= must be a pair"),  # type: ignore[arg-type]
    "a label of three": (lambda rt: rt.runs(label=("a", "b", "c")), "label= must be a pair"),  # type: ignore[arg-type]
    "a label of a number": (lambda rt: rt.runs(label=("a", 1)), "label= must be a pair"),  # type: ignore[arg-type]
    "an agent that is a number": (lambda rt: rt.runs(agent=3), "agent= must be a string"),  # type: ignore[arg-type]
    "a session that is a number": (lambda rt: rt.runs(session=3), "session= must be a string"),  # type: ignore[arg-type]
    "an inbox of a number": (lambda rt: rt.inbox(agent=3), "agent= must be a string"),  # type: ignore[arg-type]
    "labels in a list": (lambda rt: rt.start(rt.programs["asker"], "go", labels=["a"]), "labels= must be"),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("what", QUESTIONS)
@pytest.mark.parametrize("store", ["memory", "sqlite"])
async def test_what_is_asked_in_a_wrong_form_is_refused(what: str, store: str, tmp_path: Path) -> None:
    verb, says = QUESTIONS[what]
    async with Runtime("memory://" if store == "memory" else f"sqlite:///{tmp_path / 'runs.db'}", [asker()]) as rt:
        with pytest.raises(Invalid, match=says):
            await verb(rt)
        assert await rt.runs() == []


@pytest.mark.parametrize("answers", [[True], "Ana", 3, ("a", "b")])
async def test_answers_are_given_by_their_questions(answers: Any) -> None:
    agent = asker()
    waits = await agent.run("go")
    with pytest.raises(InvalidAnswer, match="answers= must be") as refused:
        await agent.resume(waits.checkpoint, answers=answers, by="ana")
    assert isinstance(refused.value, AdjournError) and "answer=" in refused.value.advice


async def test_a_label_that_fits_finds_its_runs(tmp_path: Path) -> None:
    async with Runtime(f"sqlite:///{tmp_path / 'runs.db'}", [asker()]) as rt:
        await rt.start(rt.programs["asker"], "go", run_id="r", labels={"team": "ops"})
        assert [run.run_id for run in await rt.runs(label=("team", "ops"))] == ["r"]
