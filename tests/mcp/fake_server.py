"""A small MCP server on stdin and stdout, for what real ones do not do: to die, to change, to ask as 2026-07-28 does.

`python fake_server.py FOLDER [modern]`. FOLDER/tools.json has its tools; what it was called with goes to FOLDER/calls.jsonl. Nothing but
the standard library, so that it starts at once.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any, cast

FOLDER = Path(sys.argv[1])
MODERN = "modern" in sys.argv[2:]
STATE = "sealed by the server"
FORM = {"type": "object", "properties": {"note": {"type": "string"}}, "required": ["note"]}
QUESTION = {"mode": "form", "message": "Why?", "requestedSchema": FORM}
PIN = {"type": "object", "properties": {"pin": {"type": "string", "writeOnly": True}}, "required": ["pin"]}
QUESTIONS = {"confirm": QUESTION, "login": {"mode": "form", "message": "Who are you?", "requestedSchema": PIN}}
LINK = {"mode": "url", "message": "Sign in first.", "url": "https://bank.example/in", "elicitationId": "e1"}


def send(**message: Any) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def read() -> dict[str, Any]:
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    return json.loads(line)


def text(said: str, **more: Any) -> dict[str, Any]:
    return {"resultType": "complete", "content": [{"type": "text", "text": said}], **more}


def noted(params: dict[str, Any]) -> None:
    kept = {key: params[key] for key in ("name", "arguments", "inputResponses", "requestState") if key in params}
    with (FOLDER / "calls.jsonl").open("a") as file:
        file.write(json.dumps({**kept, "pid": os.getpid()}) + "\n")
        file.flush()
        os.fsync(file.fileno())


def confirmed(params: dict[str, Any]) -> dict[str, Any]:
    """Asks why, or for a PIN, before it does anything."""
    question = QUESTIONS[params["name"]]
    if not MODERN:
        send(id=1000, method="elicitation/create", params=question)
        said = read()["result"]
    elif params.get("requestState") == STATE:
        said = params["inputResponses"]["why"]
    else:
        asked = {"why": {"method": "elicitation/create", "params": question}}
        return {"resultType": "input_required", "inputRequests": asked, "requestState": STATE}
    if said["action"] != "accept":
        return text(f"not done: {said['action']}")
    [given] = said["content"].values()
    (FOLDER / "done").write_text(given)
    return text(f"done: {given}")


def asked_late(params: dict[str, Any]) -> dict[str, Any] | None:
    """What was called first goes on when something else is called; it asks the same, and says what it has done."""
    order = params["arguments"]["order"]
    if order == "first":
        print("late is called", file=sys.stderr, flush=True)
        other = read_call()
        asked_late({"arguments": {"order": "first after all"}})
        send(id=other["id"], result=asked_late(other["params"]))
        return None
    send(id=1000, method="elicitation/create", params=QUESTION)
    said = read()["result"]
    with (FOLDER / "late").open("a") as file:
        file.write(f"{order}: {said['action']}\n")
    return text(f"{order}: {said['action']}")


def read_call() -> dict[str, Any]:
    """Wait until another call comes. Meanwhile it can be asked for its tools."""
    while True:
        message = read()
        if message.get("method") == "tools/call":
            return message
        if message.get("method") == "tools/list":
            send(id=message["id"], result={"tools": json.loads((FOLDER / "tools.json").read_text())})


def called(params: dict[str, Any]) -> dict[str, Any] | None:
    noted(params)
    match params["name"]:
        case "die":
            os._exit(1)
        case "hang":
            print("hang is called", file=sys.stderr, flush=True)
            return None
        case "confirm" | "login":
            return confirmed(params)
        case "late":
            return asked_late(params)
        case "insist":
            result = confirmed({**params, "name": "confirm"})
            return result if (FOLDER / "done").exists() else {"error": "no answer, no result"}
        case "later":
            if params.get("requestState") == STATE:
                return text("at last")
            return {"resultType": "input_required", "requestState": STATE}
        case "env":
            return text(" ".join(f"{name}={os.environ.get(name)}" for name in ("GIVEN", "BANK_KEY", "ADJOURN_INSIDE")))
        case "fail":
            return text("no such order", isError=True)
        case _:
            return text(f"{params['name']} was called")


def main() -> None:
    while True:
        message = read()
        method, id, params = (
            message.get("method"),
            message.get("id"),
            cast("dict[str, Any]", message.get("params") or {}),
        )
        listed = json.loads((FOLDER / "tools.json").read_text())
        fresh = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
        if id is None:
            continue
        if method == "server/discover" and MODERN:
            send(id=id, result={**fresh, "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}})
        elif method == "initialize" and not MODERN:
            about: dict[str, Any] = {"serverInfo": {"name": "fake", "version": "1"}, "capabilities": {"tools": {}}}
            send(id=id, result={"protocolVersion": "2025-11-25", **about})
        elif method == "tools/list":
            send(id=id, result={**(fresh if MODERN else {}), "tools": listed})
        elif method == "tools/call" and params["name"] == "visit" and not (FOLDER / "visited").exists():
            noted(params)
            send(id=id, error={"code": -32042, "message": "Sign in first.", "data": {"elicitations": [LINK]}})
        elif method == "tools/call":
            result = called(params)
            if result is not None and "error" in result:
                send(id=id, error={"code": -32603, "message": result["error"]})
            elif result is not None:
                send(id=id, result=result)
        else:
            send(id=id, error={"code": -32601, "message": f"no method {method}"})


if __name__ == "__main__":
    main()
