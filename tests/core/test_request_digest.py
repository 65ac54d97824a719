"""What a model is sent: its lines, its digest, how a record says what it was, and which messages belong together."""

import hashlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjourn.core.messages import AssistantMessage, Message, Text, ToolCall, ToolResult, UserMessage
from adjourn.core.request_digest import (
    Running,
    Terms,
    difference,
    line,
    put_together,
    request_digest,
    terms_of,
    unpaired,
)

TERMS = Terms("be kind", "m", {"temperature": 0}, [{"name": "look", "description": "", "schema": {}}])


def said(text: str) -> AssistantMessage:
    return AssistantMessage((Text(text=text),))


def called(*ids: str) -> AssistantMessage:
    return AssistantMessage(tuple(ToolCall(id=id, tool="look") for id in ids))


MESSAGES: st.SearchStrategy[list[Message]] = st.lists(st.sampled_from("abcde").map(UserMessage), max_size=8)


@given(MESSAGES, MESSAGES)
def test_what_was_taken_apart_can_be_put_together_again(base: list[Message], sent: list[Message]) -> None:
    assert put_together(base, difference(base, sent)) == sent


def test_a_stretch_of_what_is_known_is_two_numbers_and_only_what_is_new_is_written_out() -> None:
    base: list[Message] = [UserMessage("one"), said("two"), UserMessage("three"), said("four")]
    sent: list[Message] = [UserMessage("a summary"), *base[1:3], base[3]]
    assert difference(base, sent) == [{"type": "user", "text": "a summary"}, [1, 4]]
    assert difference(base, base) == [[0, 4]]


def test_the_digest_is_that_of_the_lines_and_anybody_can_compute_it() -> None:
    messages: list[Message] = [UserMessage("one"), said("two")]
    text = "".join(line(message).decode() for message in messages) + TERMS.line.decode()
    assert text.splitlines()[0] == '{"text":"one","type":"user"}'
    assert request_digest(messages, TERMS) == hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize(
    "other",
    [
        ([UserMessage("one"), UserMessage("two!")], TERMS),
        ([UserMessage("two"), UserMessage("one")], TERMS),
        ([UserMessage("one")], TERMS),
        ([UserMessage("one"), UserMessage("two")], Terms("be rude", "m", {"temperature": 0}, TERMS.tools)),
        ([UserMessage("one"), UserMessage("two")], Terms("be kind", "n", {"temperature": 0}, TERMS.tools)),
        ([UserMessage("one"), UserMessage("two")], Terms("be kind", "m", {"temperature": 1}, TERMS.tools)),
        ([UserMessage("one"), UserMessage("two")], Terms("be kind", "m", {"temperature": 0}, [])),
    ],
)
def test_every_message_and_every_term_is_in_the_digest(other: Any) -> None:
    assert request_digest(*other) != request_digest([UserMessage("one"), UserMessage("two")], TERMS)


def test_a_running_hash_gives_the_same_digest_and_reads_nothing_twice() -> None:
    running, transcript = Running(), list[Message]()
    for turn in range(5):
        transcript += [UserMessage(f"question {turn}"), said(f"answer {turn}")]
        late: list[Message] = [UserMessage("and this")]
        assert running.digest(transcript, [*transcript, *late], TERMS) == request_digest([*transcript, *late], TERMS)
    transcript[0] = UserMessage("not read again")
    assert running.digest(transcript, transcript, TERMS) != request_digest(transcript, TERMS)


def test_terms_are_found_again_by_their_names_and_not_if_a_part_is_missing() -> None:
    assert terms_of(TERMS.names, TERMS.bodies) == TERMS
    assert terms_of(TERMS.names, {}) is None
    assert terms_of({}, TERMS.bodies) is None
    assert set(Terms("x", "m").names) == {"instructions", "model"}


@pytest.mark.parametrize(
    ("messages", "wrong"),
    [
        (
            [UserMessage("go"), called("a", "b"), ToolResult("a", "look", 1), ToolResult("b", "look", 2), said("done")],
            "",
        ),
        ([UserMessage("go"), ToolResult("a", "look", 1)], "the result of look (a) has no call before it"),
        (
            [UserMessage("go"), called("a", "b"), ToolResult("a", "look", 1)],
            "the call look (b) has no result after it",
        ),
        ([called("a"), UserMessage("oh"), ToolResult("a", "look", 1)], "the call look (a) has no result after it"),
        ([called("a", "a"), ToolResult("a", "look", 1), ToolResult("a", "look", 1)], ""),
    ],
)
def test_every_call_has_its_one_result_right_behind_it(messages: list[Message], wrong: str) -> None:
    assert unpaired(messages) == wrong
