"""A run, as the tool call that waits for it: its result, or what it must be told first."""

import asyncio
import logging
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import quote

import msgspec

from adjourn.core.codec import text_of
from adjourn.core.interrupt import Interrupt
from adjourn.core.secret_places import has_secrets
from adjourn.errors import AdjournError, Conflict, Invalid, RunFailed
from adjourn.mcp import elicitation
from adjourn.runtime.outcome import Cancelled, Completed, Outcome, Paused, Stopped
from adjourn.runtime.run import Run
from adjourn.runtime.runtime import Runtime

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext
    from mcp_types import CallToolResult, ElicitRequest, InputRequiredResult

log = logging.getLogger("adjourn.mcp")

WAIT = 50.0
"""Seconds for which a call waits for a run; clients give up after a minute."""


class ServedRun:
    """One run, for one call of a client."""

    def __init__(self, rt: Runtime, run: Run[Any], by: str, console: str) -> None:
        self._rt, self._run, self._by, self._console = rt, run, by, console

    async def answer(self, responses: dict[str, Any]) -> None:
        """Give the run what the client has answered, by interrupt. An answer that does not fit is
        asked for again. What is no question is decided elsewhere: by then it is, or it still
        waits."""
        seq = (await self._run.state()).seq
        told = sent_away = False
        for interrupt in await self._rt.inbox(run=self._run.run_id):
            response = responses.get(interrupt.local)
            if response is None:
                continue
            if not elicitation.is_for_client(interrupt):
                sent_away = True
                continue
            try:
                answer = elicitation.answer_of(interrupt, response)
                if answer is not None:
                    await self._rt.answer(interrupt, answer, by=self._by)
                    told = True
            except (Invalid, Conflict) as error:
                log.info("run %s: an answer was not accepted: %s", self._run.run_id, text_of(error))
        if sent_away and not told:
            await self._until_changed(seq)

    async def _until_changed(self, seq: int) -> None:
        """Give a person the time to decide on the page that the client was told of."""
        try:
            async with asyncio.timeout(WAIT):
                async for _ in self._run.watch(after=seq):
                    return
        except TimeoutError:
            return

    async def result(
        self, context: "ServerRequestContext[Any, Any]"
    ) -> "CallToolResult | InputRequiredResult":
        """What the client is told: the output, what is to be answered first, or that it waits."""
        from mcp_types import InputRequiredResult
        from mcp_types.version import MODERN_PROTOCOL_VERSIONS

        while True:
            try:
                outcome = await self._run.wait(timeout=WAIT)
            except TimeoutError:
                return self._said("it is still running", {"status": "running"})
            except RunFailed as failed:
                return self._said(f"it has failed: {text_of(failed)}", {"status": "failed"}, True)
            if not isinstance(outcome, Paused):
                return await self._ended(outcome)
            asked = self._asked(outcome.interrupts, context)
            if not asked:
                return self._waits(outcome.interrupts)
            if context.protocol_version in MODERN_PROTOCOL_VERSIONS:
                return InputRequiredResult(input_requests={**asked}, request_state=self._run.run_id)
            if not await self._ask_now(asked, context):
                return self._waits(outcome.interrupts)

    def _asked(
        self, interrupts: list[Interrupt], context: "ServerRequestContext[Any, Any]"
    ) -> "dict[str, ElicitRequest]":
        """What this client can be asked, by interrupt: questions, and the page for what a person
        must decide. No approval is ever put to a client."""
        able = context.session.client_capabilities
        if able is None or able.elicitation is None:
            return {}
        found: dict[str, ElicitRequest] = {}
        for interrupt in interrupts:
            if elicitation.is_for_client(interrupt) and not has_secrets(interrupt.answer_schema):
                found[interrupt.local] = elicitation.form_request(interrupt)
            elif self._console and able.elicitation.url is not None:
                url = f"{self._console}/inbox/{quote(interrupt.ref, safe='')}"
                found[interrupt.local] = elicitation.link_request(interrupt, url)
        return found

    async def _ask_now(
        self, asked: "dict[str, ElicitRequest]", context: "ServerRequestContext[Any, Any]"
    ) -> bool:
        """Ask a client of 2025-11-25, in its open call; whether the run was told anything."""
        from mcp.shared.exceptions import MCPError
        from mcp_types import ElicitResult

        answers: dict[str, Any] = {}
        for local, request in asked.items():
            if request.params.mode != "form":
                continue
            try:
                said = await context.session.send_request(request, ElicitResult)
            except MCPError:
                return False
            answers[local] = said.model_dump(mode="json", exclude_none=True)
        if not any(one["action"] != "cancel" for one in answers.values()):
            return False
        await self.answer(answers)
        return True

    async def _ended(self, outcome: Outcome[Any]) -> "CallToolResult":
        from mcp_types import CallToolResult, TextContent

        if isinstance(outcome, Stopped):
            return self._said(
                f"it was stopped by {outcome.by}: {outcome.partial}", {"status": "stopped"}, True
            )
        if isinstance(outcome, Cancelled):
            return self._said("it was cancelled", {"status": "cancelled"}, True)
        assert isinstance(outcome, Completed)
        output = (await self._run.state()).output
        if isinstance(output, str):
            return CallToolResult(content=[TextContent(text=output)])
        text = msgspec.json.encode(output).decode()
        structured = cast("dict[str, Any]", output) if isinstance(output, dict) else None
        return CallToolResult(content=[TextContent(text=text)], structured_content=structured)

    def _waits(self, interrupts: list[Interrupt]) -> "CallToolResult":
        asked = [elicitation.question_of(one) for one in interrupts if one.kind == "question"]
        kinds = [one.kind for one in interrupts if one.kind != "question"]
        what = "; ".join([*asked, *kinds]) or "a person"
        said = f"it is waiting for a person: {what}. Nothing more happens until then"
        about = {
            "status": "waiting",
            "interrupts": [{"ref": one.ref, "kind": one.kind} for one in interrupts],
        }
        return self._said(said, about)

    def _said(self, text: str, about: dict[str, Any], is_error: bool = False) -> "CallToolResult":
        from mcp_types import CallToolResult, TextContent

        run = self._run.run_id
        told = TextContent(text=f"Run {run}: {text}. Ask for it with adjourn_run.")
        return CallToolResult(
            content=[told], structured_content={"run_id": run, **about}, is_error=is_error
        )


def refused(error: AdjournError) -> "CallToolResult":
    """What a client is told whose call did nothing."""
    from mcp_types import CallToolResult, TextContent

    return CallToolResult(content=[TextContent(text=text_of(error))], is_error=True)
