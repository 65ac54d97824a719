"""Names: none with a NUL in it comes into any store, because not every database can hold one."""

from typing import Any

import pytest

from adjourn.core.records import Command, Decided, PauseAsked, Said, Started
from adjourn.errors import Invalid, UnknownRun
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
WORDS: list[Command] = [
    Said(text="hi", by=NUL),
    PauseAsked(by=NUL),
    Decided(i=NUL, verdict="approve", by="ana"),
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
