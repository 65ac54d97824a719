"""What the runtime knows, as JSON: every field there, whatever its value."""

from collections.abc import Collection, Sequence
from typing import Any

import msgspec

from adjourn.core.chunk_names import named_now
from adjourn.core.codec import legible
from adjourn.core.digest import digest
from adjourn.core.doubt import left_behind
from adjourn.core.ids import WorkerId
from adjourn.core.interrupt import Interrupt
from adjourn.core.messages import Usage
from adjourn.core.records import AnyRecord, RunCancelled, RunCompleted
from adjourn.core.state import State
from adjourn.runtime.changed_program import Difference
from adjourn.runtime.retry_verbs import Retried
from adjourn.runtime.run import look
from adjourn.server.auth import Identity
from adjourn.server.problem import error_members
from adjourn.stores.erasure import Hold
from adjourn.stores.notification import Endpoint, Letter
from adjourn.stores.protocol import Halt, RunRow


def run_json(row: RunRow, now: float, halts: Collection[str]) -> dict[str, Any]:
    """A run's row."""
    return {
        "id": row.id, "kind": row.kind, "program": row.program, "status": row.shown(now, halts), "title": row.title, "session": row.session,
        "labels": row.labels, "seq": row.seq, "interrupts": row.opens, "held": list(row.blocked),
        "worker": WorkerId.parse(row.worker).machine,
        "epoch": row.epoch, "created_at": row.created_at, "updated_at": row.updated_at,
        "erased_at": row.erased or None,
    }  # fmt: skip


def state_json(
    row: RunRow,
    state: State,
    now: float,
    halts: Collection[str],
    misfit: Difference | None = None,
    holds: Sequence[Hold] = (),
) -> dict[str, Any]:
    """A run, looked at: where it is, what it waits for, what it did; `misfit`: why no present worker advances it; `holds`: the
    legal holds that it is under."""
    seen, ended = look(state), state.ended
    return {
        "run": run_json(row, now, halts), "input": seen.input, "steps": seen.steps, "usage": usage_json(seen.usage),
        "interrupts": [interrupt_json(i, row.program, said(state, i)) for i in seen.interrupts],
        "calls": seen.calls, "done": seen.done, "data": seen.data, "text": seen.text,
        "output": ended.output if isinstance(ended, RunCompleted) else None,
        "undone": list(ended.undone) if isinstance(ended, RunCancelled) else [],
        "residue": left_behind(state),
        "children": [{"path": p, "agent": t.agent, "text": t.text, "done": t.final} for p, t in state.threads.items() if p],
        "graph": named_now(state.started.graph) if state.started.graph else None,
        "started_by": state.started.by, "forked_from": state.started.forked_from,
        "misfit": misfit_json(misfit) if misfit else None, "holds": [halt_json(hold) for hold in holds],
    }  # fmt: skip


def misfit_json(misfit: Difference) -> dict[str, Any]:
    """Why no present worker advances a run; `digest` names the version that may be accepted, "" if there is none."""
    return {
        "why": misfit.why, "changes": list(misfit.changes), "digest": misfit.digest, "queued": misfit.queued,
    }  # fmt: skip


def usage_json(usage: Usage) -> dict[str, Any]:
    """Usage with every field."""
    return {name: getattr(usage, name) for name in usage.__struct_fields__}


def interrupt_json(i: Interrupt, agent: str, said: str) -> dict[str, Any]:
    """An interrupt, complete; the agent's own words apart, in `said`. `ref` names it in every run's company."""
    call = {name: getattr(i.call, name) for name in i.call.__struct_fields__} if i.call else None
    return {
        "id": i.id, "ref": i.ref, "run_id": i.run_id, "agent": agent, "kind": i.kind, "type": i.type,
        "payload": i.payload, "call": call, "answer_schema": i.answer_schema, "path": i.path, "opened_at": i.opened_at,
        "expires_at": i.expires_at, "choices": i.choices, "on_expiry": i.on_expiry, "escalated": i.escalated,
        "approvers": i.approvers, "groups": list(i.groups),
        "digest": i.digest, "action": action_of(i), "seq": i.seq, "said": said,
        "slots": [{name: getattr(seat, name) for name in seat.__struct_fields__} for seat in i.slots],
        "requesters": list(i.requesters), "disowned": list(i.disowned),
    }  # fmt: skip


def action_of(i: Interrupt) -> str:
    """Names the action, whoever wants it: equal for two calls if everything that is shown of them is; "" without a call."""
    c = i.call
    if c is None or i.kind != "approval":
        return ""
    shown = [c.tool, c.description, c.effect, c.undo, c.reason, c.rule, i.approvers, i.groups, i.on_expiry]
    return digest("shown", shown, c.arguments, i.answer_schema)


def agents_of(state: State, i: Interrupt) -> list[str]:
    """The agents from the root down to the one that an interrupt is about."""
    return [state.started.program, *state.agents_under(i.path)]


def said(state: State, i: Interrupt) -> str:
    """The last words of the agent that an interrupt is about."""
    thread = state.threads.get(i.path) or state.threads.get("")
    return thread.text if thread else ""


def record_json(seq: int, record: AnyRecord) -> dict[str, Any]:
    """A line of a journal."""
    return {"seq": seq, "record": msgspec.to_builtins(record)}


def identity_json(who: Identity) -> dict[str, Any]:
    """Who somebody is. `link`: they came by the link of this start."""
    return {"name": who.name, "role": who.role, "groups": list(who.groups), "csrf": who.csrf, "link": who.local}


def retried_json(one: Retried) -> dict[str, Any]:
    """What came of one of several decisions."""
    refused = one.refused
    problem = {**error_members(refused), "detail": legible(str(refused))} if refused else None
    return {"ref": one.interrupt.ref, "run_id": one.interrupt.run_id, "seq": one.seq or None, "refused": problem}


def halt_json(h: Halt | Hold) -> dict[str, Any]:
    """A halt, or a legal hold."""
    return {"scope": h.scope, "by": h.by, "reason": h.reason, "at": h.at}


def endpoint_json(e: Endpoint) -> dict[str, Any]:
    """Somebody who is told; without the secret, and of an address that is itself one only its kind."""
    url = e.url if e.kind == "webhook" else e.url.partition("://")[0] + "://…"
    return {"name": e.name, "kind": e.kind, "url": url, "topics": list(e.topics), "at": e.at}


def letter_json(x: Letter) -> dict[str, Any]:
    """A letter that has not arrived."""
    return {
        "n": x.n, "id": x.id, "endpoint": x.endpoint, "topic": x.topic, "run_id": x.run or None, "at": x.at, "state": x.state,
        "tries": x.tries, "due_at": x.due_at, "error": x.error,
    }  # fmt: skip
