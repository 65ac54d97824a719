"""Every operation of the API. Each is a few lines over a verb of the runtime; GET never changes state."""

from typing import Any

import msgspec

from adjourn.core.decision import Decision
from adjourn.core.interrupt import Interrupt
from adjourn.core.records import Cancelled, Completed
from adjourn.core.state import State
from adjourn.errors import Invalid, NotFound
from adjourn.runtime.run import look
from adjourn.server.operation import Call, Operation
from adjourn.server.schemas import (
    ANYTHING,
    FLAG,
    LABELS,
    NAME,
    NOTE,
    NUMBER,
    TEXT,
    WHOLE,
    answer,
    many,
    ref,
    thing,
)
from adjourn.server.stream import inbox_events, run_events, sse
from adjourn.stores.store import Filter, Halt, RunRow

LIMIT = {"type": "integer", "minimum": 1, "maximum": 200}
AFTER = {"type": "integer", "minimum": 0, "maximum": 2**53 - 1}
DONE = answer(seq=WHOLE)
OK = answer(ok=FLAG)


# Looking


async def list_runs(c: Call) -> Any:
    q = c.query
    label = tuple(q["label"].split("=", 1)) if "=" in q.get("label", "") else None
    limit = q.get("limit", 50)
    rows = await c.rt.runs(
        status=q.get("status", ""), agent=q.get("agent", ""), session=q.get("session", ""), label=label,  # pyright: ignore[reportArgumentType]
        text=q.get("text", ""), since=q.get("since", 0), until=q.get("until", 0), after=q.get("after", ""), limit=limit,
    )  # fmt: skip
    return {
        "items": [run_json(r, c.rt.store.now()) for r in rows],
        "after": rows[-1].id if len(rows) == limit else None,
    }


async def get_run(c: Call) -> Any:
    row = await c.rt.store.get(c.path["run"])
    state = State().fold_all(await c.rt.store.load(row.id))
    seen = look(state)
    ended = state.ended
    return {
        "run": run_json(row, c.rt.store.now()), "input": seen.input, "steps": seen.steps, "usage": usage_json(seen.usage),
        "interrupts": [interrupt_json(i, row.program, state.threads[""].text if "" in state.threads else "") for i in seen.interrupts],
        "calls": seen.calls, "done": seen.done, "data": seen.data, "text": seen.text,
        "output": ended.output if isinstance(ended, Completed) else None,
        "undone": list(ended.undone) if isinstance(ended, Cancelled) else [],
        "residue": list(ended.residue) if isinstance(ended, Cancelled) else [],
        "children": [{"path": p, "agent": t.agent, "text": t.text, "done": t.final} for p, t in state.threads.items() if p],
    }  # fmt: skip


async def get_records(c: Call) -> Any:
    row = await c.rt.store.get(c.path["run"])
    limit = c.query.get("limit", 200)
    found = (await c.rt.store.load(row.id, c.query.get("after", 0)))[:limit]
    items = [{"seq": seq, "record": msgspec.to_builtins(record)} for seq, record in found]
    return {"items": items, "after": str(items[-1]["seq"]) if len(items) == limit else None}


async def get_messages(c: Call) -> Any:
    run = await c.rt.get(c.path["run"])
    return {"items": msgspec.to_builtins(await run.messages())}


async def get_checkpoint(c: Call) -> Any:
    run = await c.rt.get(c.path["run"])
    return {"checkpoint": (await run.checkpoint()).to_json()}


async def get_preview(c: Call) -> Any:
    preview = await (await c.rt.get(c.path["run"])).cancel_preview()
    return {"in_flight": preview.in_flight, "undo": preview.undo, "residue": preview.residue}


async def get_run_audit(c: Call) -> Any:
    row = await c.rt.store.get(c.path["run"])
    limit = c.query.get("limit", 100)
    rows = await c.rt.store.audit(row.id, after=c.query.get("after", 0), limit=limit)
    return {"items": [r.entry for r in rows], "after": str(rows[-1].n) if len(rows) == limit else None}


async def watch_run(c: Call) -> Any:
    run = await c.rt.get(c.path["run"])
    last = c.request.headers.get("last-event-id", "") or str(c.query.get("after", 0))
    if not last.isdigit() or len(last) > 15:
        raise Invalid(f"Last-Event-ID is the number of a record, not {last!r:.40}")
    return sse(run_events(c.rt, run.id, int(last)))


async def list_inbox(c: Call) -> Any:
    q = c.query
    limit = q.get("limit", 50)
    found = await c.rt.inbox(
        agent=q.get("agent", ""), kind=q.get("kind", ""), run=q.get("run", ""), after=q.get("after", ""), limit=limit
    )
    items = [interrupt_json(i, await program_of(c, i.run_id), "") for i in found]
    return {"items": items, "after": found[-1].id if len(found) == limit else None}


async def watch_inbox(c: Call) -> Any:
    return sse(inbox_events(c.rt))


async def get_interrupt(c: Call) -> Any:
    found = await c.rt.interrupt(c.path["interrupt"])
    state = State().fold_all(await c.rt.store.load(found.run_id))
    thread = state.threads.get(found.path) or state.threads.get("")
    item = interrupt_json(found, state.started.program, thread.text if thread else "")
    is_open = found.id in {i.id for i in state.interrupts}
    decided = [
        r
        for r in await c.rt.store.audit(found.run_id, limit=1000)
        if r.entry.get("interrupt") == found.id.removeprefix(f"{found.run_id}:")
    ]
    return {"interrupt": item, "open": is_open, "run_status": state.view, "attempts": [r.entry for r in decided]}


async def list_halts(c: Call) -> Any:
    return {"items": [halt_json(h) for h in await c.rt.halts()], "after": None}


async def list_audit(c: Call) -> Any:
    return {"items": await c.rt.audit(after=0, limit=c.query.get("limit", 100)), "after": None}


async def verify_audit(c: Call) -> Any:
    return {"broken": await c.rt.verify()}


async def who_am_i(c: Call) -> Any:
    return {
        "name": c.who.name,
        "role": c.who.role,
        "groups": list(c.who.groups),
        "csrf": c.who.csrf,
        "now": c.rt.store.now(),
    }


# Doing


async def start_run(c: Call) -> Any:
    b = c.body
    program = c.rt.programs.get(b["program"])
    if program is None:
        known = ", ".join(map(repr, c.rt.programs)) or "none"
        raise NotFound(f"this server has no program {b['program']!r:.80}; it has {known}")
    run = await c.rt.start(
        program, b["input"], run_id=b.get("run_id"), session=b.get("session"), labels=b.get("labels"), by=c.who.name
    )
    return {"id": run.id}


async def pause_run(c: Call) -> Any:
    run = await c.rt.get(c.path["run"])
    await run.pause(
        by=c.who.name, reason=c.body.get("reason", ""), now=c.body.get("now", False), request_id=c.request_id
    )
    return {"ok": True}


async def resume_run(c: Call) -> Any:
    run = await c.rt.get(c.path["run"])
    await run.resume(c.body.get("instruction", ""), by=c.who.name, request_id=c.request_id)
    return {"ok": True}


async def cancel_run(c: Call) -> Any:
    run = await c.rt.get(c.path["run"])
    await run.cancel(by=c.who.name, reason=c.body.get("reason", ""), request_id=c.request_id)
    return {"ok": True}


async def say_to_run(c: Call) -> Any:
    run = await c.rt.get(c.path["run"])
    dropped = await run.say(
        c.body["text"], by=c.who.name, abandon=c.body.get("abandon", False), request_id=c.request_id
    )
    return {"dropped": [i.id for i in dropped]}


async def emit_to_run(c: Call) -> Any:
    run = await c.rt.get(c.path["run"])
    await run.emit(c.body["event"], c.body.get("value"), by=c.who.name, request_id=c.request_id)
    return {"ok": True}


async def fork_run(c: Call) -> Any:
    run = await c.rt.get(c.path["run"])
    changed = {"input": c.body["input"]} if "input" in c.body else {}
    new = await run.fork(c.body.get("at"), instruction=c.body.get("instruction", ""), by=c.who.name, **changed)
    return {"id": new.id}


async def approve(c: Call) -> Any:
    b = c.body
    seq = await c.rt.approve(
        c.path["interrupt"], by=c.who.name, note=b.get("note", ""), digest=b["digest"], edit=b.get("edit"), scope=b.get("scope", "once"),
        groups=c.who.groups, request_id=c.request_id,
    )  # fmt: skip
    return {"seq": seq}


async def deny(c: Call) -> Any:
    b = c.body
    seq = await c.rt.deny(
        c.path["interrupt"], by=c.who.name, note=b.get("note", ""), digest=b["digest"], request_id=c.request_id
    )
    return {"seq": seq}


async def answer_interrupt(c: Call) -> Any:
    b = c.body
    found = await c.rt.interrupt(c.path["interrupt"])
    if found.kind == "approval":
        raise Invalid("an approval is approved or denied, not answered")
    value = Decision.value(b["value"], b.get("note", "")) if b.get("note") else b["value"]
    return {"seq": await c.rt.answer(found.id, value, by=c.who.name, request_id=c.request_id)}


async def halt(c: Call) -> Any:
    return {
        "items": [halt_json(h) for h in await c.rt.halt(c.body["scope"], reason=c.body["reason"], by=c.who.name)],
        "after": None,
    }


async def unhalt(c: Call) -> Any:
    return {
        "items": [halt_json(h) for h in await c.rt.unhalt(c.body["scope"], by=c.who.name, reason=c.body["reason"])],
        "after": None,
    }


# Translation


def run_json(row: RunRow, now: float) -> dict[str, Any]:
    """A run's row."""
    return {
        "id": row.id, "kind": row.kind, "program": row.program, "status": row.view(now), "title": row.title, "session": row.session,
        "labels": row.labels, "seq": row.seq, "interrupts": row.opens, "held": list(row.blocked), "worker": row.worker.partition("|")[0],
        "epoch": row.epoch, "created_at": row.created_at, "updated_at": row.updated_at,
    }  # fmt: skip


def usage_json(usage: Any) -> dict[str, Any]:
    """Usage with every field."""
    return {name: getattr(usage, name) for name in usage.__struct_fields__}


def interrupt_json(i: Interrupt, agent: str, said: str) -> dict[str, Any]:
    """An interrupt, complete; the agent's own words apart, in `said`."""
    call = {name: getattr(i.call, name) for name in i.call.__struct_fields__} if i.call else None
    return {
        "id": i.id, "run_id": i.run_id, "agent": agent, "kind": i.kind, "type": i.type, "payload": i.payload, "call": call,
        "answer_schema": i.answer_schema, "path": i.path, "opened_at": i.opened_at, "expires_at": i.expires_at, "choices": i.choices,
        "on_expiry": i.on_expiry, "approvers": i.approvers, "groups": list(i.groups), "digest": i.call.digest if i.call else "", "said": said,
    }  # fmt: skip


def halt_json(h: Halt) -> dict[str, Any]:
    """A halt."""
    return {"scope": h.scope, "by": h.by, "reason": h.reason, "at": h.at}


async def program_of(c: Call, run: str) -> str:
    """A run's program."""
    return (await c.rt.store.get(run)).program


STATUS = {
    "type": "string",
    "enum": [
        "ready",
        "waiting",
        "pausing",
        "paused",
        "cancelling",
        "stuck",
        "completed",
        "cancelled",
        "running",
        "failed",
        "stopped",
    ],
}
KIND = {"type": "string", "enum": ["approval", "question", "limit", "error", "in_doubt", "undo"]}
RUNS = many(ref("Run"))
INBOX = many(ref("Interrupt"))
HALTS = many(ref("Halt"))
SCOPE = {"type": "string", "pattern": r"^(\*|agent:.+|tool:.+)$", "maxLength": 200}
DECIDES = (404, 409, 423)
LIST = {
    "status": STATUS, "agent": TEXT, "session": TEXT, "label": {"type": "string", "pattern": "^[^=]+=.*$"}, "text": {"type": "string", "maxLength": 200},
    "since": AFTER, "until": AFTER, "after": TEXT, "limit": LIMIT,
}  # fmt: skip

OPERATIONS = [
    Operation("GET", "/runs", "list_runs", "read", "Runs, newest first.", list_runs, RUNS, query=LIST),
    Operation("POST", "/runs", "start_run", "control", "Start a run.", start_run, answer(id=TEXT), problems=(404, 409),
              body=thing(("program", "input"), program=NAME, input=ANYTHING, run_id=NAME, session=NAME, labels=LABELS)),
    Operation("GET", "/runs/{run}", "get_run", "read", "A run: where it is, what it waits for, what it did.", get_run, ref("RunState")),
    Operation("GET", "/runs/{run}/records", "get_records", "read", "Its journal.", get_records, many(ref("Record")),
              query={"after": AFTER, "limit": LIMIT}),
    Operation("GET", "/runs/{run}/messages", "get_messages", "read", "Its conversation.", get_messages, answer(items={"type": "array"})),
    Operation("GET", "/runs/{run}/checkpoint", "get_checkpoint", "read", "Its checkpoint.", get_checkpoint, answer(checkpoint=TEXT)),
    Operation("GET", "/runs/{run}/cancel-preview", "preview_cancel", "read", "What a cancel would do.", get_preview,
              answer(in_flight={"type": "array"}, undo={"type": "array"}, residue={"type": "array"})),
    Operation("GET", "/runs/{run}/audit", "get_run_audit", "read", "Who wanted what of it.", get_run_audit, many(ref("Audit")),
              query={"after": AFTER, "limit": LIMIT}),
    Operation("GET", "/runs/{run}/events", "watch_run", "read", "Its records and live text, as server-sent events.", watch_run, TEXT,
              query={"after": AFTER}, stream=True),
    Operation("POST", "/runs/{run}/pause", "pause_run", "control", "Pause.", pause_run, OK, problems=(409,), body=thing(now=FLAG, reason=NOTE)),
    Operation("POST", "/runs/{run}/resume", "resume_run", "control", "Resume, perhaps with an instruction.", resume_run, OK, problems=(409, 423),
              body=thing(instruction=NOTE)),
    Operation("POST", "/runs/{run}/cancel", "cancel_run", "control", "Cancel and undo.", cancel_run, OK, problems=(409,), body=thing(reason=NOTE)),
    Operation("POST", "/runs/{run}/say", "say_to_run", "control", "Tell the agent something.", say_to_run,
              answer(dropped={"type": "array", "items": TEXT}), problems=(409,),
              body=thing(("text",), text={"type": "string", "minLength": 1, "maxLength": 100_000}, abandon=FLAG)),
    Operation("POST", "/runs/{run}/emit", "emit_to_run", "control", "Send an event.", emit_to_run, OK, problems=(409,),
              body=thing(("event",), event=NAME, value=ANYTHING)),
    Operation("POST", "/runs/{run}/fork", "fork_run", "control", "A new run from a boundary of this one.", fork_run, answer(id=TEXT), problems=(409,),
              body=thing(at={"type": "integer", "minimum": 1, "maximum": 2**31}, input=ANYTHING, instruction=NOTE)),
    Operation("GET", "/inbox", "list_inbox", "read", "What waits for a person, oldest first.", list_inbox, INBOX,
              query={"agent": TEXT, "kind": KIND, "run": TEXT, "after": TEXT, "limit": LIMIT}),
    Operation("GET", "/inbox/events", "watch_inbox", "read", "The inbox as it changes, as server-sent events.", watch_inbox, TEXT, stream=True),
    Operation("GET", "/interrupts/{interrupt}", "get_interrupt", "read", "One interrupt, whatever its state.", get_interrupt,
              answer(interrupt=ref("Interrupt"), open=FLAG, run_status=TEXT, attempts={"type": "array", "items": ref("Audit")})),
    Operation("POST", "/interrupts/{interrupt}/approve", "approve", "decide", "Let a call run, exactly as shown or as edited.", approve, DONE,
              problems=DECIDES, body=thing(("digest",), digest=NAME, note=NOTE, edit={"type": "object"}, scope={"enum": ["once", "run"]})),
    Operation("POST", "/interrupts/{interrupt}/deny", "deny", "decide", "Refuse a call.", deny, DONE, problems=DECIDES,
              body=thing(("digest",), digest=NAME, note=NOTE)),
    Operation("POST", "/interrupts/{interrupt}/answer", "answer", "decide", "Answer a question, or choose.", answer_interrupt, DONE, problems=DECIDES,
              body=thing(("value",), value=ANYTHING, note=NOTE)),
    Operation("GET", "/halts", "list_halts", "read", "The halts that are on.", list_halts, HALTS),
    Operation("POST", "/halts", "halt", "halt", "Halt everything, one agent or one tool.", halt, HALTS, body=thing(("scope", "reason"), scope=SCOPE, reason=NAME)),
    Operation("POST", "/halts/lift", "unhalt", "halt", "Lift a halt.", unhalt, HALTS, body=thing(("scope", "reason"), scope=SCOPE, reason=NAME)),
    Operation("GET", "/audit", "list_audit", "read", "Every command, also refused ones.", list_audit, many(ref("Audit")), query={"limit": LIMIT}),
    Operation("GET", "/audit/verify", "verify_audit", "read", "Check every journal and the audit.", verify_audit,
              answer(broken={"type": "array", "items": TEXT})),
    Operation("GET", "/me", "who_am_i", "read", "Who you are.", who_am_i,
              answer(name=TEXT, role=TEXT, groups={"type": "array", "items": TEXT}, csrf=TEXT, now=NUMBER)),
]  # fmt: skip

__all__ = ["OPERATIONS", "Filter"]
