"""The status table, cell by cell; and nothing but the table makes the docs' diagram."""

from pathlib import Path

import pytest

from adjourn.core.records import (
    AnyRecord,
    Asked,
    Broke,
    CancelAsked,
    Claimed,
    Closed,
    Decided,
    Doubted,
    Emitted,
    Faulted,
    Intended,
    Late,
    Parked,
    PauseAsked,
    Replied,
    Resumed,
    Returned,
    RunCancelled,
    RunCompleted,
    Said,
    Started,
    Stepped,
    Suspended,
    Verified,
    Yielded,
)
from adjourn.core.status import CANCELS, ENDED, NEXT, RUNNABLE, Status, after, to_mermaid

DOCS = Path(__file__).parents[2] / "docs"

STEERING: dict[str, AnyRecord] = {
    "Claimed": Claimed(epoch=1),
    "Parked": Parked(),
    "RunCompleted": RunCompleted(),
    "RunCancelled": RunCancelled(),
    "PauseAsked": PauseAsked(),
    "Resumed": Resumed(),
    "CancelAsked": CancelAsked(),
    "Decided": Decided(i="x", verdict="approve"),
    "Said": Said(text="x"),
    "Emitted": Emitted(event="x"),
}

# A row per status; "-" is refused. What a second cancel meets is refused here and acknowledged by the store.
TABLE = """
           Claimed    Parked  RunCompleted RunCancelled PauseAsked Resumed CancelAsked Decided    Said    Emitted
ready      ready      waiting completed    -            pausing    -       cancelling  ready      ready   ready
waiting    ready      -       -            -            paused     -       cancelling  ready      ready   ready
pausing    pausing    paused  -            -            pausing    ready   cancelling  pausing    pausing pausing
paused     -          -       -            -            -          ready   cancelling  paused     paused  paused
cancelling cancelling stuck   -            cancelled    -          -       -           cancelling -       -
stuck      cancelling -       -            -            -          -       -           cancelling -       -
completed  -          -       -            -            -          -       -           -          -       -
cancelled  -          -       -            -            -          -       -           -          -       -
"""


def cells() -> list[tuple[str, str, str]]:
    head, *rows = [line.split() for line in TABLE.strip().splitlines()]
    return [(row[0], record, cell) for row in rows for record, cell in zip(head, row[1:], strict=True)]


@pytest.mark.parametrize(("status", "record", "to"), cells())
def test_every_cell(status: str, record: str, to: str) -> None:
    got = after(Status(status), STEERING[record])
    assert (got.value if got else "-") == to


def test_the_table_of_this_test_is_complete() -> None:
    assert {(status, record) for status, record, _ in cells()} == {(s.value, r) for s in Status for r in STEERING}


OTHERS: list[AnyRecord] = [
    Replied(), Broke(), Returned(call="c"), Suspended(call="c", i="x"), Stepped(call="c", key="k"), Yielded(call="c"),
    Faulted(step="model:", error="x"), Doubted(call="c"), Verified(call="c", answer="not"),
    Intended(call="c", tool="t"), Asked(i="x", kind="error"), Closed(i="x", why="expired"),
]  # fmt: skip


@pytest.mark.parametrize("record", OTHERS, ids=lambda r: type(r).__name__)
@pytest.mark.parametrize("status", Status)
def test_every_other_record_keeps_the_status_and_is_refused_after_the_end(status: Status, record: AnyRecord) -> None:
    assert after(status, record) == (None if status in ENDED else status)


def test_what_comes_late_stands_behind_a_cancel_and_nowhere_else() -> None:
    late = Late(call="c")
    assert {status for status in Status if after(status, late) is not None} == {Status.CANCELLED}
    assert after(Status.CANCELLED, late) == Status.CANCELLED
    assert after(None, late) is None


def test_a_run_begins_with_started_and_has_one() -> None:
    started = Started(run="r", kind="agent", program="p")
    assert after(None, started) == Status.READY
    assert all(after(status, started) is None for status in Status)
    assert all(after(None, record) is None for record in [*STEERING.values(), *OTHERS])


def test_what_a_worker_may_take_and_what_is_over() -> None:
    assert {s for s in Status if after(s, Claimed(epoch=1)) == s} == RUNNABLE
    assert {s for s in Status if not NEXT[s]} == ENDED
    assert {s for s in Status if s not in ENDED and after(s, CancelAsked()) is None} | {Status.CANCELLED} == CANCELS


def test_the_end_can_be_reached_from_everywhere() -> None:
    for start in Status:
        reached, todo = {start}, [start]
        while todo:
            more = set(NEXT[todo.pop()].values()) - reached
            reached |= more
            todo += more
        assert reached & ENDED


def test_the_diagram_shows_every_change_of_the_table_and_nothing_else() -> None:
    lines = {line.strip() for line in to_mermaid().splitlines()}
    changes = {
        f"{status.value} --> {to.value}: {record.__struct_config__.tag}"
        for status, moves in NEXT.items()
        for record, to in moves.items()
        if to != status
    }
    fixed = {"stateDiagram-v2", "[*] --> ready: started", "completed --> [*]", "cancelled --> [*]"}
    assert lines == changes | fixed


def test_a_diagram_in_the_docs_is_the_one_made_from_the_table() -> None:
    pages = [page for page in sorted(DOCS.rglob("*.md")) if "stateDiagram" in page.read_text("utf-8")]
    for page in pages:
        assert to_mermaid() in page.read_text("utf-8"), f"{page.name}: paste to_mermaid() again"
