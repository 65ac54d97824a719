"""What a commit, a word and a claim cost on the wire: messages and instructions are counted, not seconds."""

import asyncio
import re
import string
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.driver.test_cost import traced
from tests.runtime.world import Ledger, refunds
from tests.stores.postgres.proxy import Proxy
from tests.stores.postgres.server import PostgresServer
from tests.stores.postgres.test_announcements import LIMIT, is_heard

from adjourn import Completed, Paused, Runtime
from adjourn.core.records import Parked, RunCompleted, Said, Stepped
from adjourn.runtime import worker
from adjourn.stores.postgres.connections import connect, messages
from adjourn.stores.postgres.step_statement import literal
from adjourn.stores.postgres.store import PostgresStore
from adjourn.stores.protocol import Filter, Lease
from adjourn.testing import check_rows
from adjourn.testing.contract.fixtures import approval, claim, replied, started

pytestmark = pytest.mark.unwatched
COMMITS = 40
INSTRUCTIONS = 5_600
"""Of the interpreter for a commit of one run, in all threads: a sixth more than it takes. A higher number here needs a reason in
the commit."""
BYTES = 900
"""Of a message, beside the record that it carries."""
BESIDE = re.compile(
    rb"generation::text from|adjourn\.worker values|select until from|adjourn\.card|adjourn\.said|listen "
)
"""What a process says beside the path of one word: it looks for others' words, beats, and says who it is."""


@pytest.fixture
def proxy(postgres: PostgresServer) -> Any:
    with Proxy(postgres.fresh()) as proxy:
        yield proxy


@pytest.fixture
async def store(proxy: Proxy) -> AsyncIterator[PostgresStore]:
    store = PostgresStore(proxy.address)
    yield store
    await store.close()


async def test_a_commit_of_one_run_is_one_message_which_sets_only_what_changed(
    proxy: Proxy, store: PostgresStore
) -> None:
    await store.create(started("r"))
    lease = await claim(store, "r", ttl=600.0)
    said: list[bytes] = []
    proxy.seen = said.append
    seq = lease.seq
    for n in range(COMMITS):
        seq = (await store.commit(lease, [Stepped(call="1.0", key=str(n), value="x" * 500)], [], seen=seq)).seq
    assert len(said) == COMMITS, "one message each"
    for message in said:
        sets = message[message.index(b" set ") : message.index(b" from (values")]
        assert set(re.findall(rb"x\.(\w+)", sets)) - {b"updated_at"} == {b"seq", b"head"}
        assert b"interrupt" not in message and b"touched" not in message, "what there is nothing of costs nothing"
        assert len(message) <= BYTES + 500, len(message)
    assert (store.compared, store.messages) == (COMMITS, COMMITS)
    await check_rows(store, "r")


class _Counted:
    """See `traced`: what it needs of windows."""

    def __init__(self) -> None:
        self.now = 1
        self.found: Counter[str] = Counter()

    def count(self, what: str) -> None:
        self.found[what] += self.now


async def test_a_commit_of_one_run_takes_so_many_instructions(postgres: PostgresServer) -> None:
    counted: Any = _Counted()
    with traced(counted):
        store = PostgresStore(postgres.fresh())
        await store.create(started("r"))
        lease = await claim(store, "r", ttl=600.0)
        seq = lease.seq
        for n in range(2 * COMMITS):
            if n == COMMITS:
                counted.found.clear()
            seq = (await store.commit(lease, [Stepped(call="1.0", key=str(n), value="x" * 500)], [], seen=seq)).seq
        each = counted.found.total() / COMMITS
    await store.close()
    assert each > 500, "nothing was counted"
    assert each <= INSTRUCTIONS, f"a commit takes {each:.0f} instructions"


async def test_a_word_is_recorded_as_it_was_said_by_whichever_way(store: PostgresStore) -> None:
    said = "it's 100 % \\ %(run)s %s {} {x} \u2028 \\u0000"
    await store.create(started("r"))
    await store.deliver("r", Said(text=said))
    lease = await claim(store, "r", ttl=600.0)
    await store.commit(lease, [Stepped(call="1.0", key="1", value=said)], [], seen=lease.seq)
    records = [record for _, record in await store.load("r")]
    assert [record.text for record in records if isinstance(record, Said)] == [said]
    assert [record.value for record in records if isinstance(record, Stepped)] == [said]
    assert store.compared == 1
    await check_rows(store, "r")


async def test_commits_that_wait_share_messages_whatever_each_of_them_changes(store: PostgresStore) -> None:
    leases: list[Lease] = []
    for name in string.ascii_lowercase[:12]:
        await store.create(started(name))
        leases.append(await claim(store, name, ttl=600.0))
    changes: list[list[Any]] = [[Parked()], [RunCompleted()], [approval(), Parked()], []]
    facts: list[list[Any]] = [
        [],
        [],
        [replied("pay")],
        [Stepped(call="1.0", key="1", value="it's 100 % \\ \u0000 \u2028")],
    ]
    done = await asyncio.gather(
        *(store.commit(lease, facts[n % 4], changes[n % 4], seen=lease.seq) for n, lease in enumerate(leases))
    )
    assert all(one.clean for one in done)
    for lease in leases:
        await check_rows(store, lease.run)
    assert (await store.get("a")).worker == "" and (await store.get("d")).worker != ""
    assert [item.run_id for item in await store.inbox(Filter())] == ["c", "g", "k"]


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    text=st.text(st.characters(blacklist_characters="\0", blacklist_categories=["Cs"])),
    some=st.lists(st.text(st.characters(blacklist_characters="\0", blacklist_categories=["Cs"]))),
    number=st.floats(allow_nan=False, allow_infinity=False),
    whole=st.integers(-(2**63) + 1, 2**63 - 1),
    data=st.binary(),
)
@pytest.mark.parametrize("conforming", ["on", "off"])
def test_every_value_in_a_statement_is_read_as_it_was(
    postgres: PostgresServer, conforming: str, text: str, some: list[str], number: float, whole: int, data: bytes
) -> None:
    given = [text, some, number, whole, data, True]
    types = ("text", "text[]", "float8", "bigint", "bytea", "boolean")
    listed = ", ".join(f"{literal(value)}::{type}" for value, type in zip(given, types, strict=True))
    with connect(postgres.address("postgres")) as db:
        messages(db, [f"set standard_conforming_strings = {conforming}"])
        [found] = messages(db, [f"select {listed}"])[0]
    assert list(found) == given


async def test_from_an_approval_to_the_claim_in_another_process_there_are_four_messages(
    postgres: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One finds the question, two decide it and announce that, and with one more the worker that knows the run has it
    locked and has read what was said; its claim is the next."""
    monkeypatch.setattr(worker, "SWEEP", 600.0)
    ledger, address = Ledger(tmp_path / "ledger"), postgres.fresh()
    options = dict[str, Any](resources={"ledger": ledger})
    with Proxy(address) as there, Proxy(address) as here:
        async with (
            Runtime(there.address, [refunds(ledger)], **options),
            Runtime(here.address, work=False, **options) as desk,
        ):
            while not await is_heard(desk):
                await asyncio.sleep(0.01)
            run = await desk.start(refunds(ledger), "go")
            outcome = await run.wait(LIMIT)
            assert isinstance(outcome, Paused)
            words, claims = list[bytes](), list[bytes]()
            here.seen, there.seen = words.append, claims.append
            await desk.approve(outcome.interrupts[0].id, by="ana")
            words = [message for message in words if b"listen " not in message]  # it may connect anew at any time
            assert len(words) == 3, words
            assert b"pg_notify" in words[-1], "announced in the transaction that decides"
            here.seen = lambda message: None
            assert isinstance(await run.wait(LIMIT), Completed)
    path = [message for message in claims if not BESIDE.search(message)]
    claimed = next(n for n, message in enumerate(path) if b'"t":"claimed"' in message)
    assert claimed == 1, [message[:400] for message in path[: claimed + 1]]
    assert b"for no key update" in path[0] and b"adjourn.journal" in path[0], "locked, then read, in one message"


async def test_a_worker_that_does_not_know_a_run_leaves_it_to_its_sweep_and_one_without_room_to_others(
    postgres: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "SWEEP", 600.0)
    ledger, address = Ledger(tmp_path / "ledger"), postgres.fresh()
    options = dict[str, Any](resources={"ledger": ledger})
    async with Runtime(address, work=False, **options) as desk:
        async with Runtime(address, [refunds(ledger)], **options):
            run = await desk.start(refunds(ledger), "go")
            outcome = await run.wait(LIMIT)
            assert isinstance(outcome, Paused)
        async with Runtime(address, [refunds(ledger)], **options) as other:  # it has never seen the run
            while not await is_heard(desk):
                await asyncio.sleep(0.01)
            assert run.id not in other.worker.advancer.hot
            await desk.approve(outcome.interrupts[0].id, by="ana")
            assert isinstance(await run.wait(LIMIT), Completed)
    assert len(ledger.lines()) == 1
