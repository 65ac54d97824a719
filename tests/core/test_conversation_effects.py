"""A thread of messages as a table: what a request made now would contain, and whether one is due; and what each record of a
conversation changes in the fold."""

from typing import Any

import pytest
from msgspec.structs import replace

from adjourn.core.conversation_effects import input_message, input_text, root_thread
from adjourn.core.messages import AssistantMessage, Message, Text, ToolCall, ToolResult, UserMessage
from adjourn.core.record_parts import BackgroundRequest, Sent
from adjourn.core.records import (
    AnyRecord,
    Broke,
    Checked,
    Claimed,
    Faulted,
    Replied,
    Started,
    Submitted,
    Summarised,
    Suspended,
)
from adjourn.core.state import State
from adjourn.core.thread import OUTPUT_TOOL, PendingMessage, Thread, late_result
from adjourn.core.usage import Usage

STARTED = Started(run="r", kind="agent", program="a", input="go")
ONE = ToolCall(id="c", tool="pay")
TWO = ToolCall(id="d", tool="ship")
OUTPUT = ToolCall(id="o", tool=OUTPUT_TOOL)


def begun() -> Thread:
    return root_thread(STARTED, None)


def reads(thread: Thread) -> list[str]:
    """The request that would be made now, a word for each message."""
    return [word(message) for message in thread.request()]


def word(message: Message) -> str:
    match message:
        case UserMessage():
            return "note" if message.text.startswith("A message breaks into your work") else f"user:{message.text}"
        case ToolResult():
            return f"{'error' if message.error else 'result'}:{message.content}"
        case AssistantMessage():
            said = message.text or ",".join(part.tool for part in message.parts if isinstance(part, ToolCall))
            return f"{'cut' if message.interrupted else 'model'}:{said}"
        case _:
            return type(message).__name__


def test_a_run_begins_with_what_is_wanted_and_a_request_is_due() -> None:
    thread = begun()
    assert reads(thread) == ["user:go"]
    assert thread.due()


def test_a_final_answer_ends_it_and_a_message_begins_it_again() -> None:
    thread = begun()
    assert thread.replied(Replied(parts=(Text(text="done"),), final=True, output="done")) == []
    assert not thread.due()
    thread.say(7, "more")
    assert thread.due()
    assert reads(thread) == ["user:go", "model:done", "user:more"]


def test_two_results_enter_in_the_order_of_the_calls_once_both_are_there() -> None:
    thread = begun()
    spawned = thread.replied(Replied(parts=(ONE, TWO)))
    assert [call for call, _ in spawned] == ["1.0", "1.1"]
    thread.fill("1.1", "shipped", False)
    assert not thread.due()
    assert reads(thread) == ["user:go", "model:pay,ship"]
    thread.fill("1.0", "no money", True)
    assert thread.due()
    assert reads(thread) == ["user:go", "model:pay,ship", "error:no money", "result:shipped"]


def test_a_second_result_of_a_call_changes_nothing() -> None:
    thread = begun()
    thread.replied(Replied(parts=(ONE, TWO)))
    thread.fill("1.0", "first", False)
    thread.fill("1.0", "second", False)
    thread.fill("1.1", "other", False)
    assert reads(thread)[2:] == ["result:first", "result:other"]


@pytest.mark.parametrize(
    ("reply", "expected", "spawned"),
    [
        (Replied(parts=(OUTPUT,), output=1), "result:accepted", 0),
        (Replied(parts=(OUTPUT,), invalid="not a number"), "error:not a number", 0),
        (Replied(parts=(OUTPUT, ONE)), "model:final_result,pay", 1),
    ],
)
def test_an_output_is_taken_only_if_it_is_valid_and_alone(reply: Replied, expected: str, spawned: int) -> None:
    thread = begun()
    assert len(thread.replied(reply)) == spawned
    assert reads(thread)[-1] == expected


def test_an_output_that_came_with_other_calls_is_answered_as_not_taken() -> None:
    thread = begun()
    thread.replied(Replied(parts=(OUTPUT, ONE)))
    thread.fill("1.1", "paid", False)
    assert reads(thread)[-2].startswith("error:not taken")
    assert reads(thread)[-1] == "result:paid"


def test_what_a_reply_has_not_read_comes_after_it() -> None:
    """A message at 9 came while the model worked on what was said up to 8."""
    thread = begun()
    thread.say(8, "first")
    thread.say(9, "second")
    thread.replied(Replied(parts=(Text(text="hm"),), upto=8))
    assert [pending.seq for pending in thread.pending] == [9]
    assert [word for word in reads(thread) if word != "note"] == ["user:go", "user:first", "model:hm", "user:second"]


def test_the_order_of_messages_does_not_depend_on_who_folded_first() -> None:
    late = PendingMessage(UserMessage("late"), call="1.0")
    one, other = begun(), begun()
    one.say(9, "second")
    one.tell(late)
    one.say(8, "first")
    other.tell(late)
    other.say(8, "first")
    other.say(9, "second")
    assert reads(one) == reads(other) == ["user:go", "user:first", "user:second", "user:late"]


def test_a_message_that_breaks_into_work_comes_with_a_note_and_one_after_an_answer_does_not() -> None:
    working, answered = begun(), begun()
    working.replied(Replied(parts=(ONE,)))
    working.fill("1.0", "paid", False)
    working.say(9, "stop")
    assert reads(working)[-2:] == ["note", "user:stop"]
    answered.replied(Replied(parts=(Text(text="done"),), final=True))
    answered.say(9, "thanks")
    assert "note" not in reads(answered)


def test_what_a_reply_had_said_when_it_was_cut_off_is_kept() -> None:
    thread = begun()
    thread.broke(Broke(text="I was ab"))
    assert reads(thread) == ["user:go", "cut:I was ab"]
    assert thread.due()
    assert (thread.turn, thread.requests) == (1, 1)


def test_a_call_that_never_got_its_result_is_answered_when_the_run_has_ended() -> None:
    thread = begun()
    thread.replied(Replied(parts=(ONE, TWO)))
    thread.fill("1.0", "paid", False)
    assert [word(message) for message in thread.whole()][-2:] == [
        "result:paid",
        "error:the run ended before this call did",
    ]


def test_an_agent_reads_what_became_of_a_call_that_was_queued() -> None:
    assert late_result("pay", {"paid": 5}, "") == "The queued call pay ran; its result: {'paid': 5}"
    assert late_result("pay", None, "denied") == "The queued call pay was not run: denied"


# What was recorded behind the beginning of a run, and what the fold says then.
PAY = Replied(parts=(ONE,))
FAILED = Faulted(step="model:", error="x")
HANDED_IN = Submitted(of=BackgroundRequest(key="k", model="m"))
ASKED_FOR = Suspended(call="model:", i="model:?0", kind="event", key="resp-1")
REFUSED = "output refused by h: no"
STATES: dict[str, tuple[list[AnyRecord], dict[str, Any]]] = {
    "a reply counts": ([Replied(parts=(Text(text="hm"),), usage=Usage(1, 2, 3))], {"tokens": 5, "steps": 1}),
    "so does one that was cut off": ([Broke(text="h", usage=Usage(1, 2, 3))], {"tokens": 5, "steps": 1}),
    "so does a summary": ([Summarised(covers=0, usage=Usage(1, 2, 3))], {"tokens": 5, "steps": 1}),
    "what was sent is kept": ([Replied(parts=(), sent=Sent(bodies={"b": 1}))], {"bodies": {"b"}}),
    "nothing was sent that is not known": ([Replied(parts=())], {"bodies": set()}),
    "a reply ends the attempts": ([FAILED, Replied(parts=())], {"faults": []}),
    "a failure is an attempt": ([FAILED], {"faults": ["model:"]}),
    "a call that was cut off does not end them": ([FAILED, Broke()], {"faults": ["model:"]}),
    "a summary ends its own attempts": (
        [FAILED, Faulted(step="summary:", error="x"), Summarised(covers=0)], {"faults": ["model:"]},
    ),
    "the calls of a reply begin": ([Replied(parts=(ONE, TWO))], {"calls": ["1.0 pay", "1.1 ship"], "called": {"pay", "ship"}}),
    "arguments are those that the model gave": ([PAY], {"args": {}}),
    "or those that were drawn": ([replace(PAY, drawn={"0": {"id": 7}})], {"args": {"id": 7}}),
    "or those that the model gave, if another call's were drawn": ([replace(PAY, drawn={"1": {"id": 7}})], {"args": {}}),
    "a hook lets a call begin, in this epoch": ([PAY, Checked(step="check:1.0", hooks=("h",))], {"checked": 1, "veto": ""}),
    "a hook vetoes a call": (
        [PAY, Checked(step="check:1.0", verdict="veto", hooks=("g", "h"), reason="no")],
        {"checked": 0, "veto": "the hook h says: no"},
    ),
    "a hook about a call that there is not": ([Checked(step="check:9.0", hooks=("h",))], {"steps": 0}),
    "a hook lets an output pass": ([Checked(step="output:", hooks=("h",), upto=1)], {"stop": "", "refused": "", "doubted": False}),
    "a hook asks about an output": (
        [Checked(step="output:", verdict="ask", hooks=("h",))], {"stop": "", "refused": "", "doubted": True},
    ),
    "a hook refuses an output": (
        [Replied(parts=(Text(text="a"),), final=True, output="a"), Checked(step="output:", verdict="veto", hooks=("h",), reason="no")],
        {"stop": REFUSED, "refused": REFUSED, "text": "", "doubted": False},
    ),
    "a hook refuses what was said, and what the model said stays": (
        [Replied(parts=(Text(text="a"),), final=True, output="a"), Checked(step="input:", verdict="veto", hooks=("h",), reason="no")],
        {"stop": "input refused by h: no", "text": "a"},
    ),
    "a request is handed in": ([HANDED_IN], {"submitted": ("", 1, 0, 0, "")}),
    "its provider names it": ([HANDED_IN, ASKED_FOR], {"submitted": ("resp-1", 1, 1, 0, "")}),
    "an attempt fails, and it is in flight no more": ([HANDED_IN, FAILED], {"submitted": ("", 0, 0, 0, "")}),
    "it could not be withdrawn, and is tried again": (
        [HANDED_IN, Submitted(left="why", again=9.0)], {"submitted": ("", 1, 0, 1, "")},
    ),
    "it could not be withdrawn": ([HANDED_IN, Submitted(left="why")], {"submitted": ("", 1, 0, 1, "why")}),
    "it is over": ([HANDED_IN, Submitted(ended="gone")], {"submitted": None}),
    "its reply has come": ([HANDED_IN, Replied(parts=())], {"submitted": None}),
    "what nobody handed in could not be withdrawn": ([Submitted(left="why")], {"submitted": None}),
    "a wait of what nobody handed in": ([ASKED_FOR], {"submitted": None}),
}  # fmt: skip


def seen(state: State) -> dict[str, Any]:
    call, known, root = state.live.get("1.0"), state.submitted.get(""), state.threads[""]
    return {
        "tokens": state.usage.total_tokens, "steps": state.steps, "bodies": set(state.bodies), "called": set(state.called),
        "faults": list(state.faults), "calls": [f"{call.id} {call.tool}" for call in state.live.values()],
        "args": call and call.args, "checked": call and call.checked, "veto": call and call.veto,
        "stop": state.stop_now, "refused": root.refused, "doubted": root.doubted is not None, "text": root.text,
        "submitted": known and (known.id, known.epoch, known.polls, known.tries, known.left),
    }  # fmt: skip


@pytest.mark.parametrize("row", STATES)
def test_what_a_record_changes_in_the_fold(row: str) -> None:
    records, expected = STATES[row]
    state = State().fold_all(enumerate([STARTED, Claimed(epoch=1), *records], 1))
    found = seen(state)
    assert {name: found[name] for name in expected} == expected


INPUTS: list[tuple[Any, str]] = [("go", "go"), ({"n": 1}, '{"n":1}'), (7, "7"), (None, "null")]


@pytest.mark.parametrize(("value", "text"), INPUTS)
def test_an_input_is_read_as_words(value: Any, text: str) -> None:
    assert (input_text(value), input_message(value)) == (text, UserMessage(text))
