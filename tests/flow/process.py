"""Another process: `python -m tests.flow.process FLOW` reads what to do as JSON and prints what came of it as JSON.

`{"start": value}` or `{"load": text}`, then `"answers"`: a list of (field, value of the payload, answer); the
interrupts that fit are answered in that order. `"close": true` closes it at the end.
"""

import asyncio
import json
import subprocess
import sys
from typing import Any

from tests.flow.world import FLOWS, execution


def elsewhere(flow: str, **asked: Any) -> dict[str, Any]:
    """Do it in a process of its own."""
    command = [sys.executable, "-m", "tests.flow.process", flow]
    done = subprocess.run(command, input=json.dumps(asked), capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


async def main(flow: str, asked: dict[str, Any]) -> dict[str, Any]:
    one = execution(FLOWS[flow]())
    if "load" in asked:
        one.load(asked["load"])
    else:
        await one.start(asked["start"])
    for field, payload, answer in asked.get("answers", []):
        [id] = [i.id for i in one.pending_interrupts.values() if i.payload.get(field) == payload]
        await one.continue_with(id, answer, by="somebody")
    state = await one.close() if asked.get("close") else one.state
    pending = [[i.id.partition(":")[2] or i.id, i.path, i.payload] for i in one.pending_interrupts.values()]
    return {"saved": one.save().to_json(), "state": state, "status": one.status, "pending": pending}


if __name__ == "__main__":
    json.dump(asyncio.run(main(sys.argv[1], json.load(sys.stdin))), sys.stdout)
