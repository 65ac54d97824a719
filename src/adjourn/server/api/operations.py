"""Every operation of the API, in one table: the routes, the checks and the OpenAPI document are made of it."""

from adjourn.server.api import inbox as looking
from adjourn.server.api import notifications as telling
from adjourn.server.api import run_views as views
from adjourn.server.api import runs as doing
from adjourn.server.operation import KB, MAX_BODY, Operation
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
    TOPIC,
    Schema,
    answer,
    many,
    maybe,
    ref,
    several,
    thing,
)
from adjourn.stores.protocol import Halt
from adjourn.views.answers import (
    AcceptedChanges,
    AlikeErrors,
    CheckpointText,
    Done,
    DroppedQuestions,
    EndpointView,
    ErasureView,
    ForkRef,
    LetterView,
    Me,
    NewEndpoint,
    Ok,
    ProgramView,
    RecordView,
    RequestView,
    RetriedError,
    RunRef,
    VerificationView,
)
from adjourn.views.audit_entry import AuditEntry
from adjourn.views.cancel_preview import CancelPreview
from adjourn.views.interrupt_view import InterruptSummary, InterruptView
from adjourn.views.run_view import RunGlance, RunSummary, RunView
from adjourn.views.step_view import TimelineView

OK, RUNS, INBOX, HALTS, AUDIT = ref(Ok), many(RunSummary), many(InterruptSummary), many(Halt), many(AuditEntry)
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
HOST, NUMBERED = "[A-Za-z0-9.-]{1,253}", "(:([1-9][0-9]{0,3}|[1-5][0-9]{4}))?"
URL: Schema = {"type": "string", "pattern": rf"^https://{HOST}{NUMBERED}(/[!$-;=?-\[\]-~]*)?$", "maxLength": 2000}
AUDITED: dict[str, Schema] = {
    "after": {"type": "string", "pattern": r"^([0-9]{1,12}(\.[0-9]{1,9})?/[0-9]{1,15}/[^\n]{0,400})?$"}, "limit": LIMIT, "security": FLAG,
}  # fmt: skip
QUEUE: Schema = {"enum": ["session"]}
TITLE: Schema = {"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9 ._-]{0,99}$"}
KEY: Schema = {"type": "string", "minLength": 1, "maxLength": 500}
SIGNAL: Schema = {"type": "string", "minLength": 1, "maxLength": 200, "pattern": "^[^@]"}
SAYS: Schema = {"type": "string", "minLength": 1, "maxLength": 80_000}
AT: Schema = {"type": "integer", "minimum": 1, "maximum": 2**31}
TOPICS: Schema = {"type": "array", "items": TOPIC, "uniqueItems": True}
DECIDES = (404, 409, 423)
CONTROLS = (404, 409)

THIS_RUN = {"parameters": {"run": "$response.body#/run_id"}}
THIS_ITEM = {
    "parameters": {"interrupt": "$response.body#/ref"}, "requestBody": {"digest": "$response.body#/digest"},
}  # fmt: skip
ALL_ALIKE = {
    "parameters": {"interrupt": "$request.path.interrupt"}, "requestBody": {"until": "$response.body#/until"},
}  # fmt: skip
DECISIONS = ("approve", "deny", "answer")
RUN_VERBS = ("get_run", "get_records", "pause_run", "resume_run", "cancel_run", "say_to_run", "fork_run")

OPERATIONS = [
    # Runs
    Operation("GET", "/runs", "list_runs", "read", "Runs, newest first.", looking.list_runs, RUNS,
              query={"status": STATUS, **FILTERS, **PAGES}),
    Operation("POST", "/runs", "start_run", "control", "Start a run.", doing.start_run, ref(RunRef), problems=CONTROLS, size=MAX_BODY,
              body={**thing(("agent", "input"), agent=NAME, input=ANYTHING, run_id=RUN_ID, session=NAME, labels=LABELS, queue=QUEUE,
                            after=maybe(RUN_ID)),
                    "dependentRequired": {"queue": ["session"]}},
              links=dict.fromkeys(RUN_VERBS, THIS_RUN)),
    Operation("GET", "/runs/{run}", "get_run", "read", "A run: where it is, what it waits for, what it did.", looking.get_run,
              ref(RunView), headers=TAG, also=(304,)),
    Operation("GET", "/runs/{run}/status", "get_status", "read", "A run's row alone.", looking.get_status, ref(RunSummary)),
    Operation("GET", "/runs/{run}/records", "get_records", "read", "Its journal.", looking.get_records, many(RecordView), query=LINES),
    Operation("GET", "/runs/{run}/timeline", "get_timeline", "read", "Its steps, as people read them.", views.get_timeline,
              ref(TimelineView),
              query={"after": AFTER}),
    Operation("GET", "/runs/{run}/messages", "get_messages", "read", "Its conversation.", looking.get_messages, answer(items=OBJECTS)),
    Operation("GET", "/runs/{run}/requests", "list_requests", "read", "What its models were sent; with `at`, one of them whole.",
              looking.list_requests, many(RequestView), query={**LINES, "at": AT}),
    Operation("GET", "/runs/{run}/checkpoint", "get_checkpoint", "read", "Its checkpoint.", looking.get_checkpoint,
              ref(CheckpointText), problems=(409,)),
    Operation("GET", "/runs/{run}/cancel-preview", "preview_cancel", "read", "What a cancel would do.", looking.get_preview,
              ref(CancelPreview)),
    Operation("GET", "/runs/{run}/audit", "get_run_audit", "read", "Who wanted what of it.", looking.get_run_audit, AUDIT,
              query=LINES),
    Operation("GET", "/runs/{run}/events", "watch_run", "read", "Its records and live text, as server-sent events.", looking.watch_run,
              EVENT, query={"after": AFTER, "follow": FLAG}, headers=LAST, also=(204,), stream=True),
    Operation("POST", "/runs/{run}/pause", "pause_run", "control", "Pause: at the next boundary, or now.", doing.pause_run, OK,
              problems=CONTROLS, body=thing(now=FLAG, reason=NOTE)),
    Operation("POST", "/runs/{run}/resume", "resume_run", "control", "Resume, perhaps with an instruction.", doing.resume_run, OK,
              problems=(*CONTROLS, 423), body=thing(instruction=NOTE)),
    Operation("POST", "/runs/{run}/cancel", "cancel_run", "control", "Cancel and undo.", doing.cancel_run, OK, problems=CONTROLS,
              body=thing(reason=NOTE)),
    Operation("POST", "/runs/{run}/erase", "erase_run", "admin", "Erase everything that was in it; it must have ended.", doing.erase_run,
              ref(ErasureView), problems=CONTROLS,
              body=thing(("reason",), reason=NAME, whole=FLAG)),
    Operation("POST", "/runs/{run}/chapter", "begin_chapter", "control", "Continue as new; nothing may be in flight.", doing.begin_chapter,
              ref(Done), problems=CONTROLS, body=thing(reason=NOTE)),
    Operation("POST", "/runs/{run}/accept", "accept_run", "decide", "Let it continue although its definition changed.", doing.accept_run,
              ref(AcceptedChanges), problems=CONTROLS, body=thing(("digest",), digest=DIGEST)),
    Operation("POST", "/runs/{run}/say", "say_to_run", "control", "Tell the agent something.", doing.say_to_run, ref(DroppedQuestions),
              problems=CONTROLS, size=MAX_BODY, body=thing(("text",), text=SAYS, abandon=FLAG)),
    Operation("POST", "/runs/{run}/emit", "emit_to_run", "control", "Send an event.", doing.emit_to_run, OK, problems=CONTROLS,
              size=MAX_BODY, body=thing(("event",), event=SIGNAL, value=ANYTHING)),
    Operation("POST", "/runs/{run}/fork", "fork_run", "control", "A new run from a boundary of this one.", doing.fork_run,
              ref(ForkRef), problems=CONTROLS, size=MAX_BODY,
              body=thing(at=AT, input=ANYTHING, instruction=NOTE, answers={"enum": ["reopen", "keep"]})),
    Operation("GET", "/glances", "list_glances", "read", "Some runs, each as a line of a list.", views.list_glances,
              answer(items=several(RunGlance), now=NUMBER), query={"runs": {"type": "string", "maxLength": 10_000}}),
    # The inbox
    Operation("GET", "/inbox", "list_inbox", "read", "What waits for a person, oldest first.", looking.list_inbox, INBOX,
              query={"kind": KIND, "run": SEARCH, "group": SEARCH, "mine": FLAG, **FILTERS, **PAGES}),
    Operation("GET", "/inbox/events", "watch_inbox", "read", "What changes anywhere, as server-sent events.", looking.watch_inbox, EVENT,
              query={"follow": FLAG}, headers=PLACE, stream=True),
    Operation("GET", "/interrupts/{interrupt}", "get_interrupt", "read", "One interrupt, whatever its state.", looking.get_interrupt,
              ref(InterruptView), links=dict.fromkeys(DECISIONS, THIS_ITEM)),
    Operation("POST", "/interrupts/{interrupt}/approve", "approve", "decide", "Let a call run, as shown or as edited.", doing.approve,
              ref(Done), problems=DECIDES, body=thing(("digest",), digest=DIGEST, note=NOTE, edit=OBJECT, scope={"enum": ["once", "run"]})),
    Operation("POST", "/interrupts/{interrupt}/deny", "deny", "decide", "Refuse a call.", doing.deny, ref(Done), problems=DECIDES,
              body=thing(("digest",), digest=DIGEST, note=NOTE)),
    Operation("POST", "/interrupts/{interrupt}/answer", "answer", "decide", "Answer a question, or choose.", doing.answer_interrupt,
              ref(Done), problems=DECIDES, body=thing(("value", "digest"), value=ANYTHING, digest=DIGEST, note=NOTE)),
    Operation("GET", "/interrupts/{interrupt}/alike", "list_alike", "read", "The open errors that are like this one.", looking.list_alike,
              ref(AlikeErrors), links={"retry_all": ALL_ALIKE}),
    Operation("POST", "/interrupts/{interrupt}/retry-all", "retry_all", "decide", "Try all open errors again that are like this one.",
              doing.retry_all, answer(items=several(RetriedError)), problems=(404, 409),
              body=thing(("digest", "until"), digest=DIGEST, until=TIME, note=NOTE)),
    # The kill switch and the audit
    Operation("GET", "/halts", "list_halts", "read", "The halts that are on.", looking.list_halts, HALTS),
    Operation("POST", "/halts", "halt", "halt", "Halt everything, one agent or one tool.", doing.halt, HALTS,
              body=thing(("scope", "reason"), scope=SCOPE, reason=NAME)),
    Operation("POST", "/halts/lift", "unhalt", "halt", "Lift a halt.", doing.unhalt, HALTS,
              body=thing(("scope", "reason"), scope=SCOPE, reason=NAME)),
    Operation("GET", "/holds", "list_holds", "read", "The legal holds that are on.", looking.list_holds, HALTS),
    Operation("POST", "/holds", "hold", "admin", "Keep a run (`run:ID`) or a label (`label:KEY=VALUE`) from being erased or pruned.",
              doing.hold, HALTS, problems=(404,), body=thing(("scope", "reason"), scope=HELD, reason=NAME)),
    Operation("POST", "/holds/lift", "lift_hold", "admin", "Lift a legal hold.", doing.lift_hold, HALTS, problems=(404,),
              body=thing(("scope", "reason"), scope=HELD, reason=NAME)),
    Operation("GET", "/audit", "list_audit", "read", "Every command, also refused ones, newest first; or the security log.",
              looking.list_audit, AUDIT,
              query=AUDITED),
    Operation("GET", "/audit/verify", "verify_audit", "admin", "Check everything, and say how far that goes.", looking.verify_audit,
              ref(VerificationView)),
    # Notifications
    Operation("GET", "/endpoints", "list_endpoints", "admin", "Who is told of events.", telling.list_endpoints, many(EndpointView)),
    Operation("POST", "/endpoints", "add_endpoint", "admin", "Tell a webhook. Its secret is shown once.", telling.add_endpoint,
              ref(NewEndpoint), problems=(409,), body=thing(("name", "url"), name=TITLE, url=URL, topics=TOPICS)),
    Operation("POST", "/endpoints/remove", "remove_endpoint", "admin", "Tell it nothing more.", telling.remove_endpoint, OK,
              problems=(404,), body=thing(("name",), name=NAME)),
    Operation("GET", "/letters", "list_letters", "admin", "Notifications not delivered.", telling.list_letters, many(LetterView),
              query={"state": {"enum": ["due", "dead"]}, **LINES}),
    Operation("POST", "/letters/retry", "retry_letter", "admin", "Retry a failed notification.", telling.retry_letter, OK, problems=(404,),
              body=thing(("n",), n=AFTER)),
    Operation("POST", "/letters/drop", "drop_letter", "admin", "Drop a failed notification.", telling.drop_letter, OK, problems=(404,),
              body=thing(("n",), n=AFTER)),
    # Who
    Operation("GET", "/programs", "list_programs", "read", "What this server can start.", looking.list_programs, many(ProgramView)),
    Operation("GET", "/me", "who_am_i", "read", "Who you are.", looking.who_am_i, ref(Me)),
    Operation("POST", "/session", "log_in", "none", "A key becomes a browser's session.", doing.log_in, ref(Me), size=2 * KB,
              body={**thing(key=KEY, token=KEY), "minProperties": 1, "maxProperties": 1}),
    Operation("POST", "/session/end", "log_out", "read", "End a browser's session.", doing.log_out, OK),
]  # fmt: skip
