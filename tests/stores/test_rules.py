"""The rules that every store applies, as tables over plain rows: what is listed, who sees it, what is due, which names are taken."""

from typing import Any

import pytest
from msgspec.structs import replace

from adjourn.core.records import AnyRecord, Decided, Said, Started
from adjourn.core.status import ENDED, Status
from adjourn.errors import Invalid
from adjourn.stores.protocol import Filter
from adjourn.stores.rules.inbox_filter import visible
from adjourn.stores.rules.interrupt_row import InterruptRow
from adjourn.stores.rules.names import check_names, check_record, cleaned
from adjourn.stores.rules.run_filter import fits
from adjourn.stores.run_row import RunRow

NOW = 1000.0
ROW = RunRow(
    "run-7",
    "agent",
    "refunds",
    session="s1",
    labels={"shop": "north"},
    title="Order 4417",
    created_at=500.0,
    updated_at=600.0,
)
OPEN = InterruptRow("1.0?0", 4, "approval")

FILTERS = [
    (Filter(), True),
    (Filter(status="ready"), True),
    (Filter(status="waiting"), False),
    (Filter(run="run-7"), True),
    (Filter(run="run-"), False),
    (Filter(prefix="run-"), True),
    (Filter(prefix="7"), False),
    (Filter(program="refunds"), True),
    (Filter(program="refund"), False),
    (Filter(session="s1"), True),
    (Filter(session="s2"), False),
    (Filter(label=("shop", "north")), True),
    (Filter(label=("shop", "south")), False),
    (Filter(label=("other", "north")), False),
    (Filter(text="ORDER"), True),
    (Filter(text="refu"), True),
    (Filter(text="run-7"), True),
    (Filter(text="4418"), False),
    (Filter(since=500.0), True),
    (Filter(since=500.1), False),
    (Filter(until=500.0), True),
    (Filter(until=499.9), False),
    (Filter(changed=600.0), True),
    (Filter(changed=600.1), False),
    (Filter(program="refunds", session="s2"), False),
]


@pytest.mark.parametrize(("filter", "listed"), FILTERS, ids=repr)
def test_a_run_is_listed_if_every_field_that_was_given_fits(filter: Filter, listed: bool) -> None:
    assert fits(ROW, filter, NOW, ()) is listed


HALTS = ("tool:send", "*")
SEEN: list[tuple[Status, dict[str, Any], str]] = [
    (Status.READY, {}, "ready"),
    (Status.READY, {"worker": "w", "lease_until": NOW + 1}, "running"),
    (Status.READY, {"worker": "w", "lease_until": NOW}, "ready"),
    (Status.WAITING, {"opens": 2, "errors": 1}, "waiting"),
    (Status.WAITING, {"opens": 2, "errors": 2}, "failed"),
    (Status.WAITING, {"opens": 0, "errors": 0}, "waiting"),
    (Status.WAITING, {"blocked": ("tool:send",)}, "held"),
    (Status.WAITING, {"blocked": ("tool:send",), "opens": 1, "errors": 1}, "held"),
    (Status.WAITING, {"blocked": ("agent:clerk",)}, "waiting"),
    (Status.READY, {"blocked": ("agent:clerk", "*")}, "held"),
    (Status.PAUSED, {"opens": 1, "errors": 1}, "paused"),
    (Status.COMPLETED, {"stopped": True}, "stopped"),
    (Status.COMPLETED, {}, "completed"),
]


@pytest.mark.parametrize(("status", "fields", "seen"), SEEN)
def test_the_status_that_people_see_and_can_filter_by(status: Status, fields: dict[str, object], seen: str) -> None:
    row = replace(ROW, status=status, **fields)
    assert row.shown(NOW, HALTS) == seen
    assert fits(row, Filter(status=seen), NOW, HALTS)
    assert fits(row, Filter(status=status.value), NOW, HALTS)


DUE: list[tuple[str, dict[str, Any], bool]] = [
    ("ready", {}, True),
    ("pausing", {}, True),
    ("cancelling", {}, True),
    ("waiting", {}, False),
    ("waiting", {"wake_at": NOW}, True),
    ("waiting", {"wake_at": NOW + 1}, False),
    ("waiting", {"blocked": ("*",)}, False),
    ("waiting", {"blocked": ("agent:other",)}, True),
    ("stuck", {"wake_at": NOW}, True),
    ("stuck", {}, False),
    ("paused", {"wake_at": NOW}, False),
    ("completed", {"wake_at": NOW}, False),
    ("cancelled", {"wake_at": NOW}, False),
]


@pytest.mark.parametrize(("status", "fields", "due"), DUE)
def test_when_a_worker_has_something_to_do(status: str, fields: dict[str, object], due: bool) -> None:
    assert replace(ROW, status=Status(status), **fields).due(NOW, frozenset({"*"})) is due


@pytest.mark.parametrize("status", Status)
@pytest.mark.parametrize("undoing", [False, True])
def test_a_person_sees_what_their_decision_would_still_change(status: Status, undoing: bool) -> None:
    """While a run is cancelled only its undoing is asked about, and after its end nothing."""
    cancelling = status in (Status.CANCELLING, Status.STUCK)
    expected = status not in ENDED and (undoing or not cancelling)
    assert visible(replace(ROW, status=status), replace(OPEN, undoing=undoing), NOW) is expected


@pytest.mark.parametrize(
    ("fields", "seen"),
    [
        ({}, True),
        ({"state": "closed"}, False),
        ({"kind": "timer"}, False),
        ({"kind": "event"}, False),
        ({"kind": "question"}, True),
        ({"expires": NOW + 1}, True),
        ({"expires": NOW}, False),
    ],
)
def test_only_what_is_open_for_people_and_has_not_expired_is_in_an_inbox(fields: dict[str, object], seen: bool) -> None:
    assert visible(replace(ROW, status=Status.WAITING), replace(OPEN, **fields), NOW) is seen


WITH_NUL: dict[str, AnyRecord] = {
    "by": Said(text="x", by="a\0na"),
    "interrupt_id": Decided(i="1.0\0?0", verdict="approve"),
    "run_id": Started(run="r\0", kind="agent", program="p"),
    "program": Started(run="r", kind="agent", program="p\0"),
    "session": Started(run="r", kind="agent", program="p", session="\0"),
    "label": Started(run="r", kind="agent", program="p", labels={"shop": "nor\0th"}),
}


@pytest.mark.parametrize("what", WITH_NUL)
def test_a_name_with_a_nul_is_refused_and_the_field_is_named(what: str) -> None:
    with pytest.raises(Invalid, match=f"^{what} must not contain a NUL character"):
        check_record(WITH_NUL[what])


def test_the_second_of_two_names_is_looked_at_as_well() -> None:
    check_names(label="a", by="ana")
    with pytest.raises(Invalid, match="by must not"):
        check_names(label="a", by="\0")
    two = Started(run="r", kind="agent", program="p", labels={"shop": "north", "till": "\0"})
    with pytest.raises(Invalid, match="label must not"):
        check_record(two)


def test_what_people_wrote_may_have_a_nul_in_it_and_a_text_for_people_loses_it() -> None:
    check_record(Said(text="a\0b", by="ana"))
    assert cleaned("a\0b\0") == "ab"
    assert cleaned("as it is") == "as it is"
