"""The envelope: what was saved comes back, and what was altered, stripped, forged or cut never gets as far as its body."""

import hashlib
import json
import time
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from tests.again import in_time
from tests.logs import ours

from adjourn import Checkpoint, CheckpointInvalid, InvalidDefinition
from adjourn.core import envelope as envelope_module
from adjourn.core.envelope import seal, unseal
from adjourn.core.messages import Text, ToolCall
from adjourn.core.records import AnyRecord, Asked, Claimed, Decided, Parked, Replied, Started
from adjourn.runtime import checkpoint as checkpoint_module
from adjourn.runtime.checkpoint import taken_over

SECRET = "correct horse battery staple and some more"
OTHER = "tr0ub4dor&3 is shorter but it has its 32"

RECORDS: tuple[AnyRecord, ...] = (
    Started(run="R-1", kind="agent", program="refunds", fingerprint={"name": "refunds"}, input="refund 1", at=1.5),
    Claimed(epoch=1, worker="w", at=2.0),
    Replied(parts=(Text(text='say "é" [{'), ToolCall(id="c", tool="refund", args={"cents": 5})), upto=2, at=3.0),
    Asked(i="0.0?0", kind="approval", call="0.0", tool="refund", args={"cents": 5}, digest="d", at=3.0),
    Parked(at=3.0),
)


def signed(secret: str | None = SECRET, records: Sequence[AnyRecord] = RECORDS) -> str:
    return Checkpoint(records, secret=secret).to_json()


SIGNED = signed()


def forged(records: str, **fields: Any) -> dict[str, Any]:
    """An unsigned envelope around any text, with a digest that fits."""
    made = json.loads(signed(None)) | {"records": records} | fields
    covered = envelope_module._bytes(made)
    return made | {"digest": "sha256:" + hashlib.sha256(covered).hexdigest()}


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """What the parser of the body was given."""
    given: list[str] = []
    inside = envelope_module._inside

    def spy(envelope: envelope_module.Envelope) -> list[AnyRecord]:
        given.append(envelope.records)
        return inside(envelope)

    def refuse(*_: object) -> None:
        raise AssertionError("the body was parsed")

    monkeypatch.setattr(envelope_module, "_inside", spy)
    monkeypatch.setattr(envelope_module, "parse_list", refuse)
    yield given
    assert not given


# Round trip


@pytest.mark.parametrize("secret", [None, SECRET])
@pytest.mark.parametrize("form", [str, str.encode, json.loads], ids=["text", "bytes", "dict"])
def test_what_was_saved_comes_back(secret: str | None, form: Callable[[str], Any]) -> None:
    saved = form(signed(secret))
    back = Checkpoint.from_json(saved, secret=secret)
    assert back.records == RECORDS
    assert back.to_json() == signed(secret)
    assert (back.run_id, back.status, back.seq, back.input) == ("R-1", "waiting", 5, "refund 1")
    assert [i.id for i in back.interrupts] == ["R-1:0.0?0"]


def test_a_checkpoint_is_its_own_json() -> None:
    checkpoint = Checkpoint(RECORDS)
    assert Checkpoint.from_json(checkpoint) is checkpoint


def test_the_routing_fields_can_be_read_without_this_library() -> None:
    seen = json.loads(signed())
    assert seen["format"] == "adjourn/checkpoint"
    assert {k: seen[k] for k in ("version", "run_id", "program", "kind", "seq", "status")} == {
        "version": 4, "run_id": "R-1", "program": "refunds", "kind": "agent", "seq": 5, "status": "waiting",
    }  # fmt: skip
    assert isinstance(seen["records"], str)


def test_other_whitespace_and_another_order_of_keys_are_the_same_checkpoint() -> None:
    pretty = json.dumps(dict(reversed(json.loads(signed()).items())), indent=4, ensure_ascii=True)
    assert Checkpoint.from_json(pretty, secret=SECRET).records == RECORDS


def test_whatever_fits_into_a_journal_comes_out_of_a_checkpoint() -> None:
    deep: Any = 1
    for _ in range(100):
        deep = {"a": deep}
    call = ToolCall(id="c", tool="refund", args=deep)
    saved = signed(None, (*RECORDS[:2], Replied(parts=(call,), upto=2)))
    assert Checkpoint.from_json(saved).records[2] == Replied(parts=(call,), upto=2)


# Altered


@pytest.mark.parametrize("records", [RECORDS[:1], RECORDS], ids=["started", "waiting"])
def test_every_flipped_bit_is_refused_before_the_body_is_parsed(
    records: Sequence[AnyRecord], parsed: list[str]
) -> None:
    saved = signed(records=records).encode()
    for place in range(len(saved)):
        for bit in range(8):
            altered = bytearray(saved)
            altered[place] ^= 1 << bit
            with pytest.raises(CheckpointInvalid):
                unseal(bytes(altered), [SECRET.encode()])


def test_every_flipped_bit_is_noticed_without_a_secret_too(parsed: list[str]) -> None:
    saved = signed(None).encode()
    for place in range(len(saved)):
        altered = bytearray(saved)
        altered[place] ^= 1
        with pytest.raises(CheckpointInvalid):
            unseal(bytes(altered), [])


def test_a_cut_checkpoint_is_refused_wherever_it_was_cut(parsed: list[str]) -> None:
    saved = signed()
    for length in range(len(saved)):
        with pytest.raises(CheckpointInvalid):
            Checkpoint.from_json(saved[:length], secret=SECRET)


@pytest.mark.parametrize("field", ["run_id", "program", "kind", "session", "seq", "status", "fingerprint", "records"])
def test_a_visible_field_cannot_be_changed(field: str, parsed: list[str]) -> None:
    saved = json.loads(signed())
    saved[field] = saved[field] + 1 if field == "seq" else saved[field] + "x"
    for secret in (SECRET, None):
        with pytest.raises(CheckpointInvalid, match="modified"):
            Checkpoint.from_json(saved, secret=secret)


def test_a_new_digest_does_not_help_without_the_key(parsed: list[str]) -> None:
    saved = json.loads(signed())
    lie = forged(saved["records"].replace('"cents":5', '"cents":50000')) | {"kid": saved["kid"], "mac": saved["mac"]}
    with pytest.raises(CheckpointInvalid, match="modified, or signed with a key that is not in the key ring"):
        Checkpoint.from_json(lie, secret=SECRET)


@pytest.mark.parametrize("strip", [("mac",), ("mac", "kid"), ("kid",), ("digest",), ("records",), ("version",)])
@pytest.mark.parametrize("how", ["gone", "empty"])
def test_a_stripped_field_is_refused(strip: tuple[str, ...], how: str, parsed: list[str]) -> None:
    saved = json.loads(signed())
    for field in strip:
        if how == "gone":
            del saved[field]
        else:
            saved[field] = ""
    with pytest.raises(CheckpointInvalid):
        Checkpoint.from_json(saved, secret=SECRET)


def test_with_a_secret_an_unsigned_checkpoint_is_refused(parsed: list[str]) -> None:
    with pytest.raises(CheckpointInvalid, match="not signed"):
        Checkpoint.from_json(signed(None), secret=SECRET)


def test_another_key_is_refused(parsed: list[str]) -> None:
    with pytest.raises(CheckpointInvalid, match="key ring"):
        Checkpoint.from_json(signed(), secret=OTHER)


def test_the_name_of_a_key_does_not_stand_for_the_key(parsed: list[str]) -> None:
    mine, theirs = json.loads(signed()), json.loads(signed(OTHER))
    with pytest.raises(CheckpointInvalid, match="key ring"):
        Checkpoint.from_json(theirs | {"kid": mine["kid"]}, secret=SECRET)
    with pytest.raises(CheckpointInvalid, match="key ring"):
        Checkpoint.from_json(mine | {"kid": theirs["kid"]}, secret=f"{SECRET},{OTHER}")


# Keys


def test_a_key_ring_signs_with_the_first_and_verifies_with_all() -> None:
    old, new, both = signed(OTHER), signed(SECRET), f"{SECRET}, {OTHER}"
    assert Checkpoint.from_json(old, secret=both).records == RECORDS
    assert Checkpoint.from_json(new, secret=both).records == RECORDS
    assert signed(both) == new
    rotated = Checkpoint.from_json(old, secret=both).to_json()
    assert Checkpoint.from_json(rotated, secret=SECRET).records == RECORDS
    with pytest.raises(CheckpointInvalid):
        Checkpoint.from_json(rotated, secret=OTHER)


def test_the_secret_of_the_environment_is_read_at_each_call(monkeypatch: pytest.MonkeyPatch) -> None:
    checkpoint = Checkpoint(RECORDS)
    unsigned = checkpoint.to_json()
    monkeypatch.setenv("ADJOURN_SECRET", SECRET)
    mine = checkpoint.to_json()
    assert mine == signed(SECRET)
    with pytest.raises(CheckpointInvalid, match="not signed"):
        Checkpoint.from_json(unsigned)
    monkeypatch.setenv("ADJOURN_SECRET", OTHER)
    with pytest.raises(CheckpointInvalid, match="key ring"):
        Checkpoint.from_json(mine)
    monkeypatch.setenv("ADJOURN_SECRET", f"{OTHER},{SECRET}")
    assert Checkpoint.from_json(mine).records == RECORDS
    monkeypatch.delenv("ADJOURN_SECRET")
    with pytest.raises(CheckpointInvalid, match="no secret is set to verify it with"):
        Checkpoint.from_json(mine)


SHORT = {
    "short": "at least 32",
    f"{SECRET},short": "at least 32",
    "x" * 31: "at least 32",
    "": "is set, but empty",
    " , ": "is set, but empty",
    ",": "is set, but empty",
}


@pytest.mark.parametrize("secret", SHORT)
def test_a_secret_that_protects_nothing_is_refused_with_what_to_do(
    secret: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    why = f"{SHORT[secret]}.*openssl rand -hex 32"
    for use in (lambda: Checkpoint(RECORDS).to_json(), lambda: Checkpoint.from_json(SIGNED)):
        monkeypatch.setenv("ADJOURN_SECRET", secret)
        with pytest.raises(InvalidDefinition, match=f"ADJOURN_SECRET.*{why}"):
            use()
        monkeypatch.delenv("ADJOURN_SECRET")
    for use in (
        lambda: Checkpoint(RECORDS, secret=secret).to_json(),
        lambda: Checkpoint.from_json(SIGNED, secret=secret),
    ):
        with pytest.raises(InvalidDefinition, match=f"secret=.*{why}"):
            use()


def test_the_length_of_a_key_is_counted_in_bytes() -> None:
    assert Checkpoint.from_json(signed("é" * 16), secret="é" * 16).records == RECORDS
    with pytest.raises(InvalidDefinition, match="a key of 30 bytes"):
        signed("é" * 15)


# Without a key


def test_a_signed_checkpoint_is_refused_where_no_key_is_set(parsed: list[str]) -> None:
    """A missing secret must not turn every signature into an ornament."""
    saved = json.loads(SIGNED)
    for without in (saved, saved | {"mac": ""}, saved | {"kid": ""}):
        with pytest.raises(
            CheckpointInvalid, match="no secret is set to verify it with.*set the secret it was signed with"
        ):
            Checkpoint.from_json(without)


def test_an_unsigned_checkpoint_is_taken_over_and_that_is_said_once(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoint_module, "_said", set[str]())
    taken_over(Checkpoint(RECORDS))  # it came from nowhere
    taken_over(SIGNED, secret=SECRET)
    Checkpoint.from_json(signed(None))  # only looked at
    assert not ours(caplog)
    for _ in range(3):
        assert taken_over(signed(None)).records == RECORDS
    [said] = [line for line in ours(caplog) if line.name == "adjourn.checkpoint"]
    assert said.levelname == "WARNING"
    assert "run R-1 is not signed" in said.getMessage() and "set ADJOURN_SECRET" in said.getMessage()


def test_the_secret_is_nowhere_in_the_checkpoint() -> None:
    assert SECRET not in signed()
    assert hashlib.sha256(SECRET.encode()).hexdigest()[:16] not in signed()


# Not a checkpoint


@pytest.mark.parametrize("version", [5, 0, -1, 10**30])
def test_a_version_that_is_not_known_is_refused_by_number(version: int, parsed: list[str]) -> None:
    with pytest.raises(CheckpointInvalid, match=f"version {version} is not supported"):
        Checkpoint.from_json(json.loads(signed()) | {"version": version}, secret=SECRET)


@pytest.mark.parametrize(
    "data",
    [
        "", "null", "[]", "5", '"text"', "{}", "not json", b"\xff", b"", {}, {"format": "adjourn/checkpoint"},
        {"format": 5}, '{"records": "[]", "records": "[]"}', '{"version": NaN}', '{"run_id": "\\ud800"}',
    ],
)  # fmt: skip
def test_what_is_not_a_checkpoint_is_refused_as_such(data: Any, parsed: list[str]) -> None:
    with pytest.raises(CheckpointInvalid):
        Checkpoint.from_json(data)


@pytest.mark.parametrize("data", [None, 5, ["a"], object()])
def test_a_thing_of_another_type_is_refused_by_its_type(data: Any) -> None:
    with pytest.raises(CheckpointInvalid, match=f"got {type(data).__name__}"):
        Checkpoint.from_json(data)


@pytest.mark.parametrize(
    "change",
    [
        {"format": "other/checkpoint"}, {"version": True}, {"version": "1"}, {"version": 1.0}, {"seq": "5"},
        {"run_id": None}, {"mac": 5}, {"more": 1}, {"run_id": "\ud800"}, {"kid": "\ud800"}, {"mac": "\ud800"},
        {"digest": "\ud800"}, {"records": ["x"]},
    ],
)  # fmt: skip
def test_a_dict_with_a_wrong_field_is_refused(change: dict[str, Any], parsed: list[str]) -> None:
    for secret in (SECRET, None):
        with pytest.raises(CheckpointInvalid):
            Checkpoint.from_json(json.loads(signed()) | change, secret=secret)


def test_a_checkpoint_of_an_older_version_is_brought_up_to_date_by_its_upgrader(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def renamed(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [{**r, "input": f"was: {r['input']}"} if r["t"] == "started" else r for r in records]

    old = signed()
    monkeypatch.setattr(envelope_module, "VERSION", 5)
    monkeypatch.setitem(envelope_module.UPGRADERS, 4, renamed)
    assert Checkpoint.from_json(old, secret=SECRET).input == "was: refund 1"
    assert json.loads(Checkpoint(RECORDS).to_json())["version"] == 5


def test_there_is_a_way_from_every_older_version() -> None:
    assert sorted(envelope_module.UPGRADERS) == list(range(1, envelope_module.VERSION))


# A forger without a key in the way still builds no types and breaks nothing.

STARTED = '{"t":"started","run":"R-1","kind":"agent","program":"refunds","input":"x"}'

EXTENDED = (
    f'[{STARTED},{{"t":"asked","i":"l","kind":"limit","step":"s"}},'
    '{"t":"decided","i":"l","verdict":"value","value":{"choice":"extend"}}]'
)


@pytest.mark.parametrize(
    "body",
    [
        "", "{}", "[]", "null", "[1]", "[{}]", f"[{STARTED},{STARTED}]", '[{"t":"nothing"}]', '[{"t":"claimed","epoch":1}]',
        f'[{STARTED},{{"t":"claimed","epoch":"1"}}]', f'[{STARTED},{{"t":"claimed","epoch":1,"epoch":1}}]',
        f'[{STARTED},{{"t":"claimed","epoch":1,"more":1}}]', f'[{STARTED},{{"t":"parked","wake_at":NaN}}]',
        f'[{STARTED},{{"t":"completed"}},{{"t":"parked"}}]', f'[{STARTED},{{"t":"resumed"}}]',
        f'[{STARTED},{{"t":"decided","i":"x","verdict":"approve"}}]', f'[{STARTED},{{"t":"suspended","call":"9.9","i":"x"}}]',
        f'[{STARTED},{{"t":"replied","path":"nowhere"}}]', f'[{STARTED},{{"t":"faulted","step":"model:x","error":""}}]',
        f'[{STARTED},{{"t":"asked","i":"l","kind":"limit","step":"s"}},{{"t":"decided","i":"l","verdict":"value"}}]',
        EXTENDED,
        '[{"t":"started","run":"R-1","kind":"agent","program":"p","history":[{"type":"nothing"}]}]',
        '[{"t":"started","run":"R-1","kind":"agent","program":"p","history":[5]}]',
        '[{"t":"started","run":"R-1","kind":"agent","program":"p","input":' + "[" * 10_000 + "]" * 10_000 + "}]",
    ],
)  # fmt: skip
def test_a_body_that_is_no_journal_is_refused_as_invalid(body: str) -> None:
    for seq in (body.count('"t":'), 1):
        with pytest.raises(CheckpointInvalid):
            Checkpoint.from_json(forged(body, seq=seq, status="ready"))


def test_an_envelope_that_says_another_status_than_its_records_is_refused() -> None:
    body = f"[{STARTED}]"
    assert Checkpoint.from_json(forged(body, seq=1, status="ready")).status == "ready"
    with pytest.raises(CheckpointInvalid, match="its records have 'ready'"):
        Checkpoint.from_json(forged(body, seq=1, status="completed"))


def test_a_run_id_in_the_envelope_that_is_not_the_journals_is_refused() -> None:
    with pytest.raises(CheckpointInvalid, match="do not match its envelope"):
        Checkpoint.from_json(forged(f"[{STARTED}]", seq=1, status="ready", run_id="R-2"))


# Size


HUGE = 100_000_000


@pytest.mark.parametrize(
    "make",
    [
        lambda: "[" * HUGE,
        lambda: "[" + "{}," * (HUGE // 3) + "{}]",
        lambda: '{"a":1' + ',"a":1' * (HUGE // 6) + "}",
        lambda: '"' * HUGE,
        lambda: signed() + " " * HUGE,
    ],
    ids=["deep", "wide", "twins", "quotes", "blank"],
)
def test_a_hundred_megabytes_are_refused_in_bounded_time_and_memory(make: Callable[[], str], parsed: list[str]) -> None:
    data = make()
    tracemalloc.start()
    begun = time.perf_counter()
    try:
        with pytest.raises(CheckpointInvalid):
            Checkpoint.from_json(data, secret=SECRET)
        in_time(time.perf_counter() - begun, 3)
        assert tracemalloc.get_traced_memory()[1] < 3 * HUGE
    finally:
        tracemalloc.stop()


def test_a_journal_that_could_not_be_read_back_is_refused_when_it_is_written() -> None:
    large = Decided(i="0.0?0", verdict="value", value="x" * (64 * 1024 * 1024))
    with pytest.raises(CheckpointInvalid, match="at most 67,108,864"):
        seal({"run_id": "R-1"}, [*RECORDS, large], [])


def test_a_journal_that_is_too_long_is_refused_when_it_is_read() -> None:
    with pytest.raises(CheckpointInvalid, match="at most 67,108,864"):
        Checkpoint.from_json(forged(" " * (64 * 1024 * 1024 + 1)))


DENSE = 15_000_000


@pytest.mark.parametrize(
    "body",
    [
        "[" + "[]," * (DENSE // 3) + "[]]",
        "[" + "{}," * (DENSE // 3) + "{}]",
        STARTED.replace('"x"', "[" + "[]," * (DENSE // 3) + "[]]").join("[]"),
        STARTED.replace('"x"', '{"a":[' + "{}," * (DENSE // 3) + "{}]}").join("[]"),
        "[" * DENSE,
    ],
    ids=["lists", "objects", "lists-in-a-record", "objects-in-a-record", "open"],
)
def test_fifteen_megabytes_of_nothing_are_refused_before_they_are_built(body: str) -> None:
    """Two bytes of text are fifty of memory; there is no secret in the way."""
    data = forged(body, seq=1, status="ready")
    tracemalloc.start()
    begun = time.process_time()
    try:
        with pytest.raises(CheckpointInvalid):
            Checkpoint.from_json(data)
        in_time(time.process_time() - begun, 1)
        assert tracemalloc.get_traced_memory()[1] < 8 * DENSE
    finally:
        tracemalloc.stop()


def test_brackets_in_texts_are_no_lists() -> None:
    text = "[{" * 1_000_000
    saved = Checkpoint((*RECORDS[:2], Replied(parts=(Text(text=text),), upto=2))).to_json()
    assert Checkpoint.from_json(saved).records[2] == Replied(parts=(Text(text=text),), upto=2)


def test_what_has_too_many_parts_is_refused_when_it_is_written() -> None:
    many = Decided(i="0.0?0", verdict="value", value=[[]] * 1_000_001)
    with pytest.raises(CheckpointInvalid, match="over 1,000,000 lists and objects"):
        seal({"run_id": "R-1"}, [*RECORDS, many], [])
