"""How a front end names an interrupt, and what its person answered. The name has the digest of what was
shown in it: whoever answers says what they saw, whatever their front end keeps of it."""

import re
from typing import Any, Literal, cast

import msgspec

from adjourn.core.action_digest import digest as digest_of
from adjourn.core.decision import Decision, is_fixed
from adjourn.core.duration import moment
from adjourn.core.ids import ref_of
from adjourn.core.interrupt import Interrupt
from adjourn.core.secret_places import has_secrets
from adjourn.errors import InvalidAnswer, UnknownInterrupt
from adjourn.runtime.checked_answers import answered
from adjourn.views.words import interrupt_title, payload_line

_TOKEN = re.compile(r"([0-9a-f]{64})\.(.{1,400})", re.DOTALL)
APPROVES: dict[str, Any] = {
    "type": "object",
    "properties": {"approved": {"type": "boolean"}, "note": {"type": "string"}},
    "required": ["approved"],
}
EDITS: dict[str, Any] = {
    "type": "object",
    "description": "All arguments, to replace those that were shown.",
}


def token_of(interrupt: Interrupt) -> str:
    """The name by which a front end answers an interrupt as it was shown."""
    return f"{interrupt.digest}.{interrupt.ref}"


def read_token(token: str) -> tuple[str, str]:
    """The ref and the digest in a token; raises `UnknownInterrupt`."""
    found = _TOKEN.fullmatch(token)
    if found is None:
        raise UnknownInterrupt(token[:200], ())
    return found[2], found[1]


async def kept_answer(interrupt: Interrupt, value: Any) -> Any:
    """An answer as its digest may be kept: one that holds a secret is sealed, since a short secret
    could be found again by its digest."""
    if interrupt.kind != "question" or not has_secrets(interrupt.answer_schema):
        return value
    return (await answered(interrupt, value)).value


class GivenAnswer(msgspec.Struct, frozen=True):
    """What somebody at a front end answered. `cancelled`: they answered nothing, and want it
    closed."""

    token: str
    status: Literal["resolved", "cancelled"] = "resolved"
    payload: Any = None

    async def request_id(self, by: str, interrupt: Interrupt) -> str:
        """The same answer of the same person is the same request, however often it is sent.

        Args:
            by: who answers.
            interrupt: what is answered.
        """
        said = self.payload
        if self.status == "resolved":
            said = await kept_answer(interrupt, said)
        return f"front-end/{digest_of(by, self.token, self.status, said)}"

    def decision(self, interrupt: Interrupt) -> Any:
        """It as an answer to the interrupt; raises `InvalidAnswer`."""
        if interrupt.kind == "approval":
            return self._verdict(interrupt)
        if self.status == "resolved":
            return self.payload
        if interrupt.kind == "question":
            return Decision.dismiss()
        choices = ", ".join(interrupt.choices)
        raise InvalidAnswer(
            f"interrupt {interrupt.id!r} ({interrupt.kind}) must be answered with one of: {choices}",
            consequence="nothing was decided",
        )

    def _verdict(self, interrupt: Interrupt) -> Decision:
        if self.status == "cancelled":
            return Decision.deny()
        payload: Any = self.payload
        if isinstance(payload, dict):
            given = cast("dict[str, Any]", payload)
        else:
            given = {"approved": payload}
        approved, note = given.get("approved"), given.get("note", "")
        if not isinstance(approved, bool) or not isinstance(note, str):
            raise InvalidAnswer(
                f"interrupt {interrupt.id!r} is an approval",
                consequence="nothing was decided",
                advice='answer {"approved": true} or {"approved": false}, perhaps with a "note"',
            )
        if not approved:
            return Decision.deny(note)
        return Decision.approve(note, given.get("editedArgs"))


def shown_interrupt(interrupt: Interrupt, *, decidable: bool) -> dict[str, Any]:
    """An interrupt as AG-UI describes one.

    Args:
        interrupt: the interrupt.
        decidable: whether who is shown it may answer it.
    """
    found: dict[str, Any] = {
        "id": token_of(interrupt),
        "reason": _reason(interrupt),
        "message": _message(interrupt),
        "responseSchema": _response_schema(interrupt),
        "metadata": {"adjourn": _details(interrupt, decidable=decidable)},
    }
    if interrupt.call is not None:
        found["toolCallId"] = ref_of(interrupt.run_id, interrupt.call.call_id)
    if interrupt.expires_at is not None:
        found["expiresAt"] = moment(interrupt.expires_at).isoformat()
    return found


def _reason(interrupt: Interrupt) -> str:
    if interrupt.kind == "approval":
        return "tool_call"
    if interrupt.kind == "question":
        return "input_required"
    return f"adjourn:{interrupt.kind}"


def _message(interrupt: Interrupt) -> str:
    call = interrupt.call
    if call is not None:
        title = interrupt_title(interrupt.kind, interrupt.type, call.tool)
        return f"{title}: {call.reason}" if call.reason else title
    line = payload_line(interrupt.payload)
    if isinstance(line, str) and line:
        return line
    return interrupt_title(interrupt.kind, interrupt.type, "", interrupt.payload)


def _response_schema(interrupt: Interrupt) -> dict[str, Any]:
    schema = interrupt.answer_schema
    if interrupt.kind == "approval":
        if is_fixed(schema):
            return APPROVES
        edits = schema if isinstance(schema, dict) else EDITS
        return {**APPROVES, "properties": {**APPROVES["properties"], "editedArgs": edits}}
    if interrupt.choices:
        choice = {"type": "string", "enum": list(interrupt.choices)}
        return {"type": "object", "properties": {"choice": choice}, "required": ["choice"]}
    return schema if isinstance(schema, dict) else {}


def _details(interrupt: Interrupt, *, decidable: bool) -> dict[str, Any]:
    found: dict[str, Any] = {
        "ref": interrupt.ref,
        "kind": interrupt.kind,
        "type": interrupt.type,
        "digest": interrupt.digest,
        "decidable": decidable,
    }
    if interrupt.call is not None:
        found |= {
            "tool": interrupt.call.tool,
            "arguments": interrupt.call.arguments,
            "effect": interrupt.call.effect,
            "rule": interrupt.call.rule,
            "approvers": interrupt.approvers,
            "agreed": [seat.filled_by for seat in interrupt.slots if seat.filled_by],
        }
    else:
        found["payload"] = interrupt.payload
    if interrupt.choices:
        found["choices"] = interrupt.choices
    return found
