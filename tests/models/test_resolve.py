"""What may be passed as a model, and what is loaded when."""

import subprocess
import sys
import textwrap
from collections.abc import AsyncIterator

import pytest

from adjourn.core.messages import Delta, ModelRequest, Reply, UserMessage
from adjourn.errors import InvalidDefinition, ModelError, can_resume
from adjourn.models.model import Model
from adjourn.models.pydantic_ai.provider import PydanticAIModel, resolve


class Own:
    name = "own"

    async def request(self, request: ModelRequest) -> AsyncIterator[Delta | Reply]:
        yield Reply()


def run(code: str, *arguments: str) -> str:
    """What a fresh interpreter prints."""
    command = [sys.executable, "-c", textwrap.dedent(code), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


ASK = """
    import asyncio, sys
    from adjourn.core.messages import ModelRequest, UserMessage
    from adjourn.models.pydantic_ai.provider import resolve

    class Missing:
        def find_spec(self, name, path=None, target=None):
            if name.partition(".")[0] == sys.argv[1]:
                raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    async def ask(model):
        try:
            async for _ in resolve(model).request(ModelRequest((UserMessage("Hello"),))):
                pass
        except Exception as e:
            print(type(e).__name__, e)

    sys.meta_path.insert(0, Missing())
    for model in sys.argv[2:]:
        asyncio.run(ask(model))
"""


def test_our_own_models_pass_through() -> None:
    own: Model = Own()
    assert resolve(own) is own


def test_a_string_is_taken_on_trust() -> None:
    model = resolve("nobody:knows-this")
    assert isinstance(model, PydanticAIModel)
    assert model.name == "nobody:knows-this"
    assert repr(model) == "PydanticAIModel('nobody:knows-this')"


@pytest.mark.parametrize("wrong", ["gpt-5-mini", "", ":gpt", "openai:", 42, None, Own, object()])
def test_anything_else_is_refused_and_told_what_is_accepted(wrong: object) -> None:
    with pytest.raises(InvalidDefinition, match="openai:gpt-5-mini"):
        resolve(wrong)


def test_nothing_of_pydantic_ai_is_loaded_before_the_first_request() -> None:
    code = """
        import sys
        from adjourn.models.pydantic_ai.provider import resolve
        resolve("openai:gpt-5-mini").name
        try:
            resolve(object())
        except ValueError:
            pass
        print(sorted({m.partition(".")[0] for m in sys.modules} & {"pydantic_ai", "pydantic", "openai", "httpx2"}))
    """
    assert run(code) == "[]"


@pytest.mark.parametrize(
    ("missing", "advice"),
    [
        (
            "pydantic_ai",
            {
                "openai:gpt-5-mini": "adjourn[openai]",
                "anthropic:claude-haiku-4-5": "adjourn[anthropic]",
                "deepseek:deepseek-chat": "adjourn[openai]",
            },
        ),
        ("openai", {"openai:gpt-5-mini": "adjourn[openai]", "deepseek:deepseek-chat": "adjourn[openai]"}),
        ("anthropic", {"anthropic:claude-haiku-4-5": "adjourn[anthropic]"}),
        ("cohere", {"cohere:command-r": "pydantic-ai-slim[cohere]"}),
    ],
)
def test_a_missing_package_says_what_to_install(missing: str, advice: dict[str, str]) -> None:
    said = run(ASK, missing, *advice).splitlines()
    assert len(said) == len(advice)
    for line, extra in zip(said, advice.values(), strict=True):
        assert line.startswith("InvalidDefinition")
        assert f"pip install '{extra}'" in line


@pytest.mark.parametrize(
    ("model", "key"), [("openai:gpt-5-mini", "OPENAI"), ("anthropic:claude-haiku-4-5", "ANTHROPIC")]
)
async def test_a_missing_key_is_not_worth_another_attempt(
    model: str, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("_API_KEY", "_BASE_URL"):
        monkeypatch.delenv(key + name, raising=False)
    with pytest.raises(ModelError, match=f"{key}_API_KEY") as caught:
        await anext(aiter(resolve(model).request(ModelRequest((UserMessage("Hello"),)))))
    assert (caught.value.kind, caught.value.transient) == ("auth", False)
    assert "pydantic" not in str(caught.value).lower()
    assert not can_resume(caught.value)


async def test_an_unknown_provider_is_refused_by_name() -> None:
    with pytest.raises(InvalidDefinition, match=r"nobody:model.*adjourn\[openai\]"):
        await anext(aiter(resolve("nobody:model").request(ModelRequest((UserMessage("Hello"),)))))
