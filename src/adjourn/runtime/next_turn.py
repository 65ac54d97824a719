"""What the next turn of a finished conversation begins with: of a run, of the last one of its session,
or of a checkpoint."""

from typing import TYPE_CHECKING, Any

import msgspec

from adjourn.core.files import attached
from adjourn.core.state import State
from adjourn.core.status import ENDED
from adjourn.driver.earlier_turns import ref_of
from adjourn.errors import CheckpointInvalid, Conflict, Refused
from adjourn.runtime.arguments import head_of
from adjourn.runtime.checkpoint import Saved, taken_over
from adjourn.runtime.definition import Definition
from adjourn.runtime.erasure_verbs import check_content, check_turn
from adjourn.runtime.run import Run
from adjourn.stores.protocol import Filter, Store

if TYPE_CHECKING:
    from adjourn.runtime.runtime import Runtime


async def conversation_before(
    rt: "Runtime", program: Definition[Any], after: "Run[Any] | Saved | None"
) -> dict[str, Any]:
    """What a run begins with that goes on with another's conversation: a run's, the run's of this
    id, or a checkpoint's.

    It refers to that run if the store has it; else the conversation is copied. Raises `UnknownRun`,
    `CheckpointInvalid`, or `Refused` if that run has not ended; `Conflict` if either is a flow.
    """
    if after is None:
        return next_turn(None)
    if program.kind == "flow":
        raise Conflict(
            f"{program.name!r} is a flow, which has no conversation: after= is for agents"
        )
    if isinstance(after, str) and not after.lstrip().startswith("{"):
        after = await rt.get(after)
    if isinstance(after, Run):
        return await _referring(rt.store, after.id)
    saved = await check_turn(rt.store, taken_over(after, secret=rt.secret))
    found = await rt.store.turns(saved.run_id, saved.seq, 1)
    if found:
        salt = (await rt.store.get(saved.run_id)).salt
        if found[0].head in (
            head_of(salt, saved.records),
            head_of(salt, saved.by_itself().records),
        ):
            return _taken_over(saved.state, found[0].head)
    return next_turn(saved, rt.secret)


async def last_of_session(
    rt: "Runtime", program: Definition[Any], session: str, run_id: str
) -> dict[str, Any]:
    """What a run begins with that goes on with the last one of its session that is of the same
    agent; with nothing if there is none. The store looks again when it begins the run: two that
    begin at once never both go on with the same turn.

    Raises `Refused` if the last run has not ended.
    """
    if program.kind == "flow":
        return next_turn(None)
    begun = {"options": {"after": "session"}}
    if run_id and await rt.row(run_id):  # the same start again: the store says that it is there
        return {**next_turn(None), **begun}
    found = await rt.store.runs(Filter(session=session, program=program.name, limit=1))
    if not found or found[0].id == run_id:  # the same start, elsewhere, at this very moment
        return {**next_turn(None), **begun}
    try:
        return {**await _referring(rt.store, found[0].id), **begun}
    except Refused as e:
        advice = (
            "wait for it, or start with after=None, which starts a new conversation in the session"
        )
        raise Refused(e.run_id, "continue", e.run_status, advice=advice) from None


async def _referring(store: Store, run: str) -> dict[str, Any]:
    while True:
        row = await store.get(run)
        records = check_content(run, await store.load(run))
        if len(records) == row.seq:  # else somebody has appended in between
            return _taken_over(State().fold_all(enumerate(records, 1)), row.head)


def _taken_over(state: State, head: bytes) -> dict[str, Any]:
    before = going_on(state)
    state.head = head
    return {**before, "after": ref_of(state)}


def next_turn(after: Saved | None, secret: str | None = None) -> dict[str, Any]:
    """What the next turn of a finished conversation begins with: messages, session, and who shaped
    it so far."""
    if after is None:
        return {"history": [], "session": "", "requesters": ()}
    if isinstance(after, str) and not after.lstrip().startswith("{"):
        raise CheckpointInvalid(
            f"after= must be a checkpoint, got {after!r:.80}",
            consequence="no run was started",
            advice=(
                "pass outcome.checkpoint; only a runtime can find a run by its id: "
                "rt.start(agent, input, after=run_id)"
            ),
        )
    checkpoint = taken_over(after, secret=secret)
    history = attached(msgspec.to_builtins(checkpoint.messages), checkpoint.files)
    return {**going_on(checkpoint.state), "history": history}


def going_on(state: State) -> dict[str, Any]:
    """What the next turn after this run takes over, beside its messages. Raises `Refused` if it has
    not ended."""
    started = state.started
    if started.kind != "agent":
        raise Conflict(
            f"run {started.run!r} is a run of the flow {started.program!r}, which has no conversation"
        )
    if state.status not in ENDED:
        raise Refused(
            started.run,
            "continue",
            state.view,
            advice="finish or resume it first: after= continues a finished conversation",
        )
    shaped = tuple(sorted(state.requesters))
    return {"session": started.session, "requesters": shaped, "summary": state.threads[""].summary}
