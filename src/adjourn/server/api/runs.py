"""Runs: their lists and what is shown of one, and what a person does with one."""

import hashlib
from collections.abc import Generator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

import msgspec
from starlette.responses import Response

from adjourn.core.action_digest import digest
from adjourn.core.ids import parse_fork
from adjourn.core.records import Started
from adjourn.core.status import ENDED, Status
from adjourn.errors import (
    NotAllowed,
    RequestReused,
    RunExists,
)
from adjourn.runtime.checked_answers import MISSING
from adjourn.runtime.fleet_report import noted
from adjourn.runtime.pruner import holds_of
from adjourn.runtime.run_again import known_program
from adjourn.runtime.run_start import begun_by, check_request
from adjourn.server.api.decider import check_decider
from adjourn.server.api.event_stream import event_stream, last_seen
from adjourn.server.api.files import given_files
from adjourn.server.api.pages import filter_of, page, whole
from adjourn.server.api.startable import startable
from adjourn.server.api_request import MAX_BODY, ApiRequest, answered, operation, run_verb
from adjourn.server.rights import RunPlace
from adjourn.server.run_access import has_right_on, knows_program, visible_runs
from adjourn.server.schemas import (
    AFTER,
    ANYTHING,
    AT,
    DIGEST,
    EVENT,
    FILTERS,
    FLAG,
    LABELS,
    LINES,
    NAME,
    NOTE,
    OBJECTS,
    PAGES,
    RUN_ID,
    STATUS,
    TEXT,
    WORD,
    Schema,
    answer,
    many,
    maybe,
    ref,
    thing,
)
from adjourn.server.sse import run_events
from adjourn.stores.erasure import Hold
from adjourn.stores.fleet import Misfit
from adjourn.stores.run_row import RunRow
from adjourn.views.again_preview import AgainPreview
from adjourn.views.api_answers import (
    DONE,
    AcceptedChanges,
    CheckpointText,
    Done,
    DroppedQuestions,
    ErasureView,
    ForkRef,
    Ok,
    ProgramView,
    RecordView,
    RunRef,
)
from adjourn.views.cancel_preview import CancelPreview
from adjourn.views.misfit_view import version
from adjourn.views.run_view import RunSummary, RunView, run_summary, run_view

LAST: dict[str, Schema] = {"Last-Event-ID": {"type": "string", "pattern": "^[0-9]{0,15}$"}}
QUEUE: Schema = {"enum": ["session"]}
PRIORITY: Schema = {"type": "integer", "minimum": -1000, "maximum": 1000}
SIGNAL: Schema = {"type": "string", "minLength": 1, "maxLength": 200, "pattern": "^[^@]"}
SAYS: Schema = {"type": "string", "minLength": 1, "maxLength": 80_000}
GIVEN: Schema = thing(("$data",), **{"$data": TEXT, "type": TEXT, "name": TEXT})
SAID: Schema = {"type": "array", "items": {"anyOf": [SAYS, GIVEN]}, "minItems": 1, "maxItems": 100}
"""Strings and files, in the order in which an agent reads them."""
CONTROLS = (404, 409)
THIS_RUN = {"parameters": {"run_id": "$response.body#/run_id"}}
RUN_VERBS = (
    "get_run",
    "get_records",
    "pause_run",
    "resume_run",
    "cancel_run",
    "say_to_run",
    "fork_run",
)

# Read


@operation(
    "GET /runs",
    "read",
    many(RunSummary),
    query={"status": STATUS, "search": WORD, **FILTERS, **PAGES},
    reaches="some",
)
async def list_runs(c: ApiRequest) -> Any:
    """Runs, newest first."""
    wanted = filter_of(c, status=c.query.get("status", ""))
    found = await visible_runs(c, wanted, c.query.get("search", ""))
    return page(found, wanted.limit, lambda run: run.run_id)


@operation("GET /programs", "read", many(ProgramView), reaches="some")
async def list_programs(c: ApiRequest) -> Any:
    """What this server can start."""
    items = [
        ProgramView(name=program.name, kind=program.kind, picture=program.diagram())
        for program in c.rt.programs.values()
        if knows_program(c.who, program.name)
    ]
    return whole(items)


@operation("GET /runs/{run_id}", "read", ref(RunView), headers={"If-None-Match": TEXT}, also=(304,))
async def get_run(c: ApiRequest) -> Any:
    """A run: its status, its open interrupts and its steps.

    304 if the client has it already.
    """
    row = await c.rt.store.get(c.path["run_id"])
    note, holds = await _note(c, row), holds_of(row, await c.rt.holds())
    halts = await c.rt.halts()
    tag = _tag(run_summary(row, halts, c.rt.store.now()), note, holds)
    if c.request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers={"ETag": tag})
    row, state = await c.app.folds.of(row.id)
    shown = run_view(row, state, halts, c.rt.store.now(), misfit=note, holds=holds)
    return answered(shown, {"ETag": _tag(shown, note, holds)})


async def _note(c: ApiRequest, row: RunRow) -> Misfit | None:
    """Why a worker has refused a run that waits for one."""
    if row.status == Status.READY:
        return await noted(c.rt.store, row.id)
    return None


def _tag(run: RunSummary, note: Misfit | None, holds: Sequence[Hold]) -> str:
    """The version of a run that is shown: no record says what a worker noted, a hold or a halt."""
    said = ""
    if note:
        said += f"-{version(note)[:16]}-{digest(note.why)[:8]}"
    if holds:
        said += f"-{digest([hold.scope for hold in holds])[:8]}"
    if run.held_by:
        said += f"-{digest(run.held_by)[:8]}"
    return f'W/"{run.seq}-{run.status}{said}"'


@operation("GET /runs/{run_id}/status", "read", ref(RunSummary))
async def get_status(c: ApiRequest) -> Any:
    """A run's status and summary.

    Cheap, however long its journal.
    """
    return run_summary(await c.rt.store.get(c.path["run_id"]), await c.rt.halts(), c.rt.store.now())


@operation("GET /runs/{run_id}/records", "read", many(RecordView), query=LINES)
async def get_records(c: ApiRequest) -> Any:
    """Its journal."""
    row, limit = await c.rt.store.get(c.path["run_id"]), c.query.get("limit", 200)
    found = (await c.rt.store.load(row.id, c.query.get("after", 0)))[:limit]
    items = [RecordView.of(seq, record) for seq, record in found]
    return page(items, limit, lambda item: item.seq)


@operation("GET /runs/{run_id}/messages", "read", answer(items=OBJECTS))
async def get_messages(c: ApiRequest) -> Any:
    """Its conversation."""
    _, state = await c.app.folds.of(c.path["run_id"])
    return {"items": msgspec.to_builtins(await c.rt.worker.earlier.conversation(state))}


@operation("GET /runs/{run_id}/checkpoint", "read", ref(CheckpointText), problems=(409,))
async def get_checkpoint(c: ApiRequest) -> Any:
    """Its checkpoint.

    It is JSON text: it is signed, so it must arrive as it is.
    """
    run = await c.rt.get(c.path["run_id"])
    return CheckpointText(checkpoint=(await run.checkpoint()).to_json())


@operation("GET /runs/{run_id}/cancel-preview", "read", ref(CancelPreview))
async def preview_cancel(c: ApiRequest) -> Any:
    """What a cancel would do."""
    return await (await c.rt.get(c.path["run_id"])).cancel_preview()


@operation("GET /runs/{run_id}/again-preview", "read", ref(AgainPreview))
async def preview_again(c: ApiRequest) -> Any:
    """Effects that a second run may repeat."""
    return await (await c.rt.get(c.path["run_id"])).again_preview()


@operation(
    "GET /runs/{run_id}/events",
    "read",
    EVENT,
    query={"after": AFTER, "follow": FLAG},
    headers=LAST,
    also=(204,),
    stream=True,
)
async def watch_run(c: ApiRequest) -> Any:
    """Its records and live text, as server-sent events.

    From where the client was.
    """
    last = last_seen(c) or 0
    row = await c.rt.store.get(c.path["run_id"])
    if row.status in ENDED and row.seq <= last:
        return Response(status_code=204)  # a browser would otherwise ask again for ever
    events = run_events(c.rt, c.app.tapes, row.id, last, follow=c.query.get("follow", True))
    return event_stream(c, events)


# Control


@contextmanager
def begun_once(c: ApiRequest) -> Generator[str | None]:
    """The id of the run that is begun within: with an Idempotency-Key it follows from that, so that
    the same request again is the same run. Raises `RequestReused` for another one with that key."""
    if not c.request_id:
        yield None
        return
    text = hashlib.sha256(f"adjourn/run\0{c.request_id}".encode()).hexdigest()[:20].upper()
    run = "-".join(text[k : k + 4] for k in range(0, 20, 4))
    try:
        with begun_by(run, digest("request", c.request.url.path, c.body)):
            yield run
    except RunExists:
        raise RequestReused(c.request_id) from None


@operation(
    "POST /runs",
    "control",
    ref(RunRef),
    problems=CONTROLS,
    size=MAX_BODY,
    body={
        **thing(
            ("agent", "input"),
            agent=NAME,
            input=ANYTHING,
            run_id=RUN_ID,
            session=NAME,
            labels=LABELS,
            queue=QUEUE,
            priority=PRIORITY,
            after=maybe(RUN_ID),
        ),
        "dependentRequired": {"queue": ["session"]},
    },
    links=dict.fromkeys(RUN_VERBS, THIS_RUN),
    reaches="some",
)
async def start_run(c: ApiRequest) -> Any:
    """Start a run."""
    b, labels = c.body, c.body.get("labels")
    wanted = RunPlace(b["agent"], b.get("session", ""), labels or {})
    stamped = await startable(c, wanted, after=b.get("after"), run_id=b.get("run_id"))
    if stamped is not None:
        labels = stamped
    with nullcontext(b["run_id"]) if b.get("run_id") else begun_once(c) as new:
        run = await c.rt.start(
            known_program(c.rt.programs, b["agent"]),
            given_files(b["input"]),
            run_id=new,
            session=b.get("session"),
            labels=labels,
            by=c.who.name,
            queue=b.get("queue"),
            priority=int(b.get("priority", 0)),  # 3.0 is an integer in JSON Schema
            after=b.get("after", MISSING),
        )
    return RunRef(run_id=run.id)


@run_verb("pause", "control", ref(Ok), thing(now=FLAG, reason=NOTE))
async def pause_run(c: ApiRequest) -> Any:
    """Pause: at the next boundary, or now."""
    run = await c.rt.get(c.path["run_id"])
    reason, now = c.body.get("reason", ""), c.body.get("now", False)
    await run.pause(by=c.who.name, reason=reason, now=now, request_id=c.request_id)
    return DONE


@run_verb("resume", "control", ref(Ok), thing(instruction=NOTE), problems=(*CONTROLS, 423))
async def resume_run(c: ApiRequest) -> Any:
    """Resume, perhaps with an instruction."""
    run = await c.rt.get(c.path["run_id"])
    await run.resume(c.body.get("instruction", ""), by=c.who.name, request_id=c.request_id)
    return DONE


@run_verb("cancel", "control", ref(Ok), thing(reason=NOTE))
async def cancel_run(c: ApiRequest) -> Any:
    """Cancel and undo."""
    run = await c.rt.get(c.path["run_id"])
    await run.cancel(by=c.who.name, reason=c.body.get("reason", ""), request_id=c.request_id)
    return DONE


@run_verb("erase", "admin", ref(ErasureView), thing(("reason",), reason=NAME, whole=FLAG))
async def erase_run(c: ApiRequest) -> Any:
    """Erase a run's content; it must have ended."""
    run = await c.rt.get(c.path["run_id"])
    if c.body.get("whole", False) and not c.who.may_everywhere("admin"):
        raise NotAllowed("only an admin of all runs can erase a whole conversation")
    done = await run.erase(by=c.who.name, reason=c.body["reason"], whole=c.body.get("whole", False))
    return ErasureView(seq=done.seq, scrubbed=done.scrubbed, others=done.others, turns=done.turns)


@run_verb("chapter", "control", ref(Done), thing(reason=NOTE))
async def begin_chapter(c: ApiRequest) -> Any:
    """Continue as new; nothing may be in flight."""
    run = await c.rt.get(c.path["run_id"])
    why = c.body.get("reason", "")
    seq = await run.continue_as_new(by=c.who.name, why=why, request_id=c.request_id)
    return Done(seq=seq)


@run_verb("accept", "decide", ref(AcceptedChanges), thing(("digest",), digest=DIGEST))
async def accept_run(c: ApiRequest) -> Any:
    """Let it continue although its definition changed.

    This run only, and the version that was shown.
    """
    run = await c.rt.get(c.path["run_id"])
    await check_decider(c, run.id)
    changes = await run.accept(by=c.who.name, digest=c.body["digest"], request_id=c.request_id)
    return AcceptedChanges(accepted=changes)


@run_verb(
    "say",
    "control",
    ref(DroppedQuestions),
    thing(("text",), text={"anyOf": [SAYS, SAID]}, abandon=FLAG),
    size=MAX_BODY,
)
async def say_to_run(c: ApiRequest) -> Any:
    """Send the agent a message."""
    run = await c.rt.get(c.path["run_id"])
    abandon = c.body.get("abandon", False)
    said = given_files(c.body["text"])
    dropped = await run.say(said, by=c.who.name, abandon=abandon, request_id=c.request_id)
    return DroppedQuestions(dropped=tuple(i.ref for i in dropped))


@run_verb(
    "emit", "control", ref(Ok), thing(("event",), event=SIGNAL, value=ANYTHING), size=MAX_BODY
)
async def emit_to_run(c: ApiRequest) -> Any:
    """Send an event."""
    run = await c.rt.get(c.path["run_id"])
    await run.emit(
        c.body["event"],
        given_files(c.body.get("value")),
        by=c.who.name,
        request_id=c.request_id,
        decides=await has_right_on(c.app, c.who, "decide", run.id),
    )
    return DONE


@run_verb(
    "fork",
    "control",
    ref(ForkRef),
    thing(at=AT, input=ANYTHING, instruction=NOTE, answers={"enum": ["reopen", "keep"]}),
    size=MAX_BODY,
)
async def fork_run(c: ApiRequest) -> Any:
    """A new run from a boundary of this one.

    Whoever keeps people's answers decides.
    """
    run = await c.rt.get(c.path["run_id"])
    changed = {"input": given_files(c.body["input"])} if "input" in c.body else {}
    answers = c.body.get("answers", "reopen")
    if answers == "keep" and not await has_right_on(c.app, c.who, "decide", run.id):
        raise NotAllowed(
            f"{c.who.name!r} is {c.who.role}: keeping people's answers in a fork needs the right to decide",
            advice="with answers='reopen' they are asked again",
        )
    with begun_once(c) as new:
        try:
            made = await run.fork(
                c.body.get("at"),
                instruction=c.body.get("instruction", ""),
                run_id=new,
                by=c.who.name,
                answers=answers,
                **changed,
            )
        except RunExists:
            if new is None:
                raise
            await check_request(c.rt.store, new, new=False)
            made = await c.rt.get(new)
    [(_, first), *_] = await c.rt.store.load(made.id)
    assert isinstance(first, Started)
    return ForkRef(run_id=made.id, at_seq=parse_fork(first.forked_from)[1])
