"""Ids: what people may choose is one alphabet, and every id is read as it was written."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.golden_journals import golden_journals

from adjourn.core import records as r
from adjourn.core.ids import (
    CHOSEN,
    StepId,
    StepIdKind,
    WorkerId,
    activation_id,
    ancestors,
    branch_label,
    check_chosen,
    check_imported,
    checked_name,
    compensation_id,
    compensation_number,
    depth,
    element_label,
    fork_id,
    is_call,
    is_given,
    is_undo,
    is_within,
    label_of,
    limit_step,
    limits_at,
    local_event,
    local_of,
    model_step,
    parse_fork,
    path_of,
    places_of,
    public_id,
    question_id,
    question_of,
    ref_of,
    split_event,
    split_ref,
    summary_step,
    tool_call_id,
    turn_id,
    undo_id,
    undo_target,
    verify_step,
)
from adjourn.core.interrupt import view
from adjourn.core.memo_key import MemoKind, memo_key, parse_memo
from adjourn.core.stop_conditions import External, MaxSteps, TextMention, ToolCalled
from adjourn.errors import Invalid, InvalidDefinition
from adjourn.server.schemas import RUN_ID

GOOD = ["a", "7", "order-1", "order 1", "7Q2M-41KD-9XKQ-Z0P1", "a.b_c~2", "x" * 200]
BAD: list[Any] = [
    "", " a", "-rf", ".hidden", "~a", "_a", "a:b", "a?b", "a/b", "a!b", "a#b", "a\\b", "a;b", "a$(b)", "a`b`", "a'b", 'a"b',
    "a&b", "a|b", "a>b", "a*", "a\nb", "a\n", "a\tb", "a\x00", "ünï", "а", "a\u202eb", "a\u00a0b", "x" * 201, None, 7, b"a", ["a"],
]  # fmt: skip
LOCALS = [
    "2.0?0",
    "2.0/1.1?3",
    "each#0[3]/item#0?0",
    "model:?0",
    "model:2.0?1",
    "verify:2.0?0",
    "poison?0",
    "confirm",
    "confirm~2",
]


@pytest.mark.parametrize("id", GOOD)
def test_an_id_of_the_alphabet_is_taken_as_it_is(id: str) -> None:
    assert check_chosen(id, "run_id") == id


@pytest.mark.parametrize("id", BAD)
def test_any_other_is_refused_naming_the_argument_and_the_alphabet(id: Any) -> None:
    with pytest.raises(Invalid, match=r"^interrupt_id must be a short string of letters.*at most 200 characters, got"):
        check_chosen(id, "interrupt_id")


@given(st.text(max_size=220))
def test_the_alphabet_is_that_of_http(text: str) -> None:
    def takes(check: Any) -> bool:
        try:
            return bool(check(text, "run_id"))
        except Invalid:
            return False

    whole = re.fullmatch(RUN_ID["pattern"].removeprefix("^").removesuffix("$"), text) is not None
    assert takes(check_chosen) == whole
    if whole:
        assert check_imported(text) == text, "what can be chosen can be imported"


def test_http_takes_its_pattern_from_here() -> None:
    assert RUN_ID["pattern"] == f"^{CHOSEN}$"


@pytest.mark.parametrize("run", [*GOOD, "order 1; touch pwned", "-rf", "ünï"])
@pytest.mark.parametrize("local", LOCALS)
def test_a_ref_is_split_as_it_was_built(run: str, local: str) -> None:
    ref = ref_of(run, local)
    assert split_ref(ref) == (run, local)
    assert {local_of(run, name) for name in (ref, public_id(run, local), local)} == {local}


@given(
    st.tuples(st.sampled_from(GOOD), st.sampled_from(LOCALS)), st.tuples(st.sampled_from(GOOD), st.sampled_from(LOCALS))
)
def test_two_interrupts_never_share_a_ref(one: tuple[str, str], other: tuple[str, str]) -> None:
    assert (ref_of(*one) == ref_of(*other)) == (one == other)


@pytest.mark.parametrize("run", ["a:b", "a?b", "a/b", "", "a\nb", "\x1b[2J", "x" * 201])
def test_a_journal_from_elsewhere_has_an_id_that_earlier_versions_allowed(run: str) -> None:
    assert check_imported("order 1; touch pwned") == "order 1; touch pwned"
    with pytest.raises(Invalid, match="nothing was imported"):
        check_imported(run)


# Ids as the code makes them.

NUMBERS = st.integers(0, 10**6)


def _is_name(text: str) -> bool:
    try:
        return bool(checked_name(text, "a name"))
    except InvalidDefinition:
        return False


def _tool_call(turn: int, number: int) -> str:
    return tool_call_id(turn_id("", turn), number)


def _element(join: str, number: int) -> str:
    return element_label(join, number).removesuffix("/")


def _branch(join: str, key: str) -> str:
    return branch_label(join, key).removesuffix("/")


def _below(path: str, own: str) -> str:
    return label_of(path) + own


ORDINARY = st.sampled_from(["pay", "when2", "model", "poison", "1.0", "a.b", "ä"])
NAMES = ORDINARY | st.text(min_size=1, max_size=6).filter(_is_name)
ACTIVATIONS = st.builds(activation_id, st.just(""), NAMES, NUMBERS)
TOOL_CALLS = st.builds(_tool_call, NUMBERS, NUMBERS)
OWN_NAMES = TOOL_CALLS | ACTIVATIONS
SEGMENTS = OWN_NAMES | st.builds(_element, ACTIVATIONS, NUMBERS) | st.builds(_branch, ACTIVATIONS, NAMES)
PATHS = st.lists(SEGMENTS, max_size=3).map("/".join)
CALLS = st.builds(_below, PATHS, OWN_NAMES)
UNDOS = CALLS.map(undo_id) | st.builds(compensation_id, CALLS, NUMBERS)
CALL_PATHS = st.just("") | CALLS
TEXTS = st.text(st.sampled_from(":?!/#[]~@.0ab'"), min_size=1, max_size=9) | st.text(min_size=1, max_size=9)
LIMITS = (
    st.integers(1, 99).map(lambda n: MaxSteps(n).name)
    | TEXTS.map(lambda text: TextMention(text).name)
    | TEXTS.map(lambda text: ToolCalled(text).name)
    | TEXTS.map(lambda text: External(text).name)
)
STEPS = (
    CALLS
    | UNDOS
    | CALL_PATHS.map(model_step)
    | CALL_PATHS.map(summary_step)
    | CALLS.map(verify_step)
    | st.sampled_from(["poison", "graph"])
    | st.builds(limit_step, LIMITS, CALL_PATHS)
)
RUNS = st.from_regex(CHOSEN.replace("199", "9"), fullmatch=True)
LOCAL_IDS = st.builds(question_id, STEPS, NUMBERS) | RUNS


@given(PATHS, OWN_NAMES, st.sampled_from(["", "!undo", "!cancel0", "!cancel17"]))
def test_a_call_says_where_it_stands_and_what_it_takes_back(path: str, name: str, suffix: str) -> None:
    target = _below(path, name)
    call = target + suffix
    assert is_call(call)
    assert (path_of(call), undo_target(call), is_undo(call)) == (path, target, bool(suffix))


@given(CALLS, NUMBERS)
def test_an_undo_says_what_it_takes_back_and_which_compensation_it_is(call: str, number: int) -> None:
    assert (undo_target(undo_id(call)), compensation_number(undo_id(call))) == (call, None)
    compensation = compensation_id(call, number)
    assert (undo_target(compensation), compensation_number(compensation)) == (call, number)
    assert not is_undo(call)


@pytest.mark.parametrize(
    "text",
    ["", "2", "2.", "2.0!", "2.0!undo!undo", "2.0!cancel", "2.0?0", "model:2.0", "/2.0", "2.0/", "pay", "pay#", "@a#0"],
)
def test_what_is_no_call_is_none(text: str) -> None:
    assert not is_call(text)


@given(PATHS)
def test_a_path_is_below_each_of_its_ancestors(path: str) -> None:
    found = ancestors(path)
    assert len(found) == depth(path)
    assert found[-1:] == ((path,) if path else ())
    assert all(is_within(path, above) for above in found)
    assert [path_of(above) for above in found] == ["", *found[:-1]][: len(found)]


@given(st.one_of(STEPS, st.text()))
def test_a_step_is_written_as_it_was_read(text: str) -> None:
    assert str(StepId.parse(text)) == text


@given(STEPS, STEPS)
def test_two_steps_are_equal_only_if_their_ids_are(one: str, other: str) -> None:
    assert (StepId.parse(one) == StepId.parse(other)) == (one == other)


@given(LIMITS, CALL_PATHS)
def test_a_limit_keeps_its_text_and_its_path_whatever_the_text_is(limit: str, path: str) -> None:
    assert StepId.parse(limit_step(limit, path)) == StepId(StepIdKind.LIMIT, path=path, limit=limit)


@given(st.dictionaries(LIMITS, st.floats(0, 9), max_size=3), CALLS)
def test_what_was_added_to_the_limits_of_a_nested_agent_is_found_by_their_texts(
    more: dict[str, float], path: str
) -> None:
    elsewhere = {limit_step(limit): 99.0 for limit in more}
    assert limits_at({**elsewhere, **{limit_step(limit, path): n for limit, n in more.items()}}, path) == more


def test_the_colon_in_the_text_of_a_limit_is_not_the_beginning_of_a_path() -> None:
    limit = TextMention("a:b").then("pause").name
    at_root = view("r", 1, r.Asked(i=question_id(limit, 0), kind="limit", step=limit))
    assert at_root.path == ""
    step = limit_step(limit, "2.0")
    nested = view("r", 1, r.Asked(i=question_id(step, 0), kind="limit", step=step))
    assert nested.path == "2.0"


@given(RUNS, LOCAL_IDS)
def test_an_interrupt_has_three_names_and_each_is_read(run: str, local: str) -> None:
    ref, public = ref_of(run, local), public_id(run, local)
    assert split_ref(ref) == (run, local)
    assert {local_of(run, name) for name in (local, public, ref)} == {local}
    assert public == (local if is_given(local) else ref)
    assert places_of(ref) == [(run, local)]
    assert places_of(public) == [("" if is_given(local) else run, local)]
    assert (run, local) in places_of(public, run)


@given(STEPS, NUMBERS)
def test_a_question_says_which_call_or_step_it_is_of(step: str, number: int) -> None:
    local = question_id(step, number)
    assert question_of(local) == step
    assert not is_given(local)


@pytest.mark.parametrize("text", ["", "?0", "2.0?", "2.0?x", "a:"])
def test_what_names_no_interrupt_is_nowhere(text: str) -> None:
    assert places_of(text) == []


@given(st.sampled_from(MemoKind), st.one_of(st.text(), NUMBERS.map(str)))
def test_the_key_of_a_memo_is_read_as_it_was_written(kind: MemoKind, name: str) -> None:
    name = "" if kind is MemoKind.PROGRESS else name
    assert parse_memo(memo_key(kind, name)) == (kind, name)


@pytest.mark.parametrize("key", ["", "x", "progressive", "steps"])
def test_what_is_no_memo_is_refused(key: str) -> None:
    with pytest.raises(Invalid, match="is not the key of a memo"):
        parse_memo(key)


@given(PATHS, NAMES)
def test_an_event_has_the_label_of_its_flow(path: str, name: str) -> None:
    label = label_of(path)
    assert split_event(label + name) == (label, name)
    assert local_event(label + name) == name


@given(st.one_of(RUNS, st.just("a@b")), NUMBERS)
def test_a_fork_says_what_it_is_of(run: str, seq: int) -> None:
    assert parse_fork(fork_id(run, seq)) == (run, seq)
    assert parse_fork("") == ("", 0)


@pytest.mark.parametrize(
    ("text", "machine", "process"),
    [("vm/6cad/40|26391|215242|1201", "vm/6cad/40", 26391), ("w1", "w1", None), ("", "", None), ("a|b|c|d", "a", None)],
)
def test_a_worker_says_where_it_is(text: str, machine: str, process: int | None) -> None:
    worker = WorkerId.parse(text)
    assert (worker.machine, worker.process) == (machine, process)
    assert str(worker) == text or not worker.pid


# Journals as earlier versions wrote them.


def _calls(record: r.AnyRecord) -> list[str]:
    return [call for call in (getattr(record, "call", ""), *getattr(record, "undone", ())) if call]


JOURNALS = golden_journals()


def test_there_are_golden_journals_of_every_kind() -> None:
    assert {name.partition(".")[2].partition("-")[0] for name in JOURNALS} >= {"json", "jsonl", "sql"}


@pytest.mark.parametrize("name", JOURNALS)
def test_every_id_of_a_golden_journal_is_read_and_written_the_same(name: str) -> None:
    run = ""
    for _, record in JOURNALS[name]:
        run = getattr(record, "run", run)
        assert check_imported(run) == run
        for call in _calls(record):
            assert is_call(call)
        if step := getattr(record, "step", ""):
            assert str(StepId.parse(step)) == step
        if local := getattr(record, "i", ""):
            assert split_ref(ref_of(run, local)) == (run, local)
            assert local_of(run, public_id(run, local)) == local
        if key := getattr(record, "key", ""):
            assert memo_key(*parse_memo(key)) == key
        if isinstance(record, r.Started):
            assert record.forked_from in ("", fork_id(*parse_fork(record.forked_from)))
        if isinstance(record, r.Claimed):
            assert str(WorkerId.parse(record.worker)) == record.worker or not WorkerId.parse(record.worker).pid
