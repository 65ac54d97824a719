"""A server that plays OpenAI, Anthropic and Google, and models of ours that talk to it.

The server (npm's aimock) answers from fixtures but checks little of what it is sent, so every request is held against
the rules that the real providers enforce.
"""

import asyncio
import json
import os
import shutil
import socket
import subprocess
import time
from collections.abc import AsyncGenerator, AsyncIterator, Generator, Iterator
from contextlib import asynccontextmanager, contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any, NoReturn
from urllib.error import URLError
from urllib.request import Request, urlopen

import httpx2
import pytest

from adjourn.core.messages import Delta, ModelRequest, Reply
from adjourn.models.model import Model
from adjourn.models.pydantic_ai.provider import PydanticAIModel

HERE = Path(__file__).parent
SERVER = HERE / "node_modules" / "@copilotkit" / "aimock" / "dist" / "cli.js"


class MockServer:
    """A running aimock. What it was asked is in its journal."""

    def __init__(self, url: str) -> None:
        self.url = url

    def control(self, path: str, body: Any = None, method: str | None = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = Request(self.url + path, data, {"Content-Type": "application/json"}, method=method)
        with urlopen(request, timeout=10) as response:
            text = response.read().decode()
        return json.loads(text) if text[:1] in "{[" else text

    def is_up(self) -> bool:
        try:
            self.control("/health")
        except (URLError, OSError):
            return False
        return True

    def answer(self, response: dict[str, Any], *, match: dict[str, Any] | None = None, **more: Any) -> None:
        """Answer requests that match (all, if nothing is said) with this; the first fixture that matches wins."""
        self.control("/__aimock/fixtures", {"fixtures": [{"match": match or {}, "response": response, **more}]})

    def journal(self) -> list[dict[str, Any]]:
        """Every request that asked for an answer."""
        return [e for e in self.control("/__aimock/journal") if e["method"] == "POST"]

    def hung_up(self) -> int:
        """How many clients have gone before their answer was complete."""
        lines = str(self.control("/metrics")).splitlines()
        counted = [line for line in lines if line.startswith("aimock_requests_total{") and 'status="destroyed"' in line]
        return sum(int(float(line.split()[-1])) for line in counted)

    async def sees_one_hang_up(self, before: int) -> None:
        """Wait until one more has gone than `before`."""
        for _ in range(2000):
            if self.hung_up() > before:
                return
            await asyncio.sleep(0.01)
        pytest.fail("the server never saw the connection close")


def unavailable(why: str) -> NoReturn:
    """Without the server these tests prove nothing: skipped on a developer's machine, a failure in CI."""
    if os.environ.get("CI"):
        pytest.fail(why, pytrace=False)
    pytest.skip(why)


@contextmanager
def running(*options: str) -> Generator[MockServer]:
    """A server of one's own, on a free port; it is gone at the end."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        unavailable("the mock provider server needs node and npm")
    if not SERVER.exists():
        command = [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
        installed = subprocess.run(command, cwd=HERE, capture_output=True, text=True, check=False)
        if installed.returncode:
            unavailable(f"npm could not install the mock provider server: {installed.stderr.strip()}")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [node, str(SERVER), "-p", str(port), "--metrics", "--log-level", "silent", *options]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    server = MockServer(f"http://127.0.0.1:{port}")
    try:
        until = time.monotonic() + 30
        while not server.is_up():
            if process.poll() is not None or time.monotonic() > until:
                pytest.fail("the mock provider server does not start")
            time.sleep(0.02)
        yield server
    finally:
        process.terminate()
        process.wait()


@pytest.fixture(scope="session")
def mock_process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MockServer]:
    with running("-f", str(tmp_path_factory.mktemp("fixtures"))) as server:
        yield server


@pytest.fixture(scope="session")
def malformed_server() -> Iterator[MockServer]:
    """A server whose models get arguments wrong. The control API refuses such fixtures; a file is taken."""
    with running("-f", str(HERE / "malformed.json")) as server:
        yield server


@pytest.fixture
def server(mock_process: MockServer, monkeypatch: pytest.MonkeyPatch) -> MockServer:
    """The mock server, with nothing to say and nothing remembered; provider strings lead to it."""
    mock_process.control("/__aimock/reset", {})
    monkeypatch.setenv("OPENAI_BASE_URL", f"{mock_process.url}/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "mock")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", mock_process.url)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "mock")
    monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", mock_process.url)
    monkeypatch.setenv("GOOGLE_API_KEY", "mock")
    return mock_process


class Signing(httpx2.AsyncHTTPTransport):
    """Adds a signature to each call in what comes from the server."""

    def __init__(self, signature: str) -> None:
        super().__init__()
        self._mark = f'"thoughtSignature":"{signature}","functionCall":'.encode()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        response = await super().handle_async_request(request)
        body = (await response.aread()).replace(b'"functionCall":', self._mark)
        await response.aclose()
        kind = response.headers["content-type"]
        return httpx2.Response(response.status_code, headers={"content-type": kind}, content=body)


class Providers:
    """Models that talk to the mock server over one client, which notes what is sent."""

    def __init__(self, server: MockServer, client: httpx2.AsyncClient) -> None:
        self.server, self._client = server, client
        self.sent: list[dict[str, Any]] = []
        self.paths: list[str] = []

    async def note(self, request: httpx2.Request) -> None:
        self.paths.append(request.url.path)
        self.sent.append(json.loads(request.content))

    def openai(self, name: str = "gpt-4o-mini") -> Model:
        from pydantic_ai.models.openai import OpenAIChatModel

        return PydanticAIModel(OpenAIChatModel(name, provider=self._openai()))

    def responses(self, name: str = "gpt-5-mini") -> Model:
        from pydantic_ai.models.openai import OpenAIResponsesModel

        return PydanticAIModel(OpenAIResponsesModel(name, provider=self._openai()))

    def _openai(self) -> Any:
        from pydantic_ai.providers.openai import OpenAIProvider

        return OpenAIProvider(base_url=f"{self.server.url}/v1", api_key="mock", http_client=self._client)

    def anthropic(self, name: str = "claude-haiku-4-5") -> Model:
        from pydantic_ai.models.anthropic import AnthropicModel
        from pydantic_ai.providers.anthropic import AnthropicProvider

        provider = AnthropicProvider(base_url=self.server.url, api_key="mock", http_client=self._client)
        return PydanticAIModel(AnthropicModel(name, provider=provider))

    def google(self, name: str = "gemini-2.5-flash", client: httpx2.AsyncClient | None = None) -> Model:
        from pydantic_ai.models.google import GoogleModel
        from pydantic_ai.providers.google import GoogleProvider

        provider = GoogleProvider(base_url=self.server.url, api_key="mock", http_client=client or self._client)
        return PydanticAIModel(GoogleModel(name, provider=provider))

    @asynccontextmanager
    async def signing_google(self, signature: str) -> AsyncGenerator[Model]:
        """Gemini, which signs its calls."""
        noted = {"request": [self.note]}
        async with httpx2.AsyncClient(transport=Signing(signature), timeout=60, event_hooks=noted) as client:
            yield self.google(client=client)

    def named(self, wire: str) -> Model:
        made = {
            "openai": self.openai,
            "responses": self.responses,
            "anthropic": self.anthropic,
            "google": self.google,
        }
        return made[wire]()


@pytest.fixture
async def providers(server: MockServer) -> AsyncIterator[Providers]:
    async with httpx2.AsyncClient(timeout=60) as client:
        made = Providers(server, client)
        client.event_hooks = {"request": [made.note]}
        yield made
    for path, body in zip(made.paths, made.sent, strict=True):
        if ":" not in path:
            RULES[path](body)
        else:
            google_rules(body)


class Asked:
    """One request, listened to until its end."""

    def __init__(self, deltas: list[Delta], reply: Reply) -> None:
        self.deltas, self.reply = deltas, reply


@pytest.fixture
def ask() -> Any:
    """`await ask(model, request)`: its deltas and its reply, having checked that exactly one reply ends it."""

    async def asked(model: Model, request: ModelRequest) -> Asked:
        items = [item async for item in model.request(request)]
        replies = [item for item in items if isinstance(item, Reply)]
        assert [items[-1]] == replies
        return Asked([item for item in items if not isinstance(item, Reply)], replies[0])

    return asked


# What the real providers refuse.


def openai_chat_rules(body: dict[str, Any]) -> None:
    waiting: list[str] = []
    for message in body["messages"]:
        if message["role"] == "tool":
            assert message["tool_call_id"] == waiting.pop(0), "every call has its result, in order"
            assert isinstance(message["content"], str)
            continue
        assert not waiting, f"no result for {waiting} before the next message"
        if message["role"] == "assistant":
            assert message.get("content") or message.get("tool_calls"), "an empty message"
            waiting = [call["id"] for call in message.get("tool_calls") or ()]
            assert len(waiting) == len(set(waiting))
            assert all(type(json.loads(c["function"]["arguments"])) is dict for c in message.get("tool_calls") or ())
    assert not waiting
    assert body["messages"][-1]["role"] in ("user", "tool")


def openai_responses_rules(body: dict[str, Any]) -> None:
    called = [item["call_id"] for item in body["input"] if item.get("type") == "function_call"]
    results = [item["call_id"] for item in body["input"] if item.get("type") == "function_call_output"]
    assert called == results
    assert len(called) == len(set(called))
    end: dict[str, Any] = {}
    for item, after in pairwise([*body["input"], end]):
        if item.get("type") == "function_call":
            assert type(json.loads(item["arguments"])) is dict
        if item.get("type") == "reasoning":
            assert item.get("encrypted_content") or item.get("id")
            assert after.get("type") in ("message", "function_call", "reasoning"), "reasoning without what it led to"
    assert body["input"][-1].get("role") == "user" or body["input"][-1].get("type") == "function_call_output"


def anthropic_rules(body: dict[str, Any]) -> None:
    waiting: list[str] = []
    roles = [message["role"] for message in body["messages"]]
    assert roles[0] == roles[-1] == "user", "the model cannot have the first or the last word"
    assert all(a != b for a, b in pairwise(roles)), "roles alternate"
    for message in body["messages"]:
        content = message["content"]
        blocks: list[dict[str, Any]] = [{"type": "text", "text": content}] if isinstance(content, str) else content
        assert blocks, "an empty message"
        for block in blocks:
            if block["type"] == "text":
                assert block["text"].strip(), "an empty text block"
            elif block["type"] == "thinking":
                assert block["signature"]
            elif block["type"] == "tool_use":
                assert type(block["input"]) is dict
        if message["role"] == "user":
            results = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
            assert results == waiting, "every call has its result, in order"
            assert [block["type"] for block in blocks[: len(results)]] == ["tool_result"] * len(results)
        waiting = [block["id"] for block in blocks if block["type"] == "tool_use"]
        assert len(waiting) == len(set(waiting))


def google_rules(body: dict[str, Any]) -> None:
    roles = [content["role"] for content in body["contents"]]
    assert roles[0] == roles[-1] == "user", "the model cannot have the first or the last word"
    waiting: list[str] = []
    for content in body["contents"]:
        answered = [part["functionResponse"]["name"] for part in content["parts"] if "functionResponse" in part]
        if content["role"] == "user":
            assert answered == waiting, "every call has its result, in order"
        waiting = [part["functionCall"]["name"] for part in content["parts"] if "functionCall" in part]


RULES = {
    "/v1/chat/completions": openai_chat_rules,
    "/v1/responses": openai_responses_rules,
    "/v1/messages": anthropic_rules,
}
