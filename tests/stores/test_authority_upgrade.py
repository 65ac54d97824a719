"""A database from before decisions were counted by slots: who shaped its runs and who has agreed is read from its journal."""

import json
from pathlib import Path
from typing import Any

import apsw
import pytest

from adjourn import Agent, Paused, Policy, Runtime, ask, tool
from adjourn.testing import ScriptedModel, call

paid: list[int] = []


@tool(effect="unsafe")
async def pay(cents: int) -> str:
    """Pay."""
    paid.append(cents)
    return "paid"


def clerk() -> Agent:
    policy = Policy([ask("pay", approvers=2, not_requester=True)])
    return Agent("clerk", model=ScriptedModel([call("pay", cents=5)], "done"), tools=[pay], policy=policy)


def without_lists(db: Any) -> None:
    """Without what later schemas keep for lists."""
    for (trigger,) in db.execute("select name from sqlite_master where type = 'trigger'").fetchall():
        db.execute(f"drop trigger {trigger}")
    for index in ("run_shown", "run_program", "run_session", "run_rested", "audit_time", "audit_security"):
        db.execute(f"drop index {index}")
    for table in ("run_term", "run_text", "zone", "label", "index_words", "index_text", "index_number", "index_due"):
        db.execute(f"drop table {table}")
    db.execute("alter table run drop column shown")
    db.execute("drop index interrupt_open")
    for column in ("type", "tool", "groups", "assigned", "snoozed", "uses"):
        db.execute(f"alter table interrupt drop column {column}")
    db.execute("create index run_status on run (status, n)")
    db.execute("create index run_program on run (program, n)")
    db.execute("create index run_session on run (session, n) where session <> ''")
    db.execute("create index audit_time on audit (json_extract(body, '$.at'), scope, n)")


def as_before(path: Path) -> None:
    """The file as schema 4 had it: rows without requesters and lives, votes as a list of names."""
    db: Any = apsw.Connection(str(path))
    for i, votes in db.execute("select i, votes from interrupt").fetchall():
        db.execute("update interrupt set votes = ? where i = ?", (json.dumps(list(json.loads(votes))), i))
    db.execute(
        "create table old (run integer, seq integer, epoch integer, body text, head blob, primary key (run, seq))"
    )
    db.execute("insert into old select run, seq, epoch, body, head from journal")
    db.execute("drop table journal")
    db.execute("alter table old rename to journal")
    without_lists(db)
    db.execute("alter table run drop column salt")
    db.execute("alter table run drop column erased")
    db.execute("alter table run drop column chapter")
    db.execute("alter table run drop column priority")
    for table in ("snapshot", "segment", "hold", "wake", "roster", "blob", "guest_thread", "guest_row", "run_key"):
        db.execute(f"drop table {table}")
    for index in ("run_completed", "run_cancelled", "audit_by", "audit_kind", "audit_agent", "audit_tool"):
        db.execute(f"drop index {index}")
    db.execute("alter table run drop column requesters")
    db.execute("alter table interrupt drop column lives")
    db.execute("alter table interrupt drop column disowned")
    db.execute("alter table interrupt drop column rank")
    db.execute("create index interrupt_open on interrupt (opened_at, run, seq) where state = 'open'")
    db.execute("drop index run_worker")
    db.execute("alter table run add column lease_until real not null default 0")
    for table in [name for (name,) in db.execute("select name from sqlite_master where type = 'table'").fetchall()]:
        if table in ("seal", "touched", "meta", "worker", "misfit", "snapshot", "segment"):
            db.execute(f"drop table {table}")
    db.execute("pragma user_version = 4")
    db.close()


async def test_votes_and_requesters_of_an_older_file_count_on(tmp_path: Path) -> None:
    paid.clear()
    address = f"sqlite:///{tmp_path}/runs.db"
    async with Runtime(address, [clerk()]) as rt:
        run = await rt.start(clerk(), "go", run_id="r", by="eve")
        await run.wait(60)
        await run.say("hurry", by="sam")
        assert isinstance(outcome := await run.wait(60), Paused)
        [item] = outcome.interrupts
        await rt.approve(item.id, by="ana")
    as_before(tmp_path / "runs.db")
    async with Runtime(address, [clerk()]) as rt:
        run = await rt.get("r")
        [item] = await rt.inbox()
        assert [seat.filled_by for seat in item.slots] == ["ana", ""]
        assert item.requesters == ("eve", "sam")
        for shaped in ("eve", "sam", "ana"):
            with pytest.raises(Exception, match="shaped|started|already"):
                await rt.approve(item.id, by=shaped)
        assert paid == []
        await rt.approve(item.id, by="bob")
        assert (await run.wait(60)).status == "completed"
    assert paid == [5]
