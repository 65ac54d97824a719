"""A transcript is a list that shares its beginning: whatever is asked of it, the answer is a list's."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjourn.core.messages import AssistantMessage, Message, Text, ToolResult, UserMessage
from adjourn.core.request_digest import Terms, request_digest
from adjourn.core.thread import Thread
from adjourn.core.transcript import ABSENT, SEGMENT, Transcript


def conversation(count: int, since: int = 0) -> list[Message]:
    """So many different messages."""
    return [_message(n) for n in range(since, since + count)]


def _message(n: int) -> Message:
    return (UserMessage(f"u{n}"), AssistantMessage((Text(text=f"a{n}"),)), ToolResult(f"c{n}", "look", n))[n % 3]


lengths = st.one_of(
    st.integers(0, 7), st.sampled_from([SEGMENT - 1, SEGMENT, SEGMENT + 1, 2 * SEGMENT, 2 * SEGMENT + 3])
)


@given(lengths, lengths, st.integers(-3 * SEGMENT, 3 * SEGMENT), st.integers(-3 * SEGMENT, 3 * SEGMENT))
def test_it_reads_like_a_list(before: int, after: int, first: int, until: int) -> None:
    plain = conversation(before)
    transcript = Transcript(plain).next_turn()
    transcript.extend(conversation(after, before))
    plain += conversation(after, before)
    assert len(transcript) == len(plain) and list(transcript) == plain and transcript == plain
    assert list(transcript[first:until]) == plain[first:until]
    assert list(transcript[first:until][1:-1]) == plain[first:until][1:-1]
    assert list(reversed(transcript[:5])) == plain[:5][::-1] and list(transcript[::7]) == plain[::7]
    for place in (0, -1, before, before - 1, len(plain) // 2):
        if -len(plain) <= place < len(plain):
            assert transcript[place] == plain[place]
    assert transcript.replies == sum(isinstance(message, AssistantMessage) for message in plain)


def test_a_place_that_is_not_there_is_an_index_error() -> None:
    for place in (3, -4):
        with pytest.raises(IndexError):
            Transcript(conversation(3))[place]


@given(lengths, lengths)
def test_two_turns_after_the_same_turn_share_its_segments_and_nothing_else(before: int, more: int) -> None:
    first = Transcript(conversation(before))
    one, two = first.next_turn(), first.next_turn()
    one.extend(conversation(more, 10_000))
    two.append(UserMessage("another branch"))
    assert list(first) == conversation(before)
    assert list(two) == [*conversation(before), UserMessage("another branch")]
    assert list(one) == [*conversation(before), *conversation(more, 10_000)]
    for mine, other in zip(one.segments, first.segments, strict=False):
        assert mine is other


@given(lengths, lengths)
def test_a_view_stays_what_it_was_while_the_transcript_grows(before: int, more: int) -> None:
    transcript = Transcript(conversation(before))
    view = transcript.upto(len(transcript), [UserMessage("and this")])
    begun = iter(view)
    read = [next(begun)]
    transcript.extend(conversation(more, before))
    whole = [*conversation(before), UserMessage("and this")]
    assert list(view) == whole == [*read, *begun] and len(view) == len(whole)
    assert view == tuple(whole) and hash(view) == hash(tuple(whole))
    assert list(view[before:]) == [UserMessage("and this")] and view[-1] == UserMessage("and this")
    assert list(view[max(0, before - 2) :]) == whole[max(0, before - 2) :]


@given(lengths, lengths)
def test_the_hash_goes_on_where_the_turn_before_stopped(before: int, more: int) -> None:
    terms = Terms("be kind", "m")
    first = Transcript(conversation(before))
    first.running.digest(first, first, terms)
    second = first.next_turn()
    second.extend(conversation(more, before))
    assert second.running.digest(second, second, terms) == request_digest(conversation(before + more), terms)
    assert first.running.digest(first, first, terms) == request_digest(conversation(before), terms)


def test_what_is_absent_counts_and_is_never_taken_for_the_whole() -> None:
    thread = Thread("", "helper", transcript=Transcript(absent=2, replies=1))
    thread.transcript.append(UserMessage("go on"))
    assert len(thread.transcript) == 3 and thread.transcript.replies == 1
    assert list(thread.transcript) == [ABSENT, ABSENT, UserMessage("go on")]
    assert thread.transcript[2] == UserMessage("go on") and list(thread.transcript[1:]) == [
        ABSENT,
        UserMessage("go on"),
    ]
    for read in (thread.request, thread.whole, thread.last_request):
        with pytest.raises(ValueError, match="first 2 messages"):
            read()


def test_a_request_costs_the_same_after_a_hundred_and_after_ten_thousand_messages() -> None:
    read = 0

    class Counting(Transcript):
        def at(self, place: int) -> Message:
            nonlocal read
            read += 1
            return super().at(place)

    for count in (100, 10_000):
        thread = Thread("", "helper", transcript=Counting(conversation(count)))
        thread.say(1, "and now?")
        read = 0
        request = thread.request()
        assert read == 0 and len(request) == count + 1 and request[-1] == UserMessage("and now?")
