"""`recent`: the audit as it is read, newest first, by one filter or several."""

from typing import Any

import pytest

from adjourn.core.record_codec import parse
from adjourn.core.records import Asked, Decided, PauseAsked
from adjourn.errors import AlreadyDecided
from adjourn.stores.audit import SECURITY, AuditFilter, FoundLine
from adjourn.stores.protocol import Store
from adjourn.testing.contract.fixtures import ContractFixtures, approval, no, started, wait_for, yes
from adjourn.testing.fake_clock import FakeClock


class Searching(ContractFixtures):
    """The audit, newest first, by who, what, run, agent, tool, time, and any word of it."""

    async def test_each_filter_finds_its_lines_newest_first_and_no_others(
        self, store: Store, clock: FakeClock
    ) -> None:
        await asked_for(store, clock)
        found: dict[str, list[tuple[str, str]]] = {
            "every line": await told(store),
            "by": await told(store, by="ana"),
            "verb": await told(store, verb="pause"),
            "verdict": await told(store, verb="deny"),
            "answers": await told(store, verb="answer"),
            "run": await told(store, run="r2"),
            "agent": await told(store, agent="clerk"),
            "tool": await told(store, tool="send"),
            "day": await told(store, since=clock.now() - 2, until=clock.now() - 1),
            "refused": await told(store, refused=True),
            "not refused": await told(store, refused=False, verb="answer"),
            "several": await told(store, by="bo", tool="send", verb="answer"),
        }
        assert found == {
            "every line": [HALT, LATE, DENY, PAUSE, BEGIN_2, BEGIN_1],
            "by": [DENY, BEGIN_1],
            "verb": [PAUSE],
            "verdict": [DENY],
            "answers": [LATE, DENY],
            "run": [PAUSE, BEGIN_2],
            "agent": [LATE, DENY, PAUSE, BEGIN_2, BEGIN_1],
            "tool": [HALT, LATE, DENY],
            "day": [LATE, DENY],
            "refused": [LATE],
            "not refused": [DENY],
            "several": [LATE],
        }

    async def test_words_are_found_in_notes_arguments_and_names_whatever_their_case(
        self, store: Store, clock: FakeClock
    ) -> None:
        await asked_for(store, clock)
        assert await told(store, text="PHOTOS first") == [DENY]
        assert await told(store, text="order-4417") == [LATE, DENY]
        assert await told(store, text="Cleo") == [HALT]
        assert await told(store, text="r2") == [PAUSE, BEGIN_2]
        assert await told(store, text="%") == await told(store, text="nothing like it") == []
        assert await told(store, by='ana" or 1=1 --') == await told(store, tool="'") == []

    async def test_pages_of_any_filter_continue_where_the_last_one_ended(
        self, store: Store, clock: FakeClock
    ) -> None:
        await asked_for(store, clock)
        for wanted in (
            AuditFilter(),
            AuditFilter(by="ana"),
            AuditFilter(run="r1"),
            AuditFilter(tool="send"),
            AuditFilter(text="r"),
        ):
            whole = await store.recent(wanted=wanted)
            place, parts = "", list[FoundLine]()
            while page := await store.recent(place, 1, wanted=wanted):
                parts += page
                place = page[-1].place
            assert parts == whole and whole

    async def test_a_line_is_found_with_what_it_is_about_until_that_is_erased(
        self, store: Store, clock: FakeClock
    ) -> None:
        await asked_for(store, clock)
        [line] = await store.recent(wanted=AuditFilter(verb="deny"))
        opening, record = parse(line.opening), parse(line.record)
        assert isinstance(opening, Asked) and opening.args == {"order": "order-4417"}
        assert isinstance(record, Decided) and record.note == "ask for photos first"
        assert (line.program, line.state) == ("clerk", "decided")

    async def test_the_security_log_is_not_found_by_its_name(self, store: Store) -> None:
        await store.note([{"verb": "login", "by": "ana", "from": "10.0.0.1"}])
        assert await store.recent(wanted=AuditFilter(run=SECURITY)) == []
        assert await store.recent(wanted=AuditFilter(by="ana")) == []
        [line] = await store.recent(security=True, wanted=AuditFilter(by="ana"))
        assert line.entry["verb"] == "login"
        assert await store.recent(security=True, wanted=AuditFilter(by="bo")) == []


BEGIN_1, BEGIN_2, PAUSE = ("r1", "start"), ("r2", "start"), ("r2", "pause")
DENY, LATE, HALT = ("r1", "deny"), ("r1", "approve"), ("", "halt")


async def asked_for(store: Store, clock: FakeClock) -> None:
    """Two runs, a decision, one that came too late, and a halt, a second apart."""
    await wait_for(
        store, approval(tool="send", args={"order": "order-4417"}), by="ana", program="clerk"
    )
    clock.advance(1)
    await store.create(started("r2", by="dora", program="clerk"))
    clock.advance(1)
    await store.deliver("r2", PauseAsked(by="bo", reason="lunch"))
    clock.advance(1)
    await store.deliver("r1", no(by="ana", note="ask for photos first"))
    clock.advance(1)
    with pytest.raises(AlreadyDecided):
        await store.deliver("r1", yes(by="bo"))
    clock.advance(1)
    await store.halt("tool:send", by="Cleo", reason="spilled")


async def told(store: Store, **wanted: Any) -> list[tuple[str, str]]:
    """Run and verdict or verb of the lines that are found."""
    found: list[tuple[str, str]] = []
    for line in await store.recent(wanted=AuditFilter(**wanted)):
        found.append((line.scope, line.entry.get("verdict") or line.entry["verb"]))
    return found
