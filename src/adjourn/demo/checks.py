"""The tour of the demo in the browser, taken by a program: over HTTP, as the console does, and every claim checked."""

import asyncio
import json
import os
import signal
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

from adjourn.demo.intruder import RUN
from adjourn.demo.programs import shelves
from adjourn.demo.stage import Stage, can_sign
from adjourn.demo.tour import TourFailed

PATIENCE = 90.0
"""Seconds for anything; each takes well under ten."""
INSTRUCTION = "Finish now, in three lines."


class Visitor:
    """Somebody who takes the tour. `told` is given each line; `checks` counts what was found to be so."""

    def __init__(self, on: Stage, told: Callable[[str], None]) -> None:
        self._stage, self._told = on, told
        self._base = f"{on.serving.url}/api/v1"
        self.checks = 0

    async def visit(self) -> None:
        """All of it; raises `TourFailed` at the first thing that is not so."""
        await self._page()
        await self._refund()
        await self._research()
        await self._deployment()
        await self._kill()
        await self._forgery()
        await self._rest()

    # Asking

    async def ask(self, path: str, body: Any = None) -> tuple[int, Any]:
        """One request; the status and the JSON of its answer."""
        return await asyncio.to_thread(self._ask, path, body)

    def _ask(self, path: str, body: Any) -> tuple[int, Any]:
        headers = {"Authorization": f"Bearer {self._stage.serving.token}", "Content-Type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self._base}{path}", data, headers, method="GET" if body is None else "POST")
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=PATIENCE) as answer:
                return answer.status, json.loads(answer.read() or b"null")
        except urllib.error.HTTPError as e:
            return e.code, json.loads(e.read() or b"null")

    async def until(self, path: str, so: Callable[[Any], bool], what: str) -> Any:
        """What `path` gives once it is so."""
        try:
            async with asyncio.timeout(PATIENCE):
                while True:
                    status, value = await self.ask(path)
                    if status == 200 and so(value):
                        return value
                    await asyncio.sleep(0.05)
        except TimeoutError:
            raise TourFailed(f"{what}: not within {PATIENCE:g} s") from None

    def check(self, true: bool, what: str) -> None:
        """Go on only if it is so."""
        if not true:
            raise TourFailed(f"{what}: it is not so")
        self.checks += 1
        self._told(f"✓ {what}")

    async def task(self, name: str) -> bool:
        """Whether the card has ticked this task."""
        _, guide = await self.ask("/guide")
        return next(t["done"] for t in guide["items"] if t["id"] == name)

    # Parts

    async def _page(self) -> None:
        def load() -> tuple[int, str, str]:
            opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
            try:
                with opener.open(self._stage.serving.url + "/", timeout=PATIENCE) as answer:
                    return answer.status, answer.headers["Content-Security-Policy"], answer.read().decode()
            except urllib.error.HTTPError as e:
                return e.code, "", ""

        status, policy, text = await asyncio.to_thread(load)
        self.check(status == 200 and "<script" in text, "the console is served")
        self.check("script-src 'self'" in policy, "and runs no script but its own")

    async def _refund(self) -> None:
        run = "DEMO-1"
        inbox = await self.until(f"/inbox?run={run}", lambda v: bool(v["items"]), "the refund waits in the inbox")
        item = inbox["items"][0]
        self.check(
            item["call"]["arguments"]["cents"] == 48250, "the refund of 48250 waits in the inbox, and nothing ran"
        )
        self.check(self._acts("refund") == [], "the ledger knows of no refund")
        path = f"/interrupts/{quote(item['ref'], safe='')}/approve"
        body = {"digest": item["digest"], "edit": {**item["call"]["arguments"], "cents": 39900}, "note": "less"}
        answers = await asyncio.gather(*(self.ask(path, body) for _ in range(3)))
        codes = sorted(code for code, _ in answers)
        self.check(codes == [200, 409, 409], "approved three times at once with 39900, it was taken once")
        await self.until(f"/runs/{run}/status", lambda v: v["status"] == "completed", "the refund run ends")
        paid = [e.args["cents"] for e in self._acts("refund")]
        self.check(paid == [39900], "39900 was paid, once")
        self.check(await self.task("refund"), "the card has ticked it")

    async def _research(self) -> None:
        run = "DEMO-2"
        words = await self._live(run)
        self.check(bool(words.strip()), f"its text grows before the model has ended: “{words.strip()[:40]}…”")
        _, ok = await self.ask(f"/runs/{run}/pause", {"reason": "a look", "now": True})
        self.check(ok == {"ok": True}, "pause now is taken")
        await self.until(f"/runs/{run}/status", lambda v: v["status"] == "paused", "the research pauses")
        before = (await self.ask(f"/runs/{run}/status"))[1]["seq"]
        await self.ask(f"/runs/{run}/resume", {"instruction": INSTRUCTION})
        await self.until(f"/runs/{run}/status", lambda v: v["status"] == "completed", "the research ends")
        _, state = await self.ask(f"/runs/{run}")
        self.check(INSTRUCTION in str(state["output"]), "it read the instruction and finished in three lines")
        read = Counter((e.key, e.args["supplier"]) for e in self._acts("fetch_page", effects=False))
        self.check(all(n == 1 for n in read.values()), "no page was read twice")
        self.check(before > 0 and await self.task("research"), "the card has ticked it")

    async def _live(self, run: str) -> str:
        """Words of a reply that is not recorded yet, as the stream gives them."""

        def read() -> str:
            headers = {"Authorization": f"Bearer {self._stage.serving.token}"}
            request = urllib.request.Request(f"{self._base}/runs/{run}/events", headers=headers)
            opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
            with opener.open(request, timeout=PATIENCE) as stream:
                for raw in stream:
                    line = raw.decode()
                    if line.startswith("data: ") and '"text"' in line and '"record"' not in line:
                        return str(json.loads(line[6:]).get("text", ""))
            return ""

        return await asyncio.to_thread(read)

    async def _deployment(self) -> None:
        run = "DEMO-3"
        await self.until(f"/runs/{run}/timeline", _is_running("wait_healthy"), "the deployment waits for its regions")
        _, preview = await self.ask(f"/runs/{run}/cancel-preview")
        self.check(
            [x["tool"] for x in preview["undo"]] == UNDOES[::-1], "the preview names three things to undo, last first"
        )
        await self.ask(f"/runs/{run}/cancel", {"reason": "wrong team"})
        await self.until(f"/runs/{run}/status", lambda v: v["status"] == "cancelled", "the deployment is cancelled")
        undone = [e.tool for e in self._stage.ledger if e.tool in TAKEN_BACK]
        self.check(undone == TAKEN_BACK, "three things came down again, last one first, each once")
        _, state = await self.ask(f"/runs/{run}")
        self.check([x["tool"] for x in state["residue"]] == ["announce"], "one is left behind, and it says why")
        self.check(await self.task("deployment"), "the card has ticked it")

    async def _kill(self) -> None:
        run, pid = "DEMO-4", self._stage.pids[-1]
        await self.until(f"/runs/{run}/timeline", _is_running("count_shelf"), "a shelf is being counted")
        os.kill(pid, signal.SIGKILL)
        self._told(f"  kill -9 {pid}")
        await self.until(f"/runs/{run}/status", lambda v: v["status"] == "completed", "the stocktaking ends")
        self.check(
            self._stage.pids[-1] != pid, f"process {self._stage.pids[-1]} went on where process {pid} was killed"
        )
        counted = Counter(e.args["shelf"] for e in self._acts("count_shelf"))
        keys = {(e.key, e.args["shelf"]) for e in self._acts("count_shelf")}
        _, state = await self.ask(f"/runs/{run}/timeline")
        results = Counter(
            s["arguments"]["shelf"] for s in state["steps"] if s["name"] == "count_shelf" and s["status"] == "completed"
        )
        self.check(sorted(counted) == list(range(1, shelves() + 1)), f"all {shelves()} shelves were counted")
        self.check(len(keys) == len(counted) and set(results.values()) == {1}, "each has one key and one result")
        self.check(await self.task("worker"), "the card has ticked it")

    async def _forgery(self) -> None:
        run = RUN
        if not can_sign():
            self._told("  pip install 'adjourn[signing]' to see an agent fail that approves its own payment")
            return
        await self._stage.begin_the_night()
        inbox = await self.until(
            f"/inbox?run={run}",
            lambda v: any(x["disowned"] for x in v["items"]),
            "the worker disowns what nobody signed",
        )
        said = str(await self.until(f"/runs/{run}/timeline", _is_done("shell"), "the shell comes back"))
        self.check(
            "a run cannot decide" in said, "an agent with a shell ran adjourn approve for its own payment: refused"
        )
        self.check(
            inbox["items"][0]["disowned"] == ["ana"] and self._acts("pay_bonus") == [],
            "it wrote “ana agreed” into the database file: not signed, so nothing ran, and the item says so",
        )
        path = f"/interrupts/{quote(inbox['items'][0]['ref'], safe='')}/approve"
        await self.ask(path, {"digest": inbox["items"][0]["digest"]})
        await self.until(f"/runs/{run}/status", lambda v: v["status"] == "completed", "the night ends")
        self.check(len(self._acts("pay_bonus")) == 1, "a person agreed, the server signed it, and it was paid, once")

    async def _rest(self) -> None:
        _, found = await self.ask("/audit/verify")
        self.check(found["broken"] == [], "every journal and the audit are as they were written")

    def _acts(self, tool: str, *, effects: bool = True) -> list[Any]:
        return [e for e in self._stage.ledger if e.tool == tool and (e.effect or not effects)]


UNDOES = ["create_dns_record", "create_load_balancer", "create_tls_cert"]
TAKEN_BACK = ["revoke_tls_cert", "delete_load_balancer", "delete_dns_record"]


def _is_running(name: str) -> Callable[[Any], bool]:
    return lambda v: any(s["name"] == name and s["status"] == "running" for s in v["steps"])


def _is_done(name: str) -> Callable[[Any], bool]:
    return lambda v: any(s["name"] == name and s["status"] == "completed" for s in v["steps"])
