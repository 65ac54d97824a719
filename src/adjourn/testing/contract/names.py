"""Names: none with a NUL in it comes into any store, because not every database can hold one."""

from typing import Any

import pytest

from adjourn.core.records import Command, Decided, PauseAsked, Said, Started
from adjourn.errors import Invalid, UnknownRun
from adjourn.stores.audit import AuditFilter
from adjourn.stores.protocol import Filter, Store
from adjourn.testing.contract.fixtures import (
    ContractFixtures,
    approval,
    begin,
    commit,
    question,
    refused,
    started,
    unchanged,
    wait_for,
)

NUL = "a\0b"
STARTS: list[dict[str, Any]] = [
    {"run": NUL},
    {"program": NUL},
    {"session": NUL},
    {"by": NUL},
    {"labels": {NUL: "x"}},
    {"labels": {"x": NUL}},
]
RUNS_OF: list[dict[str, Any]] = [
    {"run": NUL},
    {"program": NUL},
    {"session": NUL},
    {"label": ("x", NUL)},
    {"text": NUL},
    {"prefix": NUL},
    {"after": NUL},
]
ITEMS_OF: list[dict[str, Any]] = [
    {"run": NUL},
    {"program": NUL},
    {"session": NUL},
    {"label": ("x", NUL)},
    {"text": NUL},
    {"kind": NUL},
    {"interrupt": NUL},
    {"group": NUL},
    {"assigned": (NUL,)},
]
WORDS: list[Command] = [
    Said(text="hi", by=NUL),
    PauseAsked(by=NUL),
    Decided(i=NUL, verdict="approve", by="ana"),
]


HALF = "a\udcff"
"""Half of a character, as a terminal gives what is no UTF-8."""
HALVES: list[dict[str, Any]] = [
    {"session": HALF},
    {"by": HALF},
    {"labels": {HALF: "x"}},
    {"labels": {"x": HALF}},
]


class Naming(ContractFixtures):
    """A name with a NUL is `Invalid`, in whatever place; what people and models say may have
    one."""

    @pytest.mark.parametrize("fields", STARTS, ids="-".join)
    async def test_a_run_with_a_nul_in_a_name_is_not_begun(
        self, store: Store, fields: dict[str, Any]
    ) -> None:
        first = started(**fields)
        with pytest.raises(Invalid, match="NUL"):
            await store.create(first)
        with pytest.raises(UnknownRun):
            await store.get(first.run)

    @pytest.mark.parametrize("word", WORDS, ids=lambda word: type(word).__name__)
    async def test_a_word_with_a_nul_in_a_name_is_not_recorded_and_the_audit_says_so(
        self, store: Store, word: Command
    ) -> None:
        await wait_for(store, approval())
        async with refused(store, Invalid, "NUL"):
            await store.deliver("r1", word)
        assert (await store.audit("r1"))[-1].entry["refused"] == "it cannot be recorded"

    async def test_a_request_id_with_a_nul_is_refused(self, store: Store) -> None:
        await store.create(started())
        with pytest.raises(Invalid, match="NUL"):
            await store.deliver("r1", Said(text="hi"), request=NUL)

    async def test_a_worker_or_an_interrupt_with_a_nul_in_its_id_is_refused(
        self, store: Store
    ) -> None:
        lease = await begin(store)
        intended, suspended = question(NUL)
        await commit(store, lease, (), [intended])
        async with unchanged(store):
            with pytest.raises(Invalid, match="NUL"):
                await commit(store, lease, [suspended])
            with pytest.raises(Invalid, match="NUL"):
                await commit(store, lease, (), [approval(NUL)])
            with pytest.raises(Invalid, match="NUL"):
                await store.acquire("r1", NUL, 30)

    @pytest.mark.parametrize("field", ["type", "event"])
    async def test_a_question_with_a_nul_in_its_type_or_event_is_refused(
        self, store: Store, field: str
    ) -> None:
        lease = await begin(store)
        intended, suspended = question(**{field: NUL})
        await commit(store, lease, (), [intended])
        async with unchanged(store):
            with pytest.raises(Invalid, match="NUL"):
                await commit(store, lease, [suspended])

    @pytest.mark.parametrize("fields", [{"tool": NUL}, {"groups": (NUL,)}], ids="-".join)
    async def test_an_approval_with_a_nul_in_its_tool_or_groups_is_refused(
        self, store: Store, fields: dict[str, Any]
    ) -> None:
        lease = await begin(store)
        async with unchanged(store):
            with pytest.raises(Invalid, match="NUL"):
                await commit(store, lease, (), [approval(**fields)])

    @pytest.mark.parametrize("fields", RUNS_OF, ids="-".join)
    async def test_no_run_is_found_by_a_name_with_a_nul(
        self, store: Store, fields: dict[str, Any]
    ) -> None:
        await wait_for(store, approval())
        assert await store.runs(Filter(**fields)) == []

    @pytest.mark.parametrize("fields", ITEMS_OF, ids="-".join)
    async def test_nothing_that_waits_is_found_by_a_name_with_a_nul(
        self, store: Store, fields: dict[str, Any]
    ) -> None:
        await wait_for(store, approval())
        assert await store.inbox(Filter(**fields)) == []

    async def test_a_place_in_the_inbox_with_a_nul_is_none(self, store: Store) -> None:
        await wait_for(store, approval())
        assert await store.inbox(Filter(after=NUL)) == await store.inbox(Filter())

    async def test_nothing_else_is_known_of_a_name_with_a_nul(self, store: Store) -> None:
        await wait_for(store, approval())
        assert await store.audit(NUL) == []
        assert await store.recent(wanted=AuditFilter(by=NUL)) == []
        assert await store.due([NUL]) == []
        assert await store.weigh([NUL]) == 0
        assert await store.misfits(runs=[NUL]) == []
        assert await store.turns(NUL, 0) == []
        with pytest.raises(UnknownRun):
            await store.load(NUL)

    @pytest.mark.parametrize("fields", HALVES, ids="-".join)
    async def test_a_run_with_half_a_character_in_a_name_is_not_begun(
        self, store: Store, fields: dict[str, Any]
    ) -> None:
        first = started(**fields)
        with pytest.raises(Invalid, match="lone surrogate"):
            await store.create(first)
        with pytest.raises(UnknownRun):
            await store.get(first.run)

    async def test_a_halt_with_half_a_character_is_refused(self, store: Store) -> None:
        for scope, by, reason in (("tool:" + HALF, "", ""), ("*", HALF, ""), ("*", "", HALF)):
            with pytest.raises(Invalid, match="lone surrogate"):
                await store.halt(scope, by=by, reason=reason)
        assert await store.halt("") == []

    async def test_a_halt_with_a_nul_is_refused(self, store: Store) -> None:
        for scope, by, reason in (("tool:" + NUL, "", ""), ("*", NUL, ""), ("*", "", NUL)):
            with pytest.raises(Invalid, match="NUL"):
                await store.halt(scope, by=by, reason=reason)
        assert await store.halt("") == []

    async def test_what_is_said_may_have_one_and_a_title_is_cleaned_of_it(
        self, store: Store
    ) -> None:
        await store.create(started(input=NUL))
        await store.deliver("r1", Said(text=NUL))
        [(_, first), (_, said)] = await store.load("r1")
        assert isinstance(first, Started) and isinstance(said, Said)
        assert (first.input, said.text) == (NUL, NUL)
        assert [row.title for row in await store.runs(Filter())] == ["ab"]
        assert not await store.verify()
