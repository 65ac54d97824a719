"""What the tour does and reads, in two ways: over HTTP, as the console does, and with a `Runtime`
in this process."""

import asyncio
import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import quote

from adjourn.core.decision import DecisionVerb
from adjourn.core.interrupt import Interrupt
from adjourn.errors import Conflict
from adjourn.runtime.runtime import Runtime
from adjourn.views.timeline import Timeline

if TYPE_CHECKING:
    from adjourn.server import RunningServer

SECONDS = 90.0
"""The limit for one request."""


@dataclass(frozen=True, slots=True)
class PendingItem:
    """An open interrupt, as the tour needs it."""

    ref: str
    kind: str
    digest: str
    arguments: dict[str, Any] = field(default_factory=dict[str, Any])
    disowned: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TourStep:
    """A step of a run's timeline, as the tour needs it."""

    name: str
    status: str
    arguments: Any
    result: Any


@dataclass(frozen=True, slots=True)
class TourChoice:
    """How an interrupt is decided."""

    verb: DecisionVerb
    edit: dict[str, Any] | None = None
    value: Any = None
    note: str = ""


class Controls(Protocol):
    """The verbs of the tour."""

    async def item(self, run: str) -> PendingItem | None:
        """The first open interrupt of a run."""
        ...

    async def decide(self, item: PendingItem, choice: TourChoice) -> bool:
        """Decide it; False if another decision was recorded first."""
        ...

    async def pause(self, run: str, reason: str) -> None:
        """Stop at once."""
        ...

    async def resume(self, run: str, instruction: str) -> None:
        """Continue with an instruction."""
        ...

    async def cancel(self, run: str, reason: str) -> None:
        """Stop and undo."""
        ...

    async def cancel_preview(self, run: str) -> list[str]:
        """The tools that a cancel would undo, in that order."""
        ...

    async def status(self, run: str) -> str:
        """The run's status."""
        ...

    async def output(self, run: str) -> Any:
        """The output of a completed run."""
        ...

    async def residue(self, run: str) -> list[str]:
        """The tools that a cancel did not undo."""
        ...

    async def steps(self, run: str) -> list[TourStep]:
        """The run's timeline."""
        ...

    async def live_text(self, run: str) -> str:
        """The first piece of a reply that is not recorded yet."""
        ...

    async def broken(self) -> list[str]:
        """What the audit finds changed."""
        ...


class HttpControls:
    """Over HTTP."""

    def __init__(self, server: "RunningServer") -> None:
        self._server = server
        self._api = f"{server.url}/api/v1"
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def open(self, url: str, body: Any = None, *, token: bool = True) -> Any:
        """Send a request and return the response; raises `HTTPError`."""
        headers = {"Content-Type": "application/json"}
        if token:
            headers["Authorization"] = f"Bearer {self._server.token}"
        data = None if body is None else json.dumps(body).encode()
        return self._opener.open(urllib.request.Request(url, data, headers), timeout=SECONDS)

    async def ask(self, path: str, body: Any = None) -> tuple[int, Any]:
        """The status and the JSON of a response of the API."""

        def send() -> tuple[int, Any]:
            try:
                with self.open(f"{self._api}{path}", body) as response:
                    return response.status, json.loads(response.read() or b"null")
            except urllib.error.HTTPError as error:
                return error.code, json.loads(error.read() or b"null")

        return await asyncio.to_thread(send)

    async def item(self, run: str) -> PendingItem | None:
        """See `Controls.item`."""
        _, found = await self.ask(f"/inbox?run_id={run}")
        if not found.get("items"):
            return None
        first: Mapping[str, Any] = found["items"][0]
        pending: Mapping[str, Any] = first["call"] or {}
        arguments = pending.get("arguments", {})
        return PendingItem(
            first["ref"], first["kind"], first["digest"], arguments, tuple(first["disowned"])
        )

    async def decide(self, item: PendingItem, choice: TourChoice) -> bool:
        """See `Controls.decide`."""
        body: dict[str, Any] = {"digest": item.digest, "note": choice.note}
        if choice.verb == "answer":
            body["value"] = choice.value
        elif choice.edit is not None:
            body["edit"] = choice.edit
        status, _ = await self.ask(f"/interrupts/{quote(item.ref, safe='')}/{choice.verb}", body)
        return status == 200

    async def pause(self, run: str, reason: str) -> None:
        """See `Controls.pause`."""
        await self.ask(f"/runs/{run}/pause", {"reason": reason, "now": True})

    async def resume(self, run: str, instruction: str) -> None:
        """See `Controls.resume`."""
        await self.ask(f"/runs/{run}/resume", {"instruction": instruction})

    async def cancel(self, run: str, reason: str) -> None:
        """See `Controls.cancel`."""
        await self.ask(f"/runs/{run}/cancel", {"reason": reason})

    async def cancel_preview(self, run: str) -> list[str]:
        """See `Controls.cancel_preview`."""
        _, preview = await self.ask(f"/runs/{run}/cancel-preview")
        return [undo["tool"] for undo in preview["undo"]]

    async def status(self, run: str) -> str:
        """See `Controls.status`."""
        _, found = await self.ask(f"/runs/{run}/status")
        return str(found.get("status", ""))

    async def output(self, run: str) -> Any:
        """See `Controls.output`."""
        return (await self.ask(f"/runs/{run}"))[1]["output"]

    async def residue(self, run: str) -> list[str]:
        """See `Controls.residue`."""
        _, found = await self.ask(f"/runs/{run}")
        return [left["tool"] for left in found["residue"]]

    async def steps(self, run: str) -> list[TourStep]:
        """See `Controls.steps`."""
        status, found = await self.ask(f"/runs/{run}/timeline")
        if status != 200:
            return []
        return [
            TourStep(step["name"], step["status"], step["arguments"], step["result"])
            for step in found["steps"]
        ]

    async def live_text(self, run: str) -> str:
        """See `Controls.live_text`."""

        def read() -> str:
            with self.open(f"{self._api}/runs/{run}/events") as stream:
                for raw in stream:
                    line = raw.decode()
                    if line.startswith("data: ") and '"text"' in line and '"record"' not in line:
                        return str(json.loads(line[6:]).get("text", ""))
            return ""

        return await asyncio.to_thread(read)

    async def broken(self) -> list[str]:
        """See `Controls.broken`."""
        return (await self.ask("/audit/verify"))[1]["broken"]

    async def page(self) -> tuple[str, str]:
        """The console's page and its Content-Security-Policy."""

        def load() -> tuple[str, str]:
            with self.open(f"{self._server.url}/", token=False) as response:
                return response.read().decode(), response.headers["Content-Security-Policy"]

        return await asyncio.to_thread(load)

    async def tasks_done(self) -> set[str]:
        """The tasks that the card has ticked."""

        def load() -> set[str]:
            with self.open(f"{self._server.url}/demo/guide") as response:
                items = json.loads(response.read())["items"]
            return {task["id"] for task in items if task["done"]}

        return await asyncio.to_thread(load)


class RuntimeControls:
    """With a runtime in this process, which advances nothing itself."""

    def __init__(self, runtime: Runtime, by: str) -> None:
        self._runtime, self._by = runtime, by

    async def interrupt(self, ref: str) -> Interrupt:
        """The interrupt, whole."""
        return await self._runtime.interrupt(ref)

    async def item(self, run: str) -> PendingItem | None:
        """See `Controls.item`."""
        found = await self._runtime.inbox(run=run, limit=1)
        if not found:
            return None
        first = found[0]
        arguments = first.call.arguments if first.call else {}
        digest = first.call.digest if first.call else ""
        return PendingItem(first.ref, first.kind, digest, arguments, tuple(first.disowned))

    async def decide(self, item: PendingItem, choice: TourChoice) -> bool:
        """See `Controls.decide`."""
        runtime, by = self._runtime, self._by
        try:
            match choice.verb:
                case "approve":
                    await runtime.approve(
                        item.ref, by=by, digest=item.digest, edit=choice.edit, note=choice.note
                    )
                case "deny":
                    await runtime.deny(item.ref, by=by, digest=item.digest, note=choice.note)
                case "answer":
                    await runtime.answer(
                        item.ref, choice.value, by=by, digest=item.digest, note=choice.note
                    )
        except Conflict:
            return False
        return True

    async def pause(self, run: str, reason: str) -> None:
        """See `Controls.pause`."""
        await (await self._runtime.get(run)).pause(by=self._by, reason=reason, now=True)

    async def resume(self, run: str, instruction: str) -> None:
        """See `Controls.resume`."""
        await (await self._runtime.get(run)).resume(instruction, by=self._by)

    async def cancel(self, run: str, reason: str) -> None:
        """See `Controls.cancel`."""
        await (await self._runtime.get(run)).cancel(by=self._by, reason=reason)

    async def cancel_preview(self, run: str) -> list[str]:
        """See `Controls.cancel_preview`."""
        preview = await (await self._runtime.get(run)).cancel_preview()
        return [undo.tool for undo in preview.undo]

    async def status(self, run: str) -> str:
        """See `Controls.status`."""
        return await (await self._runtime.get(run)).status()

    async def output(self, run: str) -> Any:
        """See `Controls.output`."""
        return (await (await self._runtime.get(run)).wait(SECONDS)).output

    async def residue(self, run: str) -> list[str]:
        """See `Controls.residue`."""
        outcome: Any = await (await self._runtime.get(run)).wait(SECONDS)
        return [left["tool"] for left in outcome.residue]

    async def steps(self, run: str) -> list[TourStep]:
        """See `Controls.steps`."""
        store = self._runtime.store
        timeline = Timeline.of(await store.load(run), store.now())
        works = await self.status(run) in ("running", "pausing")
        found: list[TourStep] = []
        for step in timeline.steps:
            # a read has no intent in the journal
            started = works and step.kind == "tool" and step.status == "ready"
            found.append(
                TourStep(
                    step.name, "running" if started else step.status, step.arguments, step.result
                )
            )
        return found

    async def live_text(self, run: str) -> str:
        """See `Controls.live_text`."""
        from adjourn.driver.live_feed import TextArrived

        async for event in (await self._runtime.get(run)).watch():
            if isinstance(event, TextArrived) and event.text:
                return event.text
        return ""

    async def broken(self) -> list[str]:
        """See `Controls.broken`."""
        return await self._runtime.verify()
