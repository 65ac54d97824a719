"""The runtime: a store, programs, and every verb. Any number of processes may have one on the same
store."""

import logging
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any, Literal, Self

from msgspec.structs import replace
from typing_extensions import TypeVar

from adjourn.core.duration import seconds
from adjourn.core.files import needed, release
from adjourn.core.ids import check_chosen, local_of, ref_of
from adjourn.core.interrupt import Interrupt
from adjourn.core.quarantine import MAX_DEATHS
from adjourn.core.record_parts import stamped
from adjourn.core.records import Started
from adjourn.core.status import RunStatus
from adjourn.driver.clock import Clock, SystemClock
from adjourn.driver.live_feed import Feed
from adjourn.driver.process_identity import new_run_id
from adjourn.driver.watch import Event, Load, watch
from adjourn.driver.worker_mark import check_outside, mark, unmark
from adjourn.errors import Invalid, InvalidDefinition, Misused, RunExists, UnknownRun
from adjourn.runtime import run_start
from adjourn.runtime.advance_result import ELSEWHERE, IDLE, AdvanceVerb
from adjourn.runtime.arguments import (
    check_filter,
    check_runtime,
    checked_labels,
    checked_tenant,
    limited,
    whole,
)
from adjourn.runtime.audit_verbs import AuditVerbs
from adjourn.runtime.bulk_verbs import BulkVerbs
from adjourn.runtime.checked_answers import MISSING, Missing
from adjourn.runtime.checkpoint import Checkpoint, Saved, key_ring, taken_over
from adjourn.runtime.decision_signer import DecidersSource, Signatures, SigningKeySource
from adjourn.runtime.definition import Definition, OnChange, check_on_change
from adjourn.runtime.erasure_verbs import ErasureVerbs, check_content
from adjourn.runtime.joint_decisions import JointDecisionVerbs
from adjourn.runtime.pruner import Folder, Span
from adjourn.runtime.run import Run
from adjourn.runtime.state_cache import BYTES
from adjourn.stores.address import open_store
from adjourn.stores.audit_key import KeySource, audit_keys
from adjourn.stores.protocol import Filter, Store
from adjourn.stores.rules.names import check_names
from adjourn.stores.run_row import RunRow

if TYPE_CHECKING:
    from adjourn.runtime.indexer import Indexer
    from adjourn.runtime.limits import Limit
    from adjourn.runtime.live_relay import LiveText
    from adjourn.runtime.resumption import Continuation, Prepared
    from adjourn.runtime.sealer import Sealer
    from adjourn.stores.secret_keys import KeyRing
    from adjourn.views.numbers_view import NumbersView
    from adjourn.views.run_comparison import RunComparison
    from adjourn.views.run_view import RunSummary

T = TypeVar("T", default=Any)
log = logging.getLogger("adjourn.runtime")


class Runtime(AdvanceVerb, AuditVerbs, BulkVerbs, JointDecisionVerbs, ErasureVerbs):
    """A store, agents and flows, and all verbs.

    Use it as `async with Runtime("sqlite:///adjourn.db", [agent]) as rt:`. Without programs it can
    read, decide and control; with a run's agent or flow it also advances it. Leaving it waits for
    running tools, aborts model calls and releases the runs: another process continues with them.

    Args:
        store: an address (`"sqlite:///file.db"`, `"memory://"`), or a `Store`.
        programs: the agents and flows whose runs it advances.
        resources: the live objects that tools need, by name.
        secret: signs and verifies checkpoints; without one, `ADJOURN_SECRET`.
        deciders: public keys (a file, its lines, or a `Deciders`): only decisions count that one of
            them has signed.
        signing_key: signs what is decided here (a key's file, or a `SigningKey`); it belongs where
            no tools run.
        lease: seconds after which another machine may take over the runs of one that has stopped.
        grace: seconds that running tools get when the runtime closes.
        concurrency: how many runs it advances at the same time.
        max_deaths: a run whose worker died so many times in a row waits for a person.
        on_change: what to do with a run of another definition: `"refuse"`, or `"warn"` and
            continue.
        work: False: it starts runs of its programs and leaves it to other processes to advance
            them.
        audit_key: signs and checks the seals of the audit: the file of an Ed25519 key (`adjourn
            keys new`), or of public keys, which only check. Without it,
            `ADJOURN_AUDIT_SECRET` does (HMAC), and without that nothing is signed.
        hot_bytes: bytes of waiting runs that stay in memory, so that an answer costs only what is
            new.
        retain: what ended longer ago is pruned: `"30d"`, or `{"completed": "30d"}`.
        archive: the directory into which pruned runs are written.
        limits: how many calls of a tool are at work at the same time, or begin in a span of time, over
            all workers: `{"tool:refund": 5}`, `"60/m"`, or `(5, "60/m")`. Every worker needs them.
        tenant: only runs with this value of the label `tenant` are there, and what is started gets it.
            Such a runtime advances none: a worker without a tenant does.
        encrypt: True or a `KeyRing`: runs that begin here are encrypted; None: as `ADJOURN_ENCRYPT` says.
    """

    secret: str | None = None
    _on_change: OnChange = "refuse"
    _live: "LiveText | None" = None
    _beginning = run_start.beginning

    def __init__(
        self,
        store: str | Store,
        programs: Iterable[Definition[Any]] = (),
        *,
        resources: Mapping[str, Any] | None = None,
        secret: str | None = None,
        deciders: DecidersSource | None = None,
        signing_key: SigningKeySource | None = None,
        lease: float = 15.0,
        grace: float = 5.0,
        concurrency: int = 100,
        max_deaths: int = MAX_DEATHS,
        on_change: OnChange = "refuse",
        work: bool = True,
        audit_key: KeySource | Sequence[KeySource] | None = None,
        hot_bytes: int = BYTES,
        retain: Span | Mapping[str, Span] | None = None,
        archive: Folder | None = None,
        limits: "Mapping[str, Limit] | None" = None,
        encrypt: "bool | KeyRing | None" = None,
        tenant: str = "",
    ) -> None:
        from adjourn.runtime.limits import tool_limits
        from adjourn.runtime.retention import Retention

        check_on_change(on_change)
        check_runtime(store, programs)
        if checked_tenant(tenant) and programs and work:
            raise InvalidDefinition(IDLE, advice=f"give work=False; {ELSEWHERE}")
        self._max_deaths = whole("max_deaths", max_deaths)
        if seconds(lease, "lease") < 0.1:
            raise InvalidDefinition(f"lease must be at least 0.1 s, got {lease!r}")
        self._address, self._programs, self._encrypt = store, list(programs), encrypt
        self._lease, self._concurrency = float(lease), whole("concurrency", concurrency)
        self._on_change: OnChange = on_change
        self._grace = seconds(grace, "grace")
        self._tenant, self._works, self._is_willing = tenant, work and not tenant, work
        self._marked, self._hot_bytes = False, whole("hot_bytes", hot_bytes)
        self._resources, self._limits = dict(resources or {}), tool_limits(limits)
        if secret is not None:
            # a secret that protects nothing is refused here, not at the first checkpoint
            key_ring(secret)
        super().__init__()
        self.secret = secret
        self._audit_key, self._audit_keys = audit_key, ()
        self._sealer: Sealer | None = None
        self._indexer: Indexer | None = None
        self.signatures = Signatures(deciders, signing_key)
        self.archive, self._retention = archive, Retention(self, retain, archive)
        self.programs: dict[str, Definition[Any]] = {}
        self.feed = Feed()
        self.clock: Clock = SystemClock()

    async def __aenter__(self) -> Self:
        from adjourn.runtime.indexer import Indexer
        from adjourn.runtime.live_relay import LiveText
        from adjourn.runtime.sealer import Sealer
        from adjourn.runtime.worker import Worker  # all that drives runs
        from adjourn.stores.run_keys import encrypt_with

        if self._store is not None:
            raise Misused("this runtime is already open")
        store = self._address
        self._store = open_store(store) if isinstance(store, str) else store
        if self._tenant:
            from adjourn.stores.tenant_store import TenantStore

            self._store = TenantStore(self._store, self._tenant)
        try:
            encrypt_with(self._store, self._encrypt)
            await self.signatures.open(self._store, self.origin)
            if self._programs and self._works:
                self.signatures.check_work()
        except BaseException:
            await self._let_go()
            raise
        self._worker = Worker(
            self._store,
            self.feed,
            self.clock,
            resources=self._resources,
            ttl=self._lease,
            grace=self._grace,
            concurrency=self._concurrency,
            on_change=self._on_change,
            trust=self.signatures.trust,
            max_deaths=self._max_deaths,
            hot_bytes=self._hot_bytes,
        )
        self._worker.limit(self._limits)
        self._audit_keys = audit_keys(self._audit_key)
        self._sealer = Sealer(self._store, self.clock, self._audit_keys)
        running = self._worker.advancer.running
        self._indexer = Indexer(self._store, self.clock, is_busy=lambda: bool(running))
        self._live = LiveText(self._store, self.feed)
        for program in self._programs:
            self._register(program)
        self._retention.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._marked:
            self._marked = False
            unmark()
        await self._retention.close()
        if self._worker is not None:
            await self._worker.close(self._grace)
        if self._indexer is not None:
            await self._indexer.close()
        if self._sealer is not None:
            await self._sealer.close(self._grace)
        if self._live is not None:
            await self._live.close()
        await self._let_go()

    async def _let_go(self) -> None:
        if self._store is not None and isinstance(self._address, str):
            await self._store.close()
        if self._worker is not None:
            self._worker.closed()
        self._store = self._worker = self._sealer = self._indexer = None

    @property
    def address(self) -> str:
        """Where its store is."""
        if isinstance(self._address, str):
            return self._address
        return self._address.address

    def _register(self, program: Definition[Any]) -> None:
        if not isinstance(program, Definition):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidDefinition(f"a runtime takes agents and flows, got {program!r:.80}")
        known = self.programs.get(program.name)
        if known is not None and known is not program and known.fingerprint != program.fingerprint:
            raise InvalidDefinition(
                f"two different programs are named {program.name!r}",
                advice="runs find their program by name: rename one",
            )
        if self._works:
            self._begin_work()
            self.keep_sealed()
        elif self._is_willing and known is None:
            log.warning("runs of %s wait: %s; %s", program.name, IDLE, ELSEWHERE)
        self.programs[program.name] = program
        self.worker.register(program.program, work=self._works)

    def _begin_work(self) -> None:
        """From here on this process runs bodies: what they start is inside of their runs."""
        self.signatures.check_work()
        if not self._marked:
            self._marked = True
            mark()

    async def watch(
        self, run_id: str, after: int = 0, *, load: Load | None = None
    ) -> AsyncIterator[Event]:
        """See `Run.watch`.

        Args:
            run_id, after: the run's id; the number of the last record that is known.
            load: reads records instead of the store.
        """
        async with AsyncExitStack() as stack:
            if self._live is not None and not self.worker.drives(run_id):
                await stack.enter_async_context(self._live.follow(run_id))
            async for event in watch(self.store, self.feed, run_id, after, load=load):
                yield event

    # Runs

    async def start(
        self,
        program: Definition[T],
        input: Any = None,
        *,
        run_id: str | None = None,
        session: str | None = None,
        labels: Mapping[str, str] | None = None,
        by: str = "",
        after: "Run[Any] | Saved | Missing | None" = MISSING,
        queue: Literal["session"] | None = None,
        priority: int = 0,
        client_tools: Sequence[Mapping[str, Any]] = (),
    ) -> Run[T]:
        """Start a run and return at once.

        An existing `run_id` with the same input gives that run, else `RunExists` is raised.

        Args:
            program: the agent or flow.
            input: a string or any JSON value.
            run_id: the run's id; without one, a new one.
            session: the session that it belongs to: it is the next turn after the last run of this
                agent in the session.
            labels: names and values to filter by.
            by: who starts it.
            after: a run that has ended (the `Run`, its id or its checkpoint): this run is the next
                turn of its conversation; None: it begins a conversation of its own.
            queue: `"session"`: it waits until all earlier runs of its session have ended, and has a
                conversation of its own.
            priority: from -1000 to 1000; of the runs that are ready, the larger ones come first.
            client_tools: `name`, `description` and `schema` of tools that the caller carries out: a
                call of one is a question, and its answer the result.
        """
        self._register(program)
        self._check_requester(program.name, by)
        before = await self._beginning(program, after, session or "", queue, run_id)
        before = run_start.with_options(before, program, priority, client_tools)
        started = Started(
            run=new_run_id() if run_id is None else check_chosen(run_id, "run_id"),
            kind=program.kind,
            program=program.name,
            fingerprint=program.fingerprint,
            input=await self._given(program.name, input),
            by=by,
            labels=checked_labels(labels),
            graph=program.blueprint,
            **before,
        )
        await self._begin(started)
        return Run(self, started.run)

    async def _given(self, program: str, input: Any) -> Any:
        """An input as it is recorded; see `checked_input`."""
        return await run_start.checked_input(self.programs.get(program), input)

    async def _begin(self, started: Started) -> bool:
        """Whether it is new: the same run may have begun before."""
        # what this process remembers must be what the store has
        started = stamped(run_start.of_request(started), self.store.now())
        with self.worker.expecting(started.run):
            new = await self.store.create(started, origin=self.origin)
            await run_start.check_request(self.store, started.run, new)
            release((started.input, started.history))
            self.worker.begin(started, new=new)
        return new

    async def again(
        self,
        run: Run[T],
        *,
        input: Any = MISSING,
        labels: Mapping[str, str] | None = None,
        same_session: bool = False,
        run_id: str | None = None,
        by: str = "",
    ) -> Run[T]:
        """See `Run.again`. Raises `NotFound` if this runtime has no such program.

        Args:
            run: the run.
            input, labels, same_session, run_id, by: as there.
        """
        from adjourn.runtime.run_again import begun_again, known_program

        records = check_content(run.id, await self.store.load(run.id))
        program = known_program(self.programs, (await self.store.get(run.id)).program)
        self._check_requester(program.name, by)
        begun = begun_again(records, program, await self.store.blobs(run.id))
        if input is not MISSING:
            begun = replace(begun, input=await self._given(program.name, input))
        if labels is not None:
            begun = replace(begun, labels=checked_labels(labels))
        if not same_session:
            begun = replace(begun, session="")
        new = new_run_id() if run_id is None else check_chosen(run_id, "run_id")
        if not await self._begin(replace(begun, run=new, by=by)):
            [(_, first), *_] = await self.store.load(new)
            if not isinstance(first, Started) or first.again_of != begun.again_of:
                raise RunExists(new, taken=True)
        return Run(self, new)

    async def get(self, run_id: str) -> Run[Any]:
        """The run with exactly this id; raises `UnknownRun`, naming similar ids.

        Args:
            run_id: the run's id.
        """
        try:
            return Run(self, (await self.store.get(run_id)).id)
        except UnknownRun as unknown:
            from adjourn.runtime.similar_ids import did_you_mean

            raise await did_you_mean(self.store, unknown) from None

    async def runs(
        self,
        *,
        status: str = "",
        agent: str = "",
        session: str = "",
        label: tuple[str, str] | None = None,
        text: str = "",
        search: str = "",
        since: float = 0.0,
        until: float = 0.0,
        after: str = "",
        limit: int = 50,
    ) -> "list[RunSummary]":
        """Runs, newest first.

        Args:
            status: only with this status, as it is shown: also `failed`, `held` and such.
            agent, session: only of this agent or flow; only of this session.
            label: only with this label, as `(name, value)`.
            text: only those whose title, id or agent contains this string.
            search: only those that have all these words in their inputs, tools, arguments, outputs,
                errors, notes, answers or labels; also keys: `tool:refund cost:>0.05 took:>10m`.
            since, until: only those created from the one to before the other, in seconds.
            after: the last id of the page before.
            limit: at most so many.
        """
        known = [shown.value for shown in RunStatus]
        if status and status not in known:
            raise Invalid(
                f"unknown status {status!r}", advice=f"use one of {', '.join(sorted(known))}"
            )
        check_filter(label, agent=agent, session=session, text=text, search=search, after=after)
        found = Filter(
            status=status,
            program=agent,
            session=session,
            label=label,
            text=text,
            since=since,
            until=until,
            after=after,
            limit=limited(limit),
        )
        from adjourn.runtime.run_list import run_list

        return await run_list(self, found, search)

    async def numbers(
        self,
        since: float = 0.0,
        until: float = 0.0,
        *,
        offset: int = 0,
        people: "Iterable[str] | Literal['all'] | None" = None,
    ) -> "NumbersView":
        """How many runs began in a time, how they ended, what they cost, and how long people let
        them wait: in all, by hour or day, agent, tool and group.

        It is added up from the index of runs, not from journals: about 20 µs a run.

        Args:
            since, until: the time, in seconds since 1970; without them, the last 14 days.
            offset: minutes that the clock of the reader is ahead of UTC: where a day begins.
            people: whose times of answering are given one by one: their names, or `"all"`.
        """
        from adjourn.runtime.numbers import FORTNIGHT, numbers, with_people

        until = until or self.store.now() + 1.0  # what begins at this very moment is counted
        found = await numbers(self.store, since or until - FORTNIGHT, until, offset)
        if people == "all":
            return found
        return with_people(found, people)

    async def compare(self, run_id: str, other: str) -> "RunComparison":
        """Two runs beside each other: the steps of both, what differs, and where they part.

        Args:
            run_id: the one run's id.
            other: the other run's id.
        """
        from adjourn.runtime.compared_run import read_run
        from adjourn.views.run_comparison import compared

        halts, store = await self.halted(), self.store
        left = await read_run(store, (await self.get(run_id)).id, halts)
        right = await read_run(store, (await self.get(other)).id, halts)
        return compared(left, right, store.now())

    async def inbox(
        self, *, agent: str = "", kind: str = "", run: str = "", after: str = "", limit: int = 50
    ) -> list[Interrupt]:
        """What waits for a person, oldest first, across all runs.

        Args:
            agent, kind, run: only of this agent or flow, of this kind, of this run.
            after, limit: the last id of the page before; at most so many.
        """
        check_filter(agent=agent, kind=kind, run=run, after=after)
        return await self.store.inbox(
            Filter(program=agent, kind=kind, run=run, after=after, limit=limited(limit))
        )

    # Checkpoints

    async def resume(
        self,
        checkpoint: Saved,
        answer: Any = MISSING,
        *,
        answers: Mapping[str, Any] | None = None,
        approved: bool | None = None,
        instruction: str | None = None,
        by: str = "",
        on_change: OnChange | None = None,
    ) -> Run[Any]:
        """Continue from a checkpoint, once: the second time, and for a run that has moved on, it
        raises `AlreadyResumed`.

        A checkpoint from elsewhere is imported. Everything is checked before anything is recorded.

        Args:
            checkpoint, answer, answers, approved, instruction, by, on_change: see `Agent.resume`.
        """
        from adjourn.runtime.resumption import Continuation, enter

        wanted = Continuation(
            answer=answer,
            answers=answers,
            approved=approved,
            instruction=instruction,
            by=by,
            on_change=on_change or self._on_change,
        )
        return await enter(
            self, await self._prepared(taken_over(checkpoint, secret=self.secret), wanted)
        )

    async def _prepared(self, saved: Checkpoint, wanted: "Continuation") -> "Prepared":
        from adjourn.runtime.resumption import prepare

        definition, row = self.programs.get(saved.started.program), await self.row(saved.run_id)
        return await prepare(saved, definition, wanted, self.store.now(), row=row)

    async def row(self, run: str) -> RunRow | None:
        """The row of a run, if there is one."""
        try:
            return await self.store.get(run)
        except UnknownRun:
            return None

    async def fork(
        self,
        run: Run[T],
        at: int | None = None,
        *,
        input: Any = MISSING,
        answers: Mapping[str, Any] | Literal["keep", "reopen"] | None = None,
        instruction: str = "",
        run_id: str | None = None,
        by: str = "",
    ) -> Run[T]:
        """See `Run.fork`.

        Args:
            run: the run.
            at, input, answers, instruction, run_id, by: as there.
        """
        old = check_content(run.id, await self.store.load(run.id))
        new = new_run_id() if run_id is None else check_chosen(run_id, "run_id")
        program = getattr(old[0], "program", "")
        changed = {} if input is MISSING else {"input": await self._given(program, input)}
        how = answers if isinstance(answers, str) else "reopen"
        if how not in ("keep", "reopen") or not isinstance(answers, str | Mapping | None):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise Invalid(
                f"answers= must be 'keep', 'reopen' or {{interrupt: answer}}, got {answers!r:.80}"
            )
        if answers not in (None, "reopen"):
            check_outside("decide")
        check_names(by=by)
        if isinstance(old[0], Started):
            self._check_requester(old[0].program, by)
        from adjourn.core.fork import ForkRequest, forked
        from adjourn.runtime.resumption import Continuation, enter, prepare

        made = forked(old, at, ForkRequest(new, by, changed, how, instruction))
        kept = self.signatures.kept(new, run_start.all_of_request(made))
        saved = Checkpoint(kept, files=needed(kept, await self.store.blobs(run.id)))
        answered_here = answers.items() if isinstance(answers, Mapping) else ()
        given = {ref_of(new, local_of(run.id, id)): value for id, value in answered_here}
        wanted = Continuation(answers=given or None, by=by, attended=True)
        return await enter(self, await prepare(saved, None, wanted, self.store.now()), is_new=True)
