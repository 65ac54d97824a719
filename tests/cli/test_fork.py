"""`fork` and `audit`: from a process that has no program."""

import asyncio
import sqlite3
from contextlib import closing

from tests.cli import shop
from tests.cli.conftest import Run, advance


def test_a_fork_begins_at_a_boundary_and_leaves_the_original_alone(adjourn: Run, waiting: str) -> None:
    before = adjourn("runs", "--json").json
    new = adjourn("fork", waiting[:6], "--by", "ana", "--json").json["run_id"]
    after = {run["run_id"]: run for run in adjourn("runs", "--json").json}
    assert new in after and new != waiting
    assert after[waiting]["status"] == before[0]["status"] == "waiting"


def test_a_fork_elsewhere_is_refused_naming_the_nearest_boundary(adjourn: Run, waiting: str) -> None:
    said = adjourn("fork", waiting, "--at", "999")
    assert said.code == 2
    assert "Not forked: cannot fork at record 999" in said.err and "Fork at record 7." in said.err


def test_the_audit_shows_who_wanted_what_also_what_was_refused(adjourn: Run, waiting: str) -> None:
    adjourn("pause", waiting, "--by", "ana", "--reason", "wait")
    adjourn("pause", waiting, "--by", "ben")
    lines = adjourn("audit", waiting, "--json").json
    assert [(x["verb"], x["by"]) for x in lines] == [("pause", "ben"), ("pause", "ana"), ("start", "shop")]
    assert lines[1]["reason"] == "wait" and lines[0]["refused"]
    assert "refused" in adjourn("audit").out


def test_an_edited_journal_is_found_and_located(adjourn: Run, waiting: str) -> None:
    assert adjourn("audit", "verify").code == 0
    with closing(sqlite3.connect("adjourn.db")) as db, db:
        db.execute("update journal set body = replace(body, '4417', '4418') where seq = 1")
    said = adjourn("audit", "verify")
    assert said.code == 1
    assert f"journal of {waiting}, line 1" in said.out


def test_an_approval_in_a_fork_says_what_its_origin_has_done(adjourn: Run, waiting: str) -> None:
    new = adjourn("fork", waiting, "--by", "ben", "--json").json["run_id"]
    asyncio.run(advance(shop.refunds, run=new))
    both = adjourn("inbox", f"{new}:2.0?0").out
    assert "origin" in both and "approving both does it twice" in _joined(both)
    assert adjourn("approve", f"{waiting}:2.0?0", "--by", "ana").code == 0
    asyncio.run(advance(shop.refunds, run=waiting))
    said = _joined(adjourn("inbox", f"{new}:2.0?0").out)
    assert 'refund "4417", 48250' in said and "approved by ana" in said
    assert "approving it here does it a second time" in said


def _joined(text: str) -> str:
    """Without the breaks of its lines."""
    return " ".join(text.split())
