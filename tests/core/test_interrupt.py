"""Which answers fit which interrupt. What does not say yes in so many words approves nothing."""

from typing import Any

import pytest

from adjourn import Decision, InvalidAnswer, NotJSON, StaleDecision
from adjourn.core.answer import decided
from adjourn.core.ids import public_id
from adjourn.core.interrupt import CHOICES, Interrupt, choices, view
from adjourn.core.records import Asked, Suspended

APPROVAL = Asked(
    i="0.0?0", kind="approval", call="0.0", tool="refund", args={"cents": 5}, digest="d1gest", reason="large",
    rules=("ask refund", "ask *"), at=7.0, expires=99.0,
)  # fmt: skip
QUESTION = Suspended(call="0.0", i="0.0?0", type="approval", payload={"q": 1})


def seen(record: Asked | Suspended) -> Interrupt:
    return view("R", 1, record)


# Approvals


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [(True, "approve"), (False, "deny"), (Decision.approve(), "approve"), (Decision.deny(note="no"), "deny")],
)
def test_an_approval_takes_a_decision_or_literally_true_and_false(answer: Any, verdict: str) -> None:
    made = decided(seen(APPROVAL), answer, by="ada")
    assert (made.i, made.verdict, made.by, made.digest) == ("0.0?0", verdict, "ada", "d1gest")


@pytest.mark.parametrize(
    "answer",
    [
        "yes", "true", "approve", 1, 0, 1.0, None, "", [], [True], {"approved": True}, {"choice": "approve"},
        Decision.value(True), Decision.value("approve"),
    ],
)  # fmt: skip
def test_nothing_else_approves_or_denies(answer: Any) -> None:
    with pytest.raises(InvalidAnswer, match="nothing was approved"):
        decided(seen(APPROVAL), answer)


def test_an_edit_travels_with_its_approval() -> None:
    made = decided(seen(APPROVAL), Decision.approve(note="less", edit={"cents": 4}, scope="run"))
    assert (made.verdict, made.edit, made.note, made.scope) == ("approve", {"cents": 4}, "less", "run")


def test_a_decision_about_something_else_is_stale() -> None:
    assert decided(seen(APPROVAL), True, digest="d1gest").digest == "d1gest"
    with pytest.raises(StaleDecision, match="nothing was run"):
        decided(seen(APPROVAL), True, digest="another")


# Decisions


@pytest.mark.parametrize(
    "make",
    [
        lambda: Decision("yes"),  # pyright: ignore[reportArgumentType]
        lambda: Decision("approve", scope="always"),  # pyright: ignore[reportArgumentType]
        lambda: Decision.approve(edit="cents=4"),  # pyright: ignore[reportArgumentType]
        lambda: Decision.approve(edit=["cents"]),  # pyright: ignore[reportArgumentType]
        lambda: Decision.approve(note=5),  # pyright: ignore[reportArgumentType]
        lambda: Decision.deny(note=None),  # pyright: ignore[reportArgumentType]
    ],
)
def test_a_decision_that_is_none_is_refused_when_it_is_made(make: Any) -> None:
    with pytest.raises(InvalidAnswer):
        make()


def test_a_decision_holds_json_only() -> None:
    with pytest.raises(NotJSON, match=r"^answer\.callback: a value of type function"):
        Decision.value({"callback": lambda: None})
    with pytest.raises(NotJSON, match=r"^answer: the number nan"):
        Decision("value", value=float("nan"))
    with pytest.raises(NotJSON, match=r"^edit\.cents: the number nan"):
        Decision.approve(edit={"cents": float("nan")})


def test_a_decision_shows_itself() -> None:
    assert repr(Decision.approve(note="ok", edit={"a": 1})) == "Decision(approve, note='ok', edit={'a': 1})"


# Questions


@pytest.mark.parametrize(
    ("answer", "value"),
    [
        (True, True), (None, None), ("yes", "yes"), ({"approved": True}, {"approved": True}), (0, 0),
        (Decision.approve(), True), (Decision.deny(), False), (Decision.value([1]), [1]),
    ],
)  # fmt: skip
def test_a_question_takes_any_value_whatever_its_type_is_called(answer: Any, value: Any) -> None:
    made = decided(seen(QUESTION), answer, by="ada")
    assert (made.verdict, made.value, made.by) == ("value", value, "ada")


def test_a_question_has_nothing_to_edit() -> None:
    with pytest.raises(InvalidAnswer, match="no call to edit"):
        decided(seen(QUESTION), Decision.approve(edit={"a": 1}))


@pytest.mark.parametrize("kind", ["event", "timer"])
def test_nobody_answers_an_event_or_a_timer(kind: Any) -> None:
    with pytest.raises(InvalidAnswer, match="not for an answer"):
        decided(seen(Suspended(call="0.0", i="x", kind=kind)), True)


# Choices


@pytest.mark.parametrize("kind", ["in_doubt", "error", "limit", "undo"])
@pytest.mark.parametrize("undoing", [False, True])
def test_the_other_kinds_list_their_choices_and_take_no_others(kind: Any, undoing: bool) -> None:
    record = Asked(i="x", kind=kind, undoing=undoing)
    allowed = choices(record)
    assert allowed == CHOICES["in_doubt!" if kind == "in_doubt" and undoing else kind]
    for name in allowed:
        assert decided(seen(record), name).value == {"choice": name}
        assert decided(seen(record), Decision.value({"choice": name, "result": 1})).value == {
            "choice": name,
            "result": 1,
        }
    wrongs: list[Any] = [True, False, None, "", "approve", {"choice": "x"}, {"choice": ["x"]}, {}, [], 5]
    for wrong in [*wrongs, Decision.approve(), Decision.deny()]:
        with pytest.raises(InvalidAnswer) as caught:
            decided(seen(record), wrong)
        assert all(repr(name) in str(caught.value) for name in allowed)


@pytest.mark.parametrize("amount", [0, -1, "5", True, [], float("nan"), float("inf")])
def test_a_limit_is_extended_by_a_positive_number(amount: Any) -> None:
    record = Asked(i="x", kind="limit")
    assert decided(seen(record), {"choice": "extend", "amount": 2.5}).value["amount"] == 2.5
    with pytest.raises(InvalidAnswer, match="positive number"):
        decided(seen(record), {"choice": "extend", "amount": amount})


# What people see


def test_an_approval_shows_the_call_exactly_as_it_would_run() -> None:
    shown = view("R", 4, APPROVAL)
    assert shown.call is not None
    assert (shown.id, shown.run_id, shown.kind, shown.type) == ("R:0.0?0", "R", "approval", "approval")
    assert (shown.call.tool, shown.call.arguments, shown.call.digest) == ("refund", {"cents": 5}, "d1gest")
    assert (shown.call.reason, shown.call.rule) == ("large", "ask refund, ask *")
    assert (shown.opened_at, shown.expires_at, shown.seq) == (7.0, 99.0, 4)


def test_a_question_keeps_its_authors_word_and_has_no_call() -> None:
    shown = view("R", 4, QUESTION)
    assert (shown.kind, shown.type, shown.call, shown.expires_at, shown.payload) == (
        "question",
        "approval",
        None,
        None,
        {"q": 1},
    )


def test_generated_ids_are_qualified_by_their_run_and_given_ones_are_not() -> None:
    assert public_id("R", "0.0?0") == "R:0.0?0"
    assert public_id("R", "manager") == "manager"


def test_the_path_of_a_child_is_shown() -> None:
    asked = Asked(i="2.0/0.1?0", kind="approval", call="2.0/0.1", tool="t")
    assert view("R", 1, asked).path == "2.0"
    assert view("R", 1, Asked(i="model:2.0?0", kind="error", step="model:2.0")).path == "2.0"
