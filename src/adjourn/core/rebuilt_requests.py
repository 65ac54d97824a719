"""The exact request of every model call, made again from the journal alone."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal

import msgspec

from adjourn.core.messages import Message
from adjourn.core.records import AnyRecord, Broke, Replied, Summarised
from adjourn.core.request_digest import Running, Terms, line, request_digest, terms_of
from adjourn.core.state import State
from adjourn.core.summary import question
from adjourn.core.transcript import Transcript, is_erased

AS_SENT, DIFFERS, GONE, UNRECORDED = "as sent", "differs", "erased", "not recorded"


class SentRequest(msgspec.Struct, frozen=True):
    """What a model was sent.

    Attributes:
        seq: the record with its result.
        path: the nested agent that asked; empty for the run's own.
        agent: that agent's name.
        what: its result: `"reply"`, `"cut off"` or `"summary"`.
        messages: the messages.
        terms: instructions, tools and settings; unknown for runs of an older version.
        digest: the digest that was recorded with it.
        made: the digest of what this object has; equal to `digest` if it is complete.
    """

    seq: int
    path: str
    agent: str
    what: Literal["reply", "cut off", "summary"]
    messages: Sequence[Message]
    terms: Terms | None
    digest: str
    made: str

    @property
    def proof(self) -> str:
        """`"as sent"`: it has the digest that was recorded. `"differs"`: it has another one.
        `"erased"`: a turn that was in it was erased since, so nobody can tell. Else
            `"not recorded"`."""
        if not self.digest:
            return UNRECORDED
        if self.made == self.digest:
            return AS_SENT
        # The very objects: a text that only looks the same is no excuse.
        if any(map(is_erased, self.messages)):
            return GONE
        return DIFFERS

    def gist(self) -> dict[str, Any]:
        """As JSON, without the messages themselves."""
        return {
            "seq": self.seq,
            "path": self.path,
            "agent": self.agent,
            "what": self.what,
            "model": self.terms.model if self.terms else "",
            "messages": len(self.messages),
            "digest": self.digest,
            "proof": self.proof,
        }

    def whole(self) -> dict[str, Any]:
        """As JSON, with `request`: the messages and the terms, null where they were not
        recorded."""
        terms = self.terms
        request = {
            "messages": msgspec.to_builtins(tuple(self.messages)),
            "instructions": terms.instructions if terms else None,
            "settings": terms.settings if terms else None,
            "tools": terms.tools if terms else None,
        }
        return {**self.gist(), "request": request}

    def lines(self) -> bytes:
        """Exactly what the digest is of: a line for each message, and one for the terms."""
        return b"".join(map(line, self.messages)) + (self.terms.line if self.terms else b"")


def requests(
    records: Iterable[tuple[int, AnyRecord]], before: Transcript | None = None
) -> Iterator[SentRequest]:
    """Every model call of a journal that came to something, in the order of its records. `before`:
    what was said in the turns before, if the run names one that it goes on with."""
    state, hashes = State(before=before), dict[str, Running]()
    for seq, record, counts in state.belief.sifted(state, records):
        if not isinstance(record, Replied | Broke | Summarised):
            state.fold(seq, record, counts=counts)
            continue
        thread = state.threads[record.path]
        if isinstance(record, Summarised) and record.covers:
            asked = question(thread, record.covers)
        else:
            asked = None
        state.fold(seq, record, counts=counts)
        if isinstance(record, Summarised):
            if asked is not None:  # of one that was cut off nothing but its cost is known
                terms = terms_of(record.sent.terms if record.sent else {}, state.bodies)
                made = request_digest([asked], terms) if terms else ""
                yield SentRequest(
                    seq, record.path, thread.agent, "summary", (asked,), terms, record.request, made
                )
            continue
        what = "reply" if isinstance(record, Replied) else "cut off"
        messages = thread.last_request()
        terms, made = terms_of(thread.terms, state.bodies), ""
        if terms is not None and thread.sent is None:
            made = hashes.setdefault(record.path, Running()).digest(messages, messages, terms)
        elif terms is not None:
            made = request_digest(messages, terms)
        yield SentRequest(
            seq, record.path, thread.agent, what, messages, terms, record.request, made
        )
