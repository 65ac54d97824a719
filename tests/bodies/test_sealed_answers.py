"""Secret answers: sealed before they are recorded, opened for the body that asked, and said by nothing."""

import logging
import os
from collections.abc import Callable
from typing import Annotated, Any, Optional

import pytest
from pydantic import BaseModel, SecretStr

from adjourn import Agent, Completed, Flow, Invalid, InvalidAnswer, InvalidDefinition, Paused, Runtime, pause_for, tool
from adjourn.secrets import KeyRing, Secret, seal
from adjourn.testing import ScriptedModel, call

CANARY = "CANARY-0123456789"


class Login(BaseModel):
    user: str
    pin: Annotated[str, Secret("pin")]


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADJOURN_SECRET_KEYS", KeyRing.new_key())


def asking(schema: Any, saw: list[Any], then: Callable[[Any], str] = lambda got: f"used {got}") -> Agent[str]:
    @tool
    async def login() -> str:
        """Log in."""
        got = pause_for("login", "Who are you?", resume_to="self", answer_schema=schema)
        saw.append(got)
        return then(got)

    def said(messages: Any) -> str:
        return str(messages[-1].content)

    return Agent("bank", model=ScriptedModel([call("login")], said), tools=[login])


FORMS: dict[str, tuple[Any, Any]] = {
    "a string": (Annotated[str, Secret()], CANARY),
    "a hidden string": (SecretStr, CANARY),
    "a string or nothing": (Optional[Annotated[str, Secret()]], CANARY),  # noqa: UP045
    "a field": (Login, {"user": "ana", "pin": CANARY}),
    "a list": (list[Annotated[str, Secret()]], [CANARY, CANARY + "!"]),
    "a schema": ({"type": "string", "writeOnly": True}, CANARY),
}


@pytest.mark.parametrize("form", FORMS)
async def test_the_body_that_asked_has_the_answer_and_nothing_else_has_it(form: str) -> None:
    schema, answer = FORMS[form]
    saw: list[Any] = []
    agent = asking(schema, saw)
    waiting = await agent.run("go")
    assert isinstance(waiting, Paused)
    done = await agent.resume(waiting.checkpoint, answer=answer)
    assert isinstance(done, Completed)
    assert saw == [answer] and "•••" in done.output
    assert CANARY not in done.checkpoint.to_json() and CANARY not in done.output
    assert "••• " in done.checkpoint.to_json()


async def test_an_error_of_the_body_does_not_say_it(caplog: pytest.LogCaptureFixture) -> None:
    def wrong(got: Any) -> str:
        raise ValueError(f"{got} is wrong")

    agent = asking(Annotated[str, Secret()], [], wrong)
    with caplog.at_level(logging.DEBUG):
        done = await agent.resume((await agent.run("go")).checkpoint, answer=CANARY)
    assert done.output == "ValueError: ••• is wrong"
    assert CANARY not in caplog.text + done.checkpoint.to_json()


async def test_an_answer_that_is_the_result_stays_sealed_for_the_next_body() -> None:
    used: list[str] = []

    @tool
    async def ask_pin() -> str:
        """Ask."""
        pause_for("pin", answer_schema=Annotated[str, Secret("pin")])

    @tool
    async def use(pin: Annotated[str, Secret("pin")]) -> str:
        """Use it."""
        used.append(pin)
        return "used"

    def use_last(messages: Any) -> Any:
        return [call("use", pin=messages[-1].content)]

    model = ScriptedModel([call("ask_pin")], use_last, "done")
    agent = Agent("a", model=model, tools=[ask_pin, use])
    done = await agent.resume((await agent.run("go")).checkpoint, answer=CANARY)
    assert used == [CANARY] and CANARY not in done.checkpoint.to_json()


async def test_a_chunk_may_ask_for_a_secret_too() -> None:
    saw: list[Any] = []

    async def login(ctx: Any) -> str:
        got = ctx.pause_for("pin", resume_to="self", answer_schema=Annotated[str, Secret()])
        saw.append(got)
        ctx.state["said"] = f"it is {got}"
        return f"used {got}"

    flow = Flow("f")
    flow.to(login)
    execution = await flow.start_execution()
    [interrupt] = execution.pending_interrupts
    await execution.continue_with(interrupt, CANARY)
    assert saw == [CANARY] and execution.state == {"said": "it is •••"}
    assert CANARY not in execution.save().to_json()
    await execution.close()


async def test_an_event_that_answers_a_question_is_sealed_too() -> None:
    heard: list[Any] = []

    async def login(ctx: Any) -> None:
        ctx.pause_for("pin", resume_event="pin", answer_schema=Annotated[str, Secret("pin")])

    async def hear(ctx: Any) -> None:
        heard.append(ctx.input)

    flow = Flow("f")
    flow.to(login)
    flow.when("pin").to(hear)
    execution = await flow.start_execution()
    await execution.emit("pin", CANARY)
    assert [KeyRing.parse(os.environ["ADJOURN_SECRET_KEYS"]).open(sealed, "pin") for sealed in heard] == [CANARY]
    assert CANARY not in execution.save().to_json()
    await execution.close()


async def test_the_same_request_with_the_same_secret_is_the_same_request() -> None:
    agent = asking(Annotated[str, Secret()], [])
    async with Runtime("memory://", [agent]) as rt:
        run = await rt.start(agent, "go")
        await run.wait(10)
        [asked] = (await run.state()).interrupts
        agreed = [await rt.answer(asked.ref, CANARY, by="ana", request_id="r1") for _ in "12"]
        assert agreed[0] == agreed[1]
        await run.wait(10)


async def test_an_answer_may_be_sealed_already_but_not_for_something_else() -> None:
    saw: list[Any] = []
    agent = asking(Login, saw)
    waiting = (await agent.run("go")).checkpoint
    with pytest.raises(Invalid, match="belongs to something else"):
        await agent.resume(waiting, answer={"user": "ana", "pin": seal(CANARY, "other")})
    await agent.resume(waiting, answer={"user": "ana", "pin": seal(CANARY, "pin")})
    assert saw == [{"user": "ana", "pin": CANARY}]


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ({"user": "ana", "pin": 12345678}, "it is not shown"),
        ({"user": 7, "pin": CANARY}, "7 is not of type"),
        ({"pin": CANARY}, "it is not shown"),
        (CANARY, "it is not shown"),
    ],
)
async def test_a_refusal_does_not_say_the_secret(answer: Any, says: str) -> None:
    agent = asking(Login, [])
    waiting = (await agent.run("go")).checkpoint
    with pytest.raises(InvalidAnswer) as refused:
        await agent.resume(waiting, answer=answer)
    assert CANARY not in str(refused.value) and "12345678" not in str(refused.value)
    assert says in str(refused.value)


async def test_a_secret_that_is_too_short_is_not_said_either() -> None:
    agent = asking({"type": "string", "writeOnly": True, "minLength": 30}, [])
    with pytest.raises(InvalidAnswer) as refused:
        await agent.resume((await agent.run("go")).checkpoint, answer=CANARY)
    assert "CANARY" not in str(refused.value)


async def test_without_a_key_nobody_is_asked_and_nothing_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    agent = asking(Annotated[str, Secret()], [])
    waiting = (await agent.run("go")).checkpoint
    monkeypatch.delenv("ADJOURN_SECRET_KEYS")
    with pytest.raises(Invalid, match="set ADJOURN_SECRET_KEYS") as refused:
        await agent.resume(waiting, answer=CANARY)
    assert "the question stays open" in str(refused.value) and CANARY not in str(refused.value)
    done = await asking(Annotated[str, Secret()], []).run("go")
    assert "asks for a secret" in done.output and "ADJOURN_SECRET_KEYS" in done.output


@pytest.mark.parametrize(
    ("schema", "says"),
    [
        ({"type": "integer", "writeOnly": True}, "no string"),
        (Annotated[str, Secret(keys=object())], "only the keys of ADJOURN_SECRET_KEYS"),
    ],
)
async def test_what_cannot_be_sealed_is_not_asked(schema: Any, says: str) -> None:
    done = await asking(schema, []).run("go")
    assert says in done.output


def test_a_field_of_a_model_that_is_marked_is_no_argument() -> None:
    with pytest.raises(InvalidDefinition, match="login.pin"):

        @tool
        def use(login: Login) -> str:
            """Use it."""
            return login.pin

        assert use.schema


def test_a_model_is_not_told_what_is_secret() -> None:
    @tool
    def pay(card: Annotated[str, Secret()]) -> str:
        """Pay."""
        return card

    assert "writeOnly" not in repr(pay.schema)
