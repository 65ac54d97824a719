"""A run's handle: what people do to it, and what they see of it."""

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, Literal

from typing_extensions import TypeVar

from adjourn.core.codec import plain
from adjourn.core.files import FILE
from adjourn.core.ids import is_within
from adjourn.core.interrupt import Interrupt
from adjourn.core.messages import Message, files_in
from adjourn.core.records import (
    Accepted,
    AnyRecord,
    CancelAsked,
    Command,
    Emitted,
    PauseAsked,
    Resumed,
    Said,
    Started,
)
from adjourn.core.standing_decision import Standing
from adjourn.core.state import State
from adjourn.core.status import RunStatus, Status
from adjourn.core.thread import Thread
from adjourn.driver.cold_start import folded
from adjourn.driver.watch import Event
from adjourn.driver.worker_mark import check_outside
from adjourn.errors import AlreadyResumed, Invalid, NotFound, Refused, RequestReused
from adjourn.runtime.arguments import Words, checked_words, within
from adjourn.runtime.checked_answers import MISSING, answered, check_event
from adjourn.runtime.checkpoint import Checkpoint
from adjourn.runtime.erasure_verbs import check_content
from adjourn.runtime.outcome import Outcome, outcome_of
from adjourn.runtime.packed_journal import packed_journal
from adjourn.runtime.pruner import holds_of
from adjourn.stores.erasure import Erasure
from adjourn.stores.run_row import MARKED

if TYPE_CHECKING:
    from adjourn.core.rebuilt_requests import SentRequest
    from adjourn.runtime.runtime import Runtime
    from adjourn.views.again_preview import AgainPreview
    from adjourn.views.audit_entry import AuditEntry
    from adjourn.views.cancel_preview import CancelPreview
    from adjourn.views.run_view import RunView

T = TypeVar("T", default=Any)
TRIES = 5
"""How often a run that moves on is read again, so that its row and its journal are of one moment."""
NEVER = -1
"""No journal is so long: a command for it is only recognised, never appended."""


class Run(Generic[T]):
    """One execution of an agent or a flow. The handle holds nothing: any process can have one for
    the same run."""

    def __init__(self, runtime: "Runtime", run_id: str) -> None:
        self._rt = runtime
        self.id = run_id

    @property
    def run_id(self) -> str:
        """Its id."""
        return self.id

    async def wait(self, timeout: float | None = None) -> Outcome[T]:
        """Until it ends or waits for a person. Raises `RunFailed`; `TimeoutError` after `timeout`
        seconds (the run continues)."""
        async with within(timeout, self.id):
            state, records = await self._rt.worker.rest(self.id)
        cause = self._rt.worker.errors.get(self.id)
        program = self._rt.programs.get(state.started.program)
        load = program.load if program else _as_it_is
        checkpoint, stored = await self._checkpoint(records), self._rt.worker.outlives
        return outcome_of(state, checkpoint, load, cause, stored=stored)

    def watch(self, after: int = 0) -> AsyncIterator[Event]:
        """Its records after `after`, once and in order, and live items as they come, until it ends.
        Closing it stops nothing."""
        return self._rt.watch(self.id, after)

    async def _fold(self) -> State:
        return await folded(self._rt.store, self.id)

    async def messages(self) -> list[Message]:
        """The conversation so far, with the turns before it."""
        return await self._rt.worker.earlier.conversation(await self._fold())

    async def requests(self) -> "list[SentRequest]":
        """The exact request of every model call so far, made again from the journal. `proof` says
        whether it has the digest that was recorded when it was sent."""
        from adjourn.core.rebuilt_requests import requests

        records = await self._rt.store.load(self.id)
        return list(requests(records, await self._rt.worker.earlier.of(records)))

    async def state(self) -> "RunView":
        """The whole of it: status, what it waits for, calls in progress, what was done. The API
        shows the same."""
        from adjourn.runtime.fleet_report import noted
        from adjourn.views.run_view import run_view

        store = self._rt.store
        row, state = await store.get(self.id), await self._fold()
        for _ in range(TRIES):
            if row.seq == state.seq:
                break
            row, state = await store.get(self.id), await self._fold()
        note = await noted(store, self.id) if row.status == Status.READY else None
        holds = holds_of(row, await self._rt.holds())
        return run_view(row, state, await self._rt.halts(), store.now(), misfit=note, holds=holds)

    async def picture(self) -> str:
        """A flow's graph as a mermaid diagram: which chunks are done, running, waiting. By the
        run's own recorded graph."""
        from adjourn.views.diagram import mermaid

        state = Checkpoint(check_content(self.id, await self._rt.store.load(self.id))).state
        if state.flow is None:
            raise Invalid(f"run {self.id!r} is a run of an agent, which has no graph")
        return mermaid(state.flow.graph, state)

    async def status(self) -> RunStatus:
        """The status that people see."""
        row = await self._rt.store.get(self.id)
        return row.shown(self._rt.store.now(), await self._rt.halted())

    async def checkpoint(self) -> Checkpoint:
        """Its journal as a checkpoint, which is whole by itself: the turns before it are in it."""
        records = check_content(self.id, await self._rt.store.load(self.id))
        return await self._checkpoint(records, keyed=True)

    async def _checkpoint(self, records: Sequence[AnyRecord], *, keyed: bool = False) -> Checkpoint:
        """`keyed`: the run may be encrypted, also if this process encrypts none."""
        first = records[0]
        before = await self._rt.worker.earlier.of([(1, first)])
        packed = packed_journal(records)
        files: dict[str, bytes] = {}
        if packed is None:
            files = await self._rt.store.blobs(self.id)
        if before is not None and isinstance(first, Started):
            from adjourn.driver.run_files import run_files

            said = {ref[FILE] for ref in files_in(before)} - files.keys()
            if said:
                files |= await run_files(self._rt.store, first, said)
        key = ""
        if keyed or getattr(self._rt.store, "wraps_with", None) is not None:
            salt = (await self._rt.store.get(self.id)).salt
            if len(salt) == MARKED:
                from adjourn.stores.run_keys import kid_of

                key = kid_of(salt)
        return Checkpoint(
            packed or records, secret=self._rt.secret, before=before, files=files, key=key
        )

    async def pause(
        self, *, by: str = "", reason: str = "", now: bool = False, request_id: str = ""
    ) -> None:
        """Stop at the next boundary.

        Args:
            by: who pauses.
            reason: why.
            now: abort the model call that is running, and keep what it had said.
            request_id: the same id again returns the recorded result instead of acting twice.
        """
        await self._deliver(PauseAsked(now=now, by=by, reason=reason), request_id)

    async def accept(
        self, *, by: str = "", digest: str = "", request_id: str = ""
    ) -> tuple[str, ...]:
        """Let it continue although its program changed: with exactly the program that a worker has
        refused. What changed.

        Approvals of what has changed are asked for again. Raises `Refused` if no worker has refused
        it for that reason.

        Args:
            by: who accepts it; recorded.
            digest: of the version that was shown; if another one was refused since, nothing is
                accepted.
            request_id: the same again is the same command.
        """
        from adjourn.runtime.fleet_report import noted
        from adjourn.views.misfit_view import changed, version

        check_outside("accept a changed program")
        note, state = await noted(self._rt.store, self.id), await self._fold()
        found = changed(state, note) if note else ()
        if note is None or not found:
            if request_id and (done := await self._accepted(by, request_id)):
                return done
            raise Refused(
                self.id,
                "accept",
                await self.status(),
                "no worker has refused it because its agent changed",
            )
        if digest and digest != version(note):
            raise Refused(
                self.id,
                "accept",
                await self.status(),
                "a worker has refused another version since",
                advice="review the changes again",
            )
        await self._deliver(
            Accepted(fingerprint=note.fingerprint, changes=found, by=by), request_id
        )
        self._rt.worker.refusals.forget(self.id)
        return found

    async def _accepted(self, by: str, request_id: str) -> tuple[str, ...]:
        """What was accepted by this request before; () if it is a new one. What a worker had noted
        then is gone by now."""
        for _, record in await self._rt.store.load(self.id):
            if isinstance(record, Accepted) and record.by == by:
                try:
                    await self._rt.store.deliver(
                        self.id, record, request=request_id, origin=self._rt.origin, at=NEVER
                    )
                except (AlreadyResumed, RequestReused):
                    continue
                return record.changes
        return ()

    async def resume(self, instruction: str = "", *, by: str = "", request_id: str = "") -> None:
        """Continue a paused run, or retry a failed one.

        Args:
            instruction: a message that the agent reads before it continues.
            by: who resumes.
            request_id: the same id again returns the recorded result instead of acting twice.
        """
        if not isinstance(instruction, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise Invalid(f"instruction= must be a string, got {type(instruction).__name__}")
        state, asked = await self._fold(), Resumed(instruction=instruction, by=by)
        if not state.failed:
            await self._deliver(asked, request_id)
            return
        commands: list[Command] = []
        for interrupt in state.interrupts:
            commands.append(await answered(interrupt, "retry", by=by))
        if instruction:
            commands.append(Said(text=instruction, by=by))
        await self._rt.deliver_together(self.id, commands, asked, request_id)

    async def cancel(self, *, by: str = "", reason: str = "", request_id: str = "") -> None:
        """Stop, undo in reverse what was done, and end. Twice is the same as once.

        Args:
            by: who cancels.
            reason: why.
            request_id: the same id again returns the recorded result instead of acting twice.
        """
        await self._deliver(CancelAsked(by=by, reason=reason), request_id)

    async def erase(
        self, *, by: str, reason: str, whole: bool = False, scrub: bool = True
    ) -> Erasure:
        """Remove the content of a run that has ended; see `Runtime.erase`. Twice is the same as
        once.

        Args:
            by: who erases it.
            reason: why.
            whole: also the other turns of its conversation.
            scrub: also overwrite what was deleted in the database's file.
        """
        return await self._rt.erase(self.id, by=by, reason=reason, whole=whole, scrub=scrub)

    async def continue_as_new(self, *, by: str, why: str = "", request_id: str = "") -> int:
        """Begin a new chapter of this run: who reads it next begins there. Returns its record's number.

        It stays the same run. Nothing may be in flight: wait until it rests, or pause it. Raises
        `Refused` otherwise. A run that has become very long does it by itself.

        Args:
            by: who does it.
            why: what for.
            request_id: the same again with the same id is the same chapter.
        """
        if not by:
            raise Invalid("continue_as_new needs by=, the person who does it")
        check_outside("begin a chapter")
        how = {"request": request_id, "origin": self._rt.origin}
        return await self._rt.store.chapter(self.id, by=by, why=why, **how)

    async def hold(self, *, by: str, reason: str = "", lift: bool = False) -> None:
        """Put it under a legal hold: it is neither erased nor pruned; see `Runtime.hold`.

        Args:
            by: who holds it.
            reason: why.
            lift: lift the hold instead.
        """
        await self._rt.hold(f"run:{self.id}", by=by, reason=reason, lift=lift)

    async def cancel_preview(self) -> "CancelPreview":
        """What a cancel would do now: settle, undo (in this order), leave behind."""
        from adjourn.views.cancel_preview import cancel_preview

        return cancel_preview(await self._fold())

    async def again_preview(self) -> "AgainPreview":
        """What this run did, or may have done, and did not undo: a second one may do it again."""
        from adjourn.views.again_preview import again_preview

        return again_preview(await self._fold())

    async def say(
        self, text: Words, *, by: str = "", abandon: bool = False, request_id: str = ""
    ) -> list[Interrupt]:
        """Send a message to the agent; it reads it, once, at the next boundary. Returns the
        questions that were dropped.

        Args:
            text: the message: a string, a file, or a list of strings and files.
            by: who says it.
            abandon: drop the open questions; without it, the message waits until they are answered.
            request_id: the same id again returns the recorded result instead of acting twice.
        """
        words, parts = checked_words(text)
        if parts:
            started, nothing = (await self._fold()).started, "nothing was said"
            if started.kind == "flow":
                raise Invalid(
                    f"run {self.id!r} is a run of a flow, which accepts only strings",
                    consequence=nothing,
                    advice="send the file with an event: emit(event, File(data))",
                )
            if program := self._rt.programs.get(started.program):
                await program.check_files(list(parts), nothing)
        said = Said(text=words, by=by, abandon=abandon, parts=parts)
        seq = await self._rt.deliver(self.id, said, request_id)
        if not abandon:
            return []
        records = await self._rt.store.load(self.id)
        return [i for i in State().fold_all(records[: seq - 1]).interrupts if i.kind == "question"]

    async def emit(
        self,
        event: str,
        value: Any = None,
        *,
        by: str = "",
        request_id: str = "",
        decides: bool = True,
    ) -> None:
        """Send the run an event: it resolves what waits for it, and `External` stop conditions see
        it.

        Args:
            event: its name.
            value: what waits for it is given this.
            by: who sends it; needed where it answers a question (`pause_for(resume_event=…)`),
                whose answer it then is.
            request_id: the same again has no further effect.
            decides: whether the sender may decide; if not, or if the sender is unknown, it answers
                no question, also no later one.
        """
        if not isinstance(event, str) or not event or event.startswith("@"):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise Invalid(
                f"an event must be a name that does not begin with '@', got {event!r:.80}"
            )
        value = plain(value, "value")
        if decides and (await self._rt.store.get(self.id)).opens:
            value = await check_event(await self._fold(), event, value, by)
        await self._deliver(
            Emitted(event=event, value=value, by=by, decides=decides and bool(by)), request_id
        )

    async def approve(
        self,
        interrupt_id: str | Interrupt,
        *,
        by: str,
        note: str = "",
        digest: str = "",
        edit: dict[str, Any] | None = None,
        scope: Literal["once", "run"] = "once",
        groups: Iterable[str] = (),
        request_id: str = "",
        stands: Standing | None = None,
    ) -> int:
        """Let a call of this run run; see `Runtime.approve`.

        Args:
            interrupt_id: as for `Runtime.approve`, or an id inside this run, such as `2.0?0`.
            by, note, digest, edit, scope, groups, request_id, stands: as there.
        """
        return await self._rt.approve(
            await self._own(interrupt_id),
            by=by,
            note=note,
            digest=digest,
            edit=edit,
            scope=scope,
            groups=groups,
            request_id=request_id,
            stands=stands,
        )

    async def deny(
        self,
        interrupt_id: str | Interrupt,
        *,
        by: str,
        note: str = "",
        digest: str = "",
        request_id: str = "",
        stands: Standing | None = None,
    ) -> int:
        """Refuse a call of this run; see `Runtime.deny`.

        Args:
            interrupt_id: as for `Runtime.deny`, or an id inside this run, such as `2.0?0`.
            by, note, digest, request_id, stands: as there.
        """
        return await self._rt.deny(
            await self._own(interrupt_id),
            by=by,
            note=note,
            digest=digest,
            request_id=request_id,
            stands=stands,
        )

    async def answer(
        self,
        interrupt_id: str | Interrupt,
        value: Any,
        *,
        by: str,
        note: str = "",
        digest: str = "",
        groups: Iterable[str] = (),
        request_id: str = "",
    ) -> int:
        """Answer a question of this run, or choose; see `Runtime.answer`.

        Args:
            interrupt_id: as for `Runtime.answer`, or an id inside this run, such as `2.0?0`.
            value: the answer, or the choice.
            by, note, digest, groups, request_id: as there.
        """
        return await self._rt.answer(
            await self._own(interrupt_id),
            value,
            by=by,
            note=note,
            digest=digest,
            groups=groups,
            request_id=request_id,
        )

    async def _own(self, interrupt: str | Interrupt) -> str | Interrupt:
        """The interrupt, or its ref; raises if it is not one of this run's."""
        if isinstance(interrupt, Interrupt):
            if interrupt.run_id != self.id:
                raise Invalid(
                    f"interrupt {interrupt.ref!r} is in another run", advice=f"this is {self.id!r}"
                )
            return interrupt
        return (await self._rt.interrupt(interrupt, run_id=self.id)).ref

    async def fork(
        self,
        at: int | None = None,
        *,
        input: Any = MISSING,
        answers: Mapping[str, Any] | Literal["keep", "reopen"] | None = None,
        instruction: str = "",
        run_id: str | None = None,
        by: str = "",
    ) -> "Run[T]":
        """A new run from a boundary of this one. This run stays as it is.

        Results recorded before the boundary are reused, not executed again. Approvals are asked
        again: they were about this run.

        Args:
            at: the record after which it begins; None: the latest boundary.
            input: another input.
            answers: answers by interrupt id; `"reopen"`: questions are asked again; `"keep"`:
                recorded answers stay.
            instruction: a message that the agent reads first.
            run_id: the new run's id; without one, a new one.
            by: who forks.
        """
        return await self._rt.fork(
            self, at, input=input, answers=answers, instruction=instruction, run_id=run_id, by=by
        )

    async def again(
        self,
        *,
        input: Any = MISSING,
        labels: Mapping[str, str] | None = None,
        same_session: bool = False,
        run_id: str | None = None,
        by: str = "",
    ) -> "Run[T]":
        """A new run of the same agent or flow, from the beginning. This run stays as it is: nothing
        of it is undone, and nothing of it is reused.

        It has the same input, labels and conversation before it, and the program as it is now.
        An existing `run_id` that repeats this run with the same input gives that run, else
        `RunExists` is raised.

        Args:
            input: another input.
            labels: other labels.
            same_session: it belongs to the same session; else to none.
            run_id: the new run's id; without one, a new one.
            by: who runs it again. Who started this run counts as a requester of the new one, too.
        """
        return await self._rt.again(
            self, input=input, labels=labels, same_session=same_session, run_id=run_id, by=by
        )

    def child(self, path: str) -> "ChildRun":
        """A nested agent of this run, looked at by itself. `path` is the call that opened it, for
        example `"2.0"`."""
        return ChildRun(self, path)

    async def audit(self, *, after: int = 0, limit: int = 100) -> "list[AuditEntry]":
        """Everything that anyone wanted of this run, also what was refused, oldest first.

        Args:
            after: only lines after this number.
            limit: at most so many.
        """
        from adjourn.views.audit_entry import entries_of

        return await entries_of(self._rt.store, self.id, after, limit)

    async def _deliver(self, command: Any, request_id: str) -> None:
        await self._rt.deliver(self.id, command, request_id)

    def __repr__(self) -> str:
        return f"Run({self.id!r})"


class ChildRun:
    """A view of one nested agent: its conversation and what waits inside it. Commands go to the
    run."""

    def __init__(self, run: "Run[Any]", path: str) -> None:
        self.run, self.path = run, path

    async def _thread(self) -> tuple[State, Thread]:
        state = await self.run._fold()
        thread = state.threads.get(self.path)
        if thread is None or not self.path:
            known = ", ".join(repr(p) for p in state.threads if p) or "none"
            raise NotFound(
                f"run {self.run.id!r} has no nested agent at {self.path!r}",
                advice=f"there are: {known}",
            )
        return state, thread

    async def agent(self) -> str:
        """Its agent's name."""
        return (await self._thread())[1].agent

    async def messages(self) -> list[Message]:
        """Its conversation so far."""
        return list((await self._thread())[1].request())

    async def interrupts(self) -> list[Interrupt]:
        """What waits inside it, at any depth."""
        state, _ = await self._thread()
        return [i for i in state.interrupts if is_within(i.path, self.path)]

    async def output(self) -> Any:
        """What it handed over, or None while it works."""
        _, thread = await self._thread()
        if thread.final:
            return thread.output
        return None


def _as_it_is(value: Any) -> Any:
    return value
