"""Tools of a front end: what it offers with a request, and what it says came of their calls. The run
waits for that; whoever may control the run may say it, because nobody is asked to agree."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, cast

from adjourn.agent.dict_tool import DictTool
from adjourn.core.action_digest import digest as digest_of
from adjourn.core.client_tool import CLIENT_TOOL, client_calls
from adjourn.core.ids import ref_of
from adjourn.core.interrupt import Interrupt
from adjourn.core.records import Suspended
from adjourn.core.schema import check_schema
from adjourn.driver.sealed_answers import check_askable
from adjourn.errors import Invalid, InvalidDefinition
from adjourn.server.api_request import ApiRequest
from adjourn.server.front_ends.interrupt_answer import kept_answer
from adjourn.server.front_ends.thread_turn import ThreadTurn, closed_after, last_turn
from adjourn.server.run_access import refusal


class ReturnedCall(NamedTuple):
    """What came of a call, as a front end says: the call's id there, and the result."""

    call: str
    value: Any

    async def request_id(self, by: str, waits: Interrupt) -> str:
        """The same result of the same person is the same request, however often it is sent.

        Args:
            by: who says it.
            waits: the call, as it waits for the result.
        """
        return f"front-end/{digest_of(by, self.call, await kept_answer(waits, self.value))}"


def offered_tools(tools: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The tools of a front end, as a run is started with them; raises `Invalid`.

    Args:
        tools: as AG-UI describes them.
    """
    found: list[dict[str, Any]] = []
    for tool in tools:
        name, description = tool["name"], tool.get("description", "")
        schema = tool.get("parameters") or {"type": "object"}
        result = _result_schema(tool)
        if why := _fault(name, description, schema, result):
            raise Invalid(
                why, consequence="nothing was started", advice="leave it out, or correct it"
            )
        one = {"name": name, "description": description, "schema": schema}
        if result is not None:
            one["result"] = result
        found.append(one)
    return found


def _result_schema(tool: Mapping[str, Any]) -> Any:
    """The schema of what comes of a tool's calls, if the front end says one."""
    found: Any = tool.get("metadata")
    for name in ("adjourn", "result"):
        if not isinstance(found, dict):
            return None
        found = cast("dict[str, Any]", found).get(name)
    return found


def _fault(name: str, description: str, schema: Any, result: Any) -> str:
    """Why this is no tool; "" if it is one."""
    try:
        DictTool(name, description, schema, lambda *_: None)
        if result is not None:
            check_schema(result, f"tool {name!r}: the schema of its result")
            check_askable(result, f"the tool {name!r}")
    except InvalidDefinition as e:
        return str(e)
    return ""


async def returned_turn(
    c: ApiRequest, thread: str, returned: Sequence[ReturnedCall]
) -> ThreadTurn | None:
    """Give results to the calls that wait for them, and find where that continues the run. The same
    results again count once; results of other calls are history. None if all are.

    Args:
        c: the request; its path names the agent.
        thread: the thread.
        returned: what came of calls.
    """
    run = (await last_turn(c, thread)).run
    waiting, known = await _calls(c, run)
    named = [one for one in returned if one.call in known]
    if not named:
        return None
    if (refused := await refusal(c.app, c.who, "control", run)) is not None:
        raise refused
    seqs: list[int] = []
    for one in named:
        if one.call in waiting:
            seqs.append(await _answer(c, waiting[one.call], one))
    if not seqs:
        return ThreadTurn(run, await closed_after(c, run, [known[one.call] for one in named]))
    return ThreadTurn(run, min(seqs) - 1)


async def _answer(c: ApiRequest, waits: Interrupt, one: ReturnedCall) -> int:
    return await c.rt.answer(
        waits,
        one.value,
        by=c.who.name,
        digest=waits.digest,
        groups=c.who.groups,
        request_id=await one.request_id(c.who.name, waits),
    )


async def _calls(c: ApiRequest, run: str) -> tuple[dict[str, Interrupt], dict[str, str]]:
    """The calls of a front end's tools by their ids there: those that wait, and the interrupts of
    all that ever did."""
    _, state = await c.app.folds.of(run)
    waiting = {ref_of(run, call): found for call, found in client_calls(state).items()}
    known = {call: found.local for call, found in waiting.items()}
    for _, record in await c.rt.store.load(run):
        if isinstance(record, Suspended) and record.type == CLIENT_TOOL and record.i:
            known.setdefault(ref_of(run, record.call), record.i)
    return waiting, known
