"""A provider on loopback that works in the background, as OpenAI's Responses API does: a thread of the test's own
process, so that a test sees every request and can kill who made it."""

import json
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class BackgroundProvider:
    """What was handed in, by id. `honours`: the same Idempotency-Key gives the same response."""

    def __init__(self) -> None:
        self.url = ""
        self.honours = False
        self.lock = threading.Lock()
        self.responses: dict[str, dict[str, Any]] = {}
        self.keys: dict[str, str] = {}
        self.bodies: list[dict[str, Any]] = []
        self.looks: list[str] = []
        self.cancelled: list[str] = []
        self.on_submit: Callable[[], None] = lambda: None
        self.on_look: Callable[[], None] = lambda: None
        self.on_cancel: Callable[[], None] = lambda: None

    def submit(self, body: dict[str, Any], key: str) -> dict[str, Any]:
        with self.lock:
            if self.honours and key in self.keys:
                return self.responses[self.keys[key]]
            id = f"resp_{len(self.responses):04}"
            self.keys[key] = id
            self.bodies.append(body)
            self.responses[id] = response(id, "queued", body.get("model", ""))
            return self.responses[id]

    def finish(self, id: str, text: str) -> None:
        with self.lock:
            self.responses[id] = response(id, "completed", "m-1", text)

    def fail(self, id: str) -> None:
        with self.lock:
            self.responses[id] = {
                **response(id, "failed", "m-1"),
                "error": {"code": "server_error", "message": "it broke"},
            }

    def cancel(self, id: str) -> dict[str, Any]:
        with self.lock:
            self.cancelled.append(id)
            self.responses[id] = {**response(id, "cancelled", "m-1"), "usage": USAGE}
            return self.responses[id]


USAGE = {
    "input_tokens": 1200,
    "input_tokens_details": {"cached_tokens": 100},
    "output_tokens": 340,
    "output_tokens_details": {"reasoning_tokens": 300},
    "total_tokens": 1540,
}


def response(id: str, status: str, model: str, text: str = "") -> dict[str, Any]:
    """As the API shows one."""
    said: dict[str, Any] = {"type": "output_text", "text": text, "annotations": []}
    message: dict[str, Any] = {
        "type": "message",
        "id": f"msg_{id}",
        "role": "assistant",
        "status": "completed",
        "content": [said],
    }
    return {
        "id": id,
        "object": "response",
        "created_at": 1_700_000_000,
        "status": status,
        "background": True,
        "model": model,
        "output": [message] if text else [],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": USAGE if text else None,
        "metadata": {},
        "store": True,
    }


@contextmanager
def background_provider() -> Generator[BackgroundProvider]:
    """One, on a port of its own."""
    provider = BackgroundProvider()

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:
            pass

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or b"{}")
            parts = self.path.strip("/").split("/")
            if parts[-1] == "cancel":
                ended = provider.cancel(parts[-2])
                provider.on_cancel()
                self.answer(200, ended)
                return
            found = provider.submit(body, self.headers.get("idempotency-key", ""))
            provider.on_submit()
            self.answer(200, found)

        def do_GET(self) -> None:
            id = self.path.partition("?")[0].rpartition("/")[2]
            provider.looks.append(id)
            provider.on_look()
            found = provider.responses.get(id)
            if found is None:
                self.answer(404, {"error": {"message": f"no response {id}", "type": "invalid_request_error"}})
            else:
                self.answer(200, found)

        def answer(self, status: int, body: dict[str, Any]) -> None:
            raw = json.dumps(body).encode()
            try:
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(raw)))
                self.end_headers()
                self.wfile.write(raw)
            except OSError:  # who asked is dead
                pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    provider.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield provider
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)
