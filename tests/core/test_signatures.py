"""What a signature covers, who may sign, and in which words one is refused."""

import base64
import hashlib
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjourn import InvalidDefinition
from adjourn.core.record_parts import ApprovalSlot, DecisionSeal
from adjourn.core.records import (
    AnyRecord,
    Asked,
    Claimed,
    Decided,
    Disowned,
    Emitted,
    Forked,
    Intended,
    Parked,
    Replied,
    Returned,
    Said,
    Started,
    Suspended,
)
from adjourn.core.signatures import (
    LEEWAY,
    Decider,
    decider_line,
    flaw,
    key_id,
    message,
    prefix_digest,
    read_ring,
    shown,
    was_accepted,
)

ONE, TWO = bytes(range(32)), bytes(range(32, 64))
SEAL = DecisionSeal("k", 1000.0, "n", "")
YES = Decided(i="1.0?0", verdict="approve", by="ana", groups=("leads",), at=1000.0, seal=SEAL)
EVENT = Emitted(event="paid", value=5, by="ana", at=1000.0, seal=SEAL)
FORK = Forked(of="r0", at_seq=9, by="ana", answers="keep", at=1000.0, seal=SEAL)
ASKED = Asked(
    i="1.0?0", kind="approval", call="1.0", tool="refund", args={"cents": 5}, definition="d", describes="Pay.",
    effect="unsafe", reason="large", rules=("ask refund",), gate=(ApprovalSlot("rule", ("leads",)),), requesters=("eve",), valid_for=60.0,
)  # fmt: skip
QUESTION = Suspended(call="1.0", i="1.0?0", type="approval", payload={"question": "ok?"}, schema={"type": "boolean"})

replace = msgspec.structs.replace


def bytes_of(record: Any = YES, store: str = "s", run: str = "r", of: str = "d", seal: DecisionSeal = SEAL) -> bytes:
    return message(store, run, record, of, seal)


# What is signed

CHANGES: dict[str, dict[str, Any]] = {
    "store": {"store": "s2"},
    "run": {"run": "r2"},
    "interrupt": {"record": replace(YES, i="1.1?0")},
    "what was shown": {"of": "d2"},
    "verdict": {"record": replace(YES, verdict="deny")},
    "value": {"record": replace(YES, value=1)},
    "edit": {"record": replace(YES, edit={"cents": 5})},
    "no arguments at all": {"record": replace(YES, edit={})},
    "scope": {"record": replace(YES, scope="run")},
    "by": {"record": replace(YES, by="bob")},
    "groups": {"record": replace(YES, groups=("leads", "finance"))},
    "no groups": {"record": replace(YES, groups=())},
    "one group of two names": {"record": replace(YES, groups=("leads,finance",))},
    "time": {"seal": replace(SEAL, at=1000.001)},
    "nonce": {"seal": replace(SEAL, nonce="n2")},
    "key": {"seal": replace(SEAL, kid="k2")},
    "an event of that name": {"record": Emitted(event="1.0?0", by="ana", groups=("leads",), at=1000.0)},
    "a fork": {"record": FORK},
}


def test_every_field_is_covered_and_no_two_share_their_bytes() -> None:
    made = {name: bytes_of(**change) for name, change in CHANGES.items()}
    assert all(len(text) == 32 for text in made.values())
    assert len({bytes_of(), *made.values()}) == 1 + len(CHANGES)


def test_it_is_the_digest_of_the_design() -> None:
    """Whoever verifies with other software needs these bytes, field by field."""
    fields = [
        "decision/1", "s", "r", "1.0?0", "d", "approve", "[null]", "[null]", "", "ana", '["leads"]', "1000.0", "n", "k",
    ]  # fmt: skip
    raw = b"adjourn/1\0" + b"".join(b"%d:%s" % (len(field.encode()), field.encode()) for field in fields)
    assert bytes_of() == hashlib.sha256(raw).digest()


def test_a_note_and_the_records_own_time_are_not_signed() -> None:
    assert bytes_of(replace(YES, note="fine", at=1001.0)) == bytes_of()


values = st.recursive(
    st.none() | st.booleans() | st.integers(-100, 100) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=2), inner, max_size=2),
    max_leaves=4,
)


@given(values, values)
def test_two_different_answers_never_share_a_signature(one: Any, two: Any) -> None:
    """Not even the text "true" and the value true."""
    same = bytes_of(replace(YES, verdict="value", value=one)) == bytes_of(replace(YES, verdict="value", value=two))
    assert same == (msgspec.json.encode(one, order="deterministic") == msgspec.json.encode(two, order="deterministic"))


@given(values, values)
def test_nor_do_two_different_events(one: Any, two: Any) -> None:
    same = bytes_of(replace(EVENT, value=one)) == bytes_of(replace(EVENT, value=two))
    assert same == (msgspec.json.encode(one, order="deterministic") == msgspec.json.encode(two, order="deterministic"))


# What was shown is made of the record, whatever the record says that it is

FORGED: dict[str, Asked] = {
    "arguments": replace(ASKED, args={"cents": 5_000_000}),
    "tool": replace(ASKED, tool="wire"),
    "definition": replace(ASKED, definition="e"),
    "call": replace(ASKED, call="2.0"),
    "description": replace(ASKED, describes="Harmless."),
    "effect": replace(ASKED, effect="read"),
    "undo": replace(ASKED, undo=True),
    "reason": replace(ASKED, reason="small"),
    "rules": replace(ASKED, rules=()),
    "gate": replace(ASKED, gate=()),
    "groups of the gate": replace(ASKED, gate=(ApprovalSlot("rule", ("interns",)),)),
    "requesters": replace(ASKED, requesters=()),
    "life": replace(ASKED, valid_for=0.0),
    "interrupt": replace(ASKED, i="1.0?1"),
}


@pytest.mark.parametrize("what", FORGED)
def test_an_approval_that_was_rewritten_shows_something_else(what: str) -> None:
    honest = shown("r", ASKED)
    lie = replace(FORGED[what], digest=honest, action=ASKED.action)
    assert shown("r", lie) != honest
    assert shown("r2", ASKED) != honest


def test_an_escalation_shows_what_was_shown_before() -> None:
    again = replace(ASKED, i="1.0?1", carries=("1.0?0",), escalated=True, expires=0.0)
    assert shown("r", again) == shown("r", ASKED)
    third = replace(ASKED, i="1.0?2", carries=("1.0?0", "1.0?1"))
    assert shown("r", third) == shown("r", ASKED)


@pytest.mark.parametrize(
    "change", [{"payload": {"question": "really?"}}, {"type": "other"}, {"schema": None}, {"i": "x"}, {"call": "2.0"}]
)
def test_a_question_that_was_rewritten_shows_something_else(change: dict[str, Any]) -> None:
    assert shown("r", replace(QUESTION, **change)) != shown("r", QUESTION)
    assert shown("r", replace(QUESTION, at=5.0)) == shown("r", QUESTION)


def test_a_call_in_doubt_that_was_rewritten_shows_something_else() -> None:
    doubt = replace(ASKED, kind="in_doubt")
    changes: list[dict[str, Any]] = [{"gate": ()}, {"args": {"cents": 6}}, {"kind": "approval"}, {"call": "2.0"}]
    assert len({shown("r", doubt), *(shown("r", replace(doubt, **change)) for change in changes)}) == 5


@pytest.mark.parametrize("kind", ["limit", "error", "undo"])
def test_so_does_a_choice(kind: Any) -> None:
    choice = replace(ASKED, kind=kind, payload={"limit": 5})
    changes: list[dict[str, Any]] = [
        {"payload": {"limit": 500}},
        {"gate": ()},
        {"args": {"cents": 6}},
        {"kind": "approval"},
    ]
    assert len({shown("r", choice), *(shown("r", replace(choice, **change)) for change in changes)}) == 5


def test_who_keeps_answers_keeps_these_records() -> None:
    prefix: list[AnyRecord] = [Started(run="r", kind="agent", program="p", at=1.0), replace(YES, seal=None)]
    honest = prefix_digest(FORK, prefix)
    assert honest == prefix_digest(FORK, list(prefix))
    for other in (prefix[:1], [prefix[0], replace(YES, value=1, seal=None)]):
        assert prefix_digest(FORK, other) != honest
    assert prefix_digest(replace(FORK, at_seq=8), prefix) != honest


# The deciders

KEY = base64.b64encode(ONE).decode()
OTHER = base64.b64encode(TWO).decode()


def test_a_key_is_named_by_its_hash() -> None:
    assert key_id(ONE) == hashlib.sha256(b"adjourn/decider\0" + ONE).hexdigest()[:16]


def test_lines_are_read() -> None:
    text = f"""
    # who decides here
    ed25519 {KEY} authority prod-server until=2027-01-01   # the old one

    ed25519 {OTHER} person="Ana Maria" groups=leads,finance until=2027-01-01T12:00:00+02:00
    """
    assert read_ring(text, "f") == {
        key_id(ONE): Decider(key_id(ONE), ONE, "prod-server", False, (), 1798761600.0),
        key_id(TWO): Decider(key_id(TWO), TWO, "Ana Maria", True, ("leads", "finance"), 1798761600.0 + 10 * 3600),
    }


@pytest.mark.parametrize(
    ("name", "person", "groups"),
    [("prod", False, ()), ("the old server", False, ()), ("ana", True, ()), ("Ana M.", True, ("leads", "night shift"))],
)
def test_a_line_that_was_printed_is_read_back(name: str, person: bool, groups: tuple[str, ...]) -> None:
    [decider] = read_ring(decider_line(ONE, name, person=person, groups=groups), "f").values()
    assert decider == Decider(key_id(ONE), ONE, name, person, groups)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (f"rsa {KEY} authority prod", "'rsa' is not a supported kind of key"),
        ("ed25519", "is incomplete"),
        (f"ed25519 {KEY}", "is incomplete"),
        (f"ed25519 {KEY} authority", "must have `authority NAME` or `person=NAME`"),
        (f"ed25519 {KEY} authority until=2027-01-01", "must have `authority NAME` or `person=NAME`"),
        (f"ed25519 {KEY} person=", "must have `authority NAME` or `person=NAME`"),
        (f"ed25519 {KEY} person=@worker", "must have `authority NAME` or `person=NAME`"),
        (f"ed25519 {KEY} prod", "must have `authority NAME` or `person=NAME`"),
        (f"ed25519 {KEY[:-4]} authority prod", "not a public key: 32 bytes in base64"),
        ("ed25519 ???? authority prod", "not a public key: 32 bytes in base64"),
        (f"ed25519 {KEY} authority prod until=soon", "until='soon' is not a date; write it as until=2027-01-01"),
        (f"ed25519 {KEY} authority prod groups=leads", "groups= is for a person"),
        (f"ed25519 {KEY} person=ana role=admin", "'role=admin' is not understood"),
        (f"ed25519 {KEY} person=ana until=2027-01-01 until=2028-01-01", "is not understood"),
        (f"ed25519 {KEY} person=ana groups=", "'groups=' is not understood"),
        (f'ed25519 {KEY} person="ana', "No closing quotation"),
        (f"ed25519 {OTHER} authority again", "the key of 'first' is already in the list"),
    ],
)
def test_a_line_that_is_wrong_is_refused_by_file_and_number(line: str, why: str) -> None:
    with pytest.raises(InvalidDefinition, match="deciders.txt, line 3: ") as refused:
        read_ring(f"# who\ned25519 {OTHER} authority first\n{line}\n", "deciders.txt")
    assert why in str(refused.value)


@pytest.mark.parametrize("text", ["", "\n\n", "# nobody\n"])
def test_a_file_that_names_nobody_is_refused(text: str) -> None:
    with pytest.raises(InvalidDefinition, match="has no deciders.*add lines such as `ed25519 BASE64 authority NAME"):
        read_ring(text, "f")


def test_a_signing_key_is_not_taken_for_deciders() -> None:
    with pytest.raises(InvalidDefinition, match="holds a signing key"):
        read_ring("-----BEGIN PRIVATE KEY-----\nMC4\n-----END PRIVATE KEY-----\n", "f")


# What is wrong

SERVER = Decider("k", ONE, "prod", until=2000.0)
ANA = Decider("k", ONE, "ana", True, ("leads", "finance"))


def said(record: Any, decider: Decider = SERVER, right: bool = True) -> str:
    return flaw({decider.kid: decider}, "s", "r", record, "d", lambda public, signature, text: right)


def at(time: float) -> Any:
    return replace(YES, at=time, seal=replace(SEAL, at=time))


@pytest.mark.parametrize(
    ("record", "decider", "why"),
    [
        (YES, SERVER, ""),
        (replace(YES, by="bob", groups=("anything",)), SERVER, ""),
        (replace(YES, seal=None), SERVER, "it is not signed"),
        (
            replace(YES, seal=replace(SEAL, kid="other")),
            SERVER,
            "key 'other', which does not belong to a decider",
        ),
        (at(1999.9), SERVER, ""),
        (at(2000.0), SERVER, "had expired when it was signed"),
        (replace(YES, at=1000.0 + LEEWAY), SERVER, ""),
        (replace(YES, at=1000.1 + LEEWAY), SERVER, "has a different time than the record"),
        (replace(YES, at=999.9 - LEEWAY), SERVER, "has a different time than the record"),
        (replace(YES, at=0.0), SERVER, "has a different time than the record"),
        (replace(YES, seal=replace(SEAL, sig="?")), SERVER, "is malformed"),
        (YES, ANA, ""),
        (replace(YES, groups=()), ANA, ""),
        (replace(YES, by="bob"), ANA, "with the key of 'ana', but says that 'bob' decided"),
        (replace(YES, groups=("leads", "board")), ANA, "'ana' is not in board"),
        (replace(EVENT, by="bob"), ANA, "says that 'bob' decided"),
        (replace(FORK, by="bob"), ANA, "says that 'bob' decided"),
        (FORK, ANA, ""),
    ],
)
def test_what_is_wrong_is_said(record: Any, decider: Decider, why: str) -> None:
    found = said(record, decider)
    assert why in found and bool(found) == bool(why)


@pytest.mark.parametrize("record", [YES, EVENT, FORK])
def test_a_signature_that_does_not_verify_is_no_signature(record: Any) -> None:
    assert said(record, right=False) == "it differs from what 'prod' signed for this run of this store"


def test_nobody_trusts_an_empty_ring() -> None:
    assert flaw({}, "s", "r", YES, "d", lambda public, signature, text: True)


# What was accepted before

BEFORE: list[tuple[int, AnyRecord]] = [
    (1, Started(run="r", kind="agent", program="p")),
    (2, Claimed(epoch=1)),
    (3, ASKED),
    (4, Parked()),
]
CLAIMED, PARKED, INTENDED = Claimed(epoch=2), Parked(), Intended(call="1.0", tool="refund")


@pytest.mark.parametrize(
    ("later", "accepted"),
    [
        ((), False),
        ((CLAIMED,), False),
        ((Said(text="x"), CLAIMED), False),
        ((Returned(call="1.1"),), False),  # it may have been on its way
        ((Returned(call="1.1"), CLAIMED), False),
        ((CLAIMED, Disowned(seq=5)), False),
        ((CLAIMED, Returned(call="1.1")), True),
        ((CLAIMED, PARKED), True),
        ((PARKED,), True),
        ((CLAIMED, INTENDED), True),
        ((Replied(upto=4),), False),
        ((Replied(upto=5),), True),
        ((Forked(of="r0", at_seq=5),), True),
    ],
)
def test_a_decision_is_history_once_a_worker_that_knew_it_went_on(later: tuple[AnyRecord, ...], accepted: bool) -> None:
    records = [*BEFORE, (5, YES), *enumerate(later, 6)]
    assert was_accepted(records, 4) == accepted
