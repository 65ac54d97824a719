"""The names, signatures and defaults that the design gives are exact, and its programs run as they are written."""

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.docs.test_snippets import names, run_page

from adjourn import Agent, Decision, Flow, FlowContext, Policy, Run, Runtime, ToolContext, ask, pause_for
from adjourn.core.messages import ToolResult
from adjourn.testing import ScriptedModel, call

__all__ = ["names"]

PAGE = Path(__file__).parent / "design.md"
FREE = object()
"""A default that the design does not name."""

SIGNATURES: dict[Callable[..., Any], dict[str, Any]] = {
    Agent: {
        "instructions": "", "tools": (), "policy": None, "output_type": str, "settings": None, "retries": 3, "on_change": "refuse",
        "history": FREE, "stop": FREE,
    },
    Agent.run: {"resources": None, "after": None},
    Agent.resume: {
        "answer": FREE, "answers": None, "approved": None, "instruction": None, "by": None, "resources": None, "on_change": None,
    },
    pause_for: {
        "type": "question", "payload": None, "resume_to": "next", "interrupt_id": None, "answer_schema": None, "expires_in": None,
        "on_expiry": "deny",
    },
    Policy: {"default": FREE},
    ask: {
        "when": None, "reason": "", "expires_in": None, "on_expiry": "deny", "escalate_to": (), "remind_every": None, "approvers": 1,
        "groups": (), "each": False, "not_requester": False, "queue": False, "valid_for": None, "name": None,
    },
    Runtime: {
        "programs": (), "resources": None, "secret": None, "deciders": None, "lease": 15.0, "grace": 5.0, "concurrency": FREE,
        "retain": None, "on_change": "refuse", "work": True,
    },
    Runtime.start: {"run_id": None, "session": None, "labels": None},
    Runtime.runs: {"status": FREE, "agent": FREE, "session": FREE, "label": FREE, "after": FREE, "limit": FREE},
    Runtime.approve: {"digest": FREE, "edit": FREE, "request_id": FREE},
    Run.pause: {"by": FREE, "reason": FREE, "now": False},
    Run.resume: {"instruction": FREE, "by": FREE},
    Run.cancel: {"by": FREE, "reason": FREE},
    Run.watch: {"after": 0},
    Run.fork: {"at": FREE, "answers": FREE},
    Decision.approve: {"note": FREE, "edit": FREE},
    Decision.deny: {"note": FREE},
    Flow.create_execution: {"auto_close": True, "auto_close_timeout": 10.0, "resources": None},
    ScriptedModel: {"delay": 0.0},
}  # fmt: skip

MEMBERS: dict[type[object], str] = {
    ToolContext: (
        "run_id call_id idempotency_key epoch resources pause_requested cancel_requested progress "
        "pause_for step sleep save on_cancel publish"
    ),
    FlowContext: ("resources is_resume resume idempotency_key emit publish pause_for step sleep on_cancel wait_for"),
}


@pytest.fixture
def with_scripts(names: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What stands around the programs; a provider's name stands for a model that follows a script."""

    def scripted(*replies: Any) -> ScriptedModel:
        return ScriptedModel(*replies)

    def resolve(model: object) -> object:
        if not isinstance(model, str):
            return model
        asks = [call("ask_operator", question="approve the refund of order 123?")]

        def answer(messages: Any) -> str:
            result = messages[-1]
            assert isinstance(result, ToolResult)
            return f"the operator said {result.content}"

        return ScriptedModel(asks, answer)

    monkeypatch.setattr("adjourn.models.pydantic_ai.provider.resolve", resolve)
    saved = list[str]()
    names |= {
        "save": saved.append, "load": lambda: saved[-1], "notify": lambda payload: print("told", payload),  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
        "scripted": scripted, "call": call,
    }  # fmt: skip
    return names


def test_the_programs_of_the_design_run_unchanged(with_scripts: dict[str, Any]) -> None:
    run_page(PAGE, PAGE.read_text("utf-8"), with_scripts)


@pytest.mark.parametrize("thing", SIGNATURES, ids=lambda thing: thing.__qualname__)
def test_the_parameters_and_defaults_are_those_of_the_design(thing: Callable[..., Any]) -> None:
    parameters = inspect.signature(thing).parameters
    for name, default in SIGNATURES[thing].items():
        found = parameters[name].default
        assert found is not inspect.Parameter.empty
        assert default is FREE or found == default, f"{name}={found!r}"


@pytest.mark.parametrize("kind", MEMBERS, ids=lambda kind: kind.__name__)
def test_a_context_has_the_members_that_the_design_names(kind: type[object]) -> None:
    annotated = {name for base in kind.__mro__ for name in inspect.get_annotations(base)}
    assert not [name for name in MEMBERS[kind].split() if not hasattr(kind, name) and name not in annotated]
