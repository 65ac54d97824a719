"""Every operation of the API, in one table: the routes, the checks and the OpenAPI document are
made of it."""

from adjourn.runtime.bulk_verbs import MOST
from adjourn.server.api import (
    audit,
    bulk,
    fleet,
    halts,
    inbox,
    model_requests,
    notifications,
    people,
    run_views,
    runs,
    session,
)
from adjourn.server.api_request import KB, MAX_BODY, Operation
from adjourn.server.schemas import (
    AFTER,
    ANYTHING,
    DIGEST,
    EVENT,
    FLAG,
    HELD,
    KIND,
    LABEL,
    LABELS,
    LIMIT,
    NAME,
    NOTE,
    NUMBER,
    OBJECT,
    OBJECTS,
    RUN_ID,
    SCOPE,
    SEARCH,
    STATUS,
    TEXT,
    TIME,
    Schema,
    answer,
    many,
    maybe,
    ref,
    several,
    thing,
)
from adjourn.stores.protocol import Halt
from adjourn.views.api_answers import (
    AcceptedChanges,
    AlikeErrors,
    CheckpointText,
    Done,
    DroppedQuestions,
    ErasureView,
    ForkRef,
    Me,
    Ok,
    ProgramView,
    RecordView,
    RequestView,
    RetriedError,
    RunRef,
    VerificationView,
)
from adjourn.views.audit_entry import AuditEntry
from adjourn.views.bulk_view import BulkItem
from adjourn.views.cancel_preview import CancelPreview
from adjourn.views.fleet_view import FleetView
from adjourn.views.halt_scope import HaltScope
from adjourn.views.interrupt_view import InterruptSummary, InterruptView
from adjourn.views.run_view import RunGlance, RunSummary, RunView
from adjourn.views.seen_before import SeenBefore
from adjourn.views.timeline_view import TimelineView

OK, RUNS, INBOX, HALTS, AUDIT = (
    ref(Ok),
    many(RunSummary),
    many(InterruptSummary),
    many(Halt),
    many(AuditEntry),
)
HALTED = answer(**HALTS["properties"], scope=ref(HaltScope), complete=FLAG)
FILTERS: dict[str, Schema] = {
    "agent": SEARCH,
    "session": SEARCH,
    "label": LABEL,
    "text": SEARCH,
    "since": TIME,
    "until": TIME,
}
PAGES: dict[str, Schema] = {"after": {"type": "string", "maxLength": 1000}, "limit": LIMIT}
LINES: dict[str, Schema] = {"after": AFTER, "limit": LIMIT}
LAST: dict[str, Schema] = {"Last-Event-ID": {"type": "string", "pattern": "^[0-9]{0,15}$"}}
PLACE: dict[str, Schema] = {"Last-Event-ID": TEXT}
TAG: dict[str, Schema] = {"If-None-Match": TEXT}
WORD: Schema = {**SEARCH, "pattern": r"^[^\u0000]*$"}
AUDITED: dict[str, Schema] = {
    "after": {
        "type": "string",
        "pattern": r"^([0-9]{1,12}(\.[0-9]{1,9})?/[0-9]{1,15}/[^\n]{0,400})?$",
    },
    "limit": LIMIT,
    "security": FLAG,
    "refused": FLAG,
    "by": WORD,
    "verb": WORD,
    "run": WORD,
    "agent": WORD,
    "tool": WORD,
    "text": WORD,
    "since": TIME,
    "until": TIME,
}
QUEUE: Schema = {"enum": ["session"]}
PRIORITY: Schema = {"type": "integer", "minimum": -1000, "maximum": 1000}
KEY: Schema = {"type": "string", "minLength": 1, "maxLength": 500}
BULK = answer(items=several(BulkItem), more=FLAG)
BULK_FILTERS = {name: schema for name, schema in FILTERS.items() if name != "text"}
CHOSEN_RUNS: dict[str, Schema] = {
    "runs": {"type": "array", "items": KEY, "minItems": 1, "maxItems": MOST},
    "where": {**thing((), status=STATUS, search=WORD, **BULK_FILTERS), "minProperties": 1},
    "note": NOTE,
    "dry_run": FLAG,
}
SIGNAL: Schema = {"type": "string", "minLength": 1, "maxLength": 200, "pattern": "^[^@]"}
SAYS: Schema = {"type": "string", "minLength": 1, "maxLength": 80_000}
AT: Schema = {"type": "integer", "minimum": 1, "maximum": 2**31}
ITEM: Schema = {**KEY, "pattern": r"^[^\u0000]*$"}
TOGETHER: Schema = {"enum": ["approve", "deny", "dismiss"]}
ITEMS: Schema = {
    "type": "array",
    "items": thing(("ref", "digest"), ref=ITEM, digest=DIGEST),
    "minItems": 1,
    "maxItems": 1000,
}
DECIDES = (404, 409, 423)
CONTROLS = (404, 409)

THIS_RUN = {"parameters": {"run": "$response.body#/run_id"}}
THIS_ITEM = {
    "parameters": {"interrupt": "$response.body#/ref"},
    "requestBody": {"digest": "$response.body#/digest"},
}
ALL_ALIKE = {
    "parameters": {"interrupt": "$request.path.interrupt"},
    "requestBody": {"until": "$response.body#/until"},
}
DECISIONS = ("approve", "deny", "answer")
RUN_VERBS = (
    "get_run",
    "get_records",
    "pause_run",
    "resume_run",
    "cancel_run",
    "say_to_run",
    "fork_run",
)

OPERATIONS = [
    # Runs
    Operation(
        "GET /runs",
        "read",
        "Runs, newest first.",
        runs.list_runs,
        RUNS,
        query={"status": STATUS, "search": WORD, **FILTERS, **PAGES},
    ),
    Operation(
        "POST /runs/bulk",
        "control",
        "Pause, resume or cancel many runs: what came of each.",
        bulk.command_runs,
        BULK,
        size=MAX_BODY,
        body=thing(("verb",), verb={"enum": ["pause", "resume", "cancel"]}, **CHOSEN_RUNS),
    ),
    Operation(
        "POST /runs/deny-all",
        "decide",
        "Deny every call of many runs that waits for an approval: what came of each.",
        bulk.deny_runs,
        BULK,
        size=MAX_BODY,
        body=thing((), **CHOSEN_RUNS),
    ),
    Operation(
        "POST /runs",
        "control",
        "Start a run.",
        runs.start_run,
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
    ),
    Operation(
        "GET /runs/{run}",
        "read",
        "A run: where it is, what it waits for, what it did.",
        runs.get_run,
        ref(RunView),
        headers=TAG,
        also=(304,),
    ),
    Operation(
        "GET /runs/{run}/status", "read", "A run's row alone.", runs.get_status, ref(RunSummary)
    ),
    Operation(
        "GET /runs/{run}/records",
        "read",
        "Its journal.",
        runs.get_records,
        many(RecordView),
        query=LINES,
    ),
    Operation(
        "GET /runs/{run}/timeline",
        "read",
        "Its steps, as people read them.",
        run_views.get_timeline,
        ref(TimelineView),
        query={"after": AFTER},
    ),
    Operation(
        "GET /runs/{run}/messages",
        "read",
        "Its conversation.",
        runs.get_messages,
        answer(items=OBJECTS),
    ),
    Operation(
        "GET /runs/{run}/requests",
        "read",
        "What its models were sent; with `at`, one of them whole.",
        model_requests.list_requests,
        many(RequestView),
        query={**LINES, "at": AT},
    ),
    Operation(
        "GET /runs/{run}/checkpoint",
        "read",
        "Its checkpoint.",
        runs.get_checkpoint,
        ref(CheckpointText),
        problems=(409,),
    ),
    Operation(
        "GET /runs/{run}/cancel-preview",
        "read",
        "What a cancel would do.",
        runs.preview_cancel,
        ref(CancelPreview),
    ),
    Operation(
        "GET /runs/{run}/audit",
        "read",
        "Who wanted what of it.",
        audit.get_run_audit,
        AUDIT,
        query=LINES,
    ),
    Operation(
        "GET /runs/{run}/events",
        "read",
        "Its records and live text, as server-sent events.",
        runs.watch_run,
        EVENT,
        query={"after": AFTER, "follow": FLAG},
        headers=LAST,
        also=(204,),
        stream=True,
    ),
    Operation(
        "POST /runs/{run}/pause",
        "control",
        "Pause: at the next boundary, or now.",
        runs.pause_run,
        OK,
        problems=CONTROLS,
        body=thing(now=FLAG, reason=NOTE),
    ),
    Operation(
        "POST /runs/{run}/resume",
        "control",
        "Resume, perhaps with an instruction.",
        runs.resume_run,
        OK,
        problems=(*CONTROLS, 423),
        body=thing(instruction=NOTE),
    ),
    Operation(
        "POST /runs/{run}/cancel",
        "control",
        "Cancel and undo.",
        runs.cancel_run,
        OK,
        problems=CONTROLS,
        body=thing(reason=NOTE),
    ),
    Operation(
        "POST /runs/{run}/erase",
        "admin",
        "Erase everything that was in it; it must have ended.",
        runs.erase_run,
        ref(ErasureView),
        problems=CONTROLS,
        body=thing(("reason",), reason=NAME, whole=FLAG),
    ),
    Operation(
        "POST /runs/{run}/chapter",
        "control",
        "Continue as new; nothing may be in flight.",
        runs.begin_chapter,
        ref(Done),
        problems=CONTROLS,
        body=thing(reason=NOTE),
    ),
    Operation(
        "POST /runs/{run}/accept",
        "decide",
        "Let it continue although its definition changed.",
        runs.accept_run,
        ref(AcceptedChanges),
        problems=CONTROLS,
        body=thing(("digest",), digest=DIGEST),
    ),
    Operation(
        "POST /runs/{run}/say",
        "control",
        "Tell the agent something.",
        runs.say_to_run,
        ref(DroppedQuestions),
        problems=CONTROLS,
        size=MAX_BODY,
        body=thing(("text",), text=SAYS, abandon=FLAG),
    ),
    Operation(
        "POST /runs/{run}/emit",
        "control",
        "Send an event.",
        runs.emit_to_run,
        OK,
        problems=CONTROLS,
        size=MAX_BODY,
        body=thing(("event",), event=SIGNAL, value=ANYTHING),
    ),
    Operation(
        "POST /runs/{run}/fork",
        "control",
        "A new run from a boundary of this one.",
        runs.fork_run,
        ref(ForkRef),
        problems=CONTROLS,
        size=MAX_BODY,
        body=thing(at=AT, input=ANYTHING, instruction=NOTE, answers={"enum": ["reopen", "keep"]}),
    ),
    Operation(
        "GET /glances",
        "read",
        "Some runs, each as a line of a list.",
        run_views.list_glances,
        answer(items=several(RunGlance), now=NUMBER),
        query={"runs": {"type": "string", "maxLength": 10_000}},
    ),
    # The inbox
    Operation(
        "GET /inbox",
        "read",
        "What waits for a person, oldest first.",
        inbox.list_inbox,
        INBOX,
        query={"kind": KIND, "run": SEARCH, "group": SEARCH, "mine": FLAG, **FILTERS, **PAGES},
    ),
    Operation(
        "GET /inbox/events",
        "read",
        "What changes anywhere, as server-sent events.",
        inbox.watch_inbox,
        EVENT,
        query={"follow": FLAG},
        headers=PLACE,
        stream=True,
    ),
    Operation(
        "GET /events",
        "read",
        "What changes anywhere, and the events of some runs, as one stream of server-sent events.",
        inbox.watch_all,
        EVENT,
        query={
            "runs": {"type": "string", "maxLength": 10_000},
            "after": {"type": "string", "pattern": "^([0-9]{1,15}(,[0-9]{1,15}){0,49})?$"},
            "follow": FLAG,
        },
        headers=PLACE,
        stream=True,
    ),
    Operation(
        "GET /interrupts/{interrupt}",
        "read",
        "One interrupt, whatever its state.",
        inbox.get_interrupt,
        ref(InterruptView),
        links=dict.fromkeys(DECISIONS, THIS_ITEM),
    ),
    Operation(
        "POST /interrupts/{interrupt}/approve",
        "decide",
        "Let a call run, as shown or as edited.",
        inbox.approve,
        ref(Done),
        problems=DECIDES,
        body=thing(
            ("digest",), digest=DIGEST, note=NOTE, edit=OBJECT, scope={"enum": ["once", "run"]}
        ),
    ),
    Operation(
        "POST /interrupts/{interrupt}/deny",
        "decide",
        "Refuse a call.",
        inbox.deny,
        ref(Done),
        problems=DECIDES,
        body=thing(("digest",), digest=DIGEST, note=NOTE),
    ),
    Operation(
        "POST /interrupts/{interrupt}/answer",
        "decide",
        "Answer a question, or choose.",
        inbox.answer,
        ref(Done),
        problems=DECIDES,
        body=thing(("value", "digest"), value=ANYTHING, digest=DIGEST, note=NOTE),
    ),
    Operation(
        "POST /interrupts/{interrupt}/instead",
        "decide",
        "Give the result of a call in the place of its tool, which does not run.",
        inbox.answer_instead,
        ref(Done),
        problems=DECIDES,
        body=thing(("result", "digest"), result=ANYTHING, digest=DIGEST, note=NOTE),
    ),
    Operation(
        "POST /interrupts/{interrupt}/dismiss",
        "decide",
        "Drop a question without an answer.",
        inbox.dismiss,
        ref(Done),
        problems=DECIDES,
        body=thing(("digest",), digest=DIGEST, note=NOTE),
    ),
    Operation(
        "POST /decisions",
        "decide",
        "Approve, deny or dismiss several interrupts; what came of each.",
        inbox.decide_all,
        answer(items=several(RetriedError)),
        size=MAX_BODY,
        body=thing(("decision", "items"), decision=TOGETHER, items=ITEMS, note=NOTE),
    ),
    Operation(
        "GET /interrupts/{interrupt}/before",
        "read",
        "Earlier decisions on the same tool, and what differs this time.",
        inbox.seen_before_interrupt,
        ref(SeenBefore),
    ),
    Operation(
        "GET /interrupts/{interrupt}/alike",
        "read",
        "The open errors that are like this one.",
        inbox.list_alike,
        ref(AlikeErrors),
        links={"retry_all": ALL_ALIKE},
    ),
    Operation(
        "POST /interrupts/{interrupt}/retry-all",
        "decide",
        "Try all open errors again that are like this one.",
        inbox.retry_all,
        answer(items=several(RetriedError)),
        problems=(404, 409),
        body=thing(("digest", "until"), digest=DIGEST, until=TIME, note=NOTE),
    ),
    # The workers
    Operation(
        "GET /workers",
        "read",
        "Who works on runs, what is ready for them, and what no worker fits.",
        fleet.list_workers,
        ref(FleetView),
    ),
    # The kill switch and the audit
    Operation("GET /halts", "read", "The halts that are on.", halts.list_halts, HALTS),
    Operation(
        "GET /halts/scopes",
        "read",
        "What can be halted, and how many runs each would hold.",
        halts.list_halt_scopes,
        answer(items=several(HaltScope), complete=FLAG, now=NUMBER),
        query={"scope": SCOPE},
    ),
    Operation(
        "POST /halts",
        "halt",
        "Halt everything, one agent or one tool.",
        halts.halt,
        HALTED,
        body=thing(("scope", "reason"), scope=SCOPE, reason=NAME),
    ),
    Operation(
        "POST /halts/lift",
        "halt",
        "Lift a halt.",
        halts.unhalt,
        HALTS,
        body=thing(("scope", "reason"), scope=SCOPE, reason=NAME),
    ),
    Operation("GET /holds", "read", "The legal holds that are on.", halts.list_holds, HALTS),
    Operation(
        "POST /holds",
        "admin",
        "Keep a run (`run:ID`) or a label (`label:KEY=VALUE`) from being erased or pruned.",
        halts.hold,
        HALTS,
        problems=(404,),
        body=thing(("scope", "reason"), scope=HELD, reason=NAME),
    ),
    Operation(
        "POST /holds/lift",
        "admin",
        "Lift a legal hold.",
        halts.lift_hold,
        HALTS,
        problems=(404,),
        body=thing(("scope", "reason"), scope=HELD, reason=NAME),
    ),
    Operation(
        "GET /audit",
        "read",
        "Every command, also refused ones, newest first, by any field; or the security log.",
        audit.list_audit,
        AUDIT,
        query=AUDITED,
    ),
    Operation(
        "GET /audit/place",
        "read",
        "A line of a run's chain and its neighbours; without a run, of the chain of global commands.",
        audit.get_audit_place,
        AUDIT,
        query={"run": WORD, "number": AFTER},
    ),
    Operation(
        "GET /audit/verify",
        "admin",
        "Check everything, and say how far that goes.",
        audit.verify_audit,
        ref(VerificationView),
    ),
    *notifications.OPERATIONS,
    # Who
    Operation(
        "GET /programs",
        "read",
        "What this server can start.",
        runs.list_programs,
        many(ProgramView),
    ),
    Operation("GET /me", "read", "Who you are.", session.who_am_i, ref(Me)),
    Operation(
        "POST /session",
        "none",
        "A key becomes a browser's session.",
        session.log_in,
        ref(Me),
        size=2 * KB,
        body={**thing(key=KEY, token=KEY), "minProperties": 1, "maxProperties": 1},
    ),
    Operation("POST /session/end", "read", "End a browser's session.", session.log_out, OK),
    *people.OPERATIONS,
]
