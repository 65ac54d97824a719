"""A thread of messages as a table: what a request made now would contain, and whether one is due."""

import pytest

from adjourn.core.conversation_state import root_thread
from adjourn.core.messages import AssistantMessage, Message, Text, ToolCall, ToolResult, UserMessage
from adjourn.core.records import Broke, Replied, Started
from adjourn.core.thread import OUTPUT_TOOL, PendingMessage, Thread, late_result

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
