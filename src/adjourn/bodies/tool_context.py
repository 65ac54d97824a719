"""What a body may use while it runs, and how it stops to wait."""

import inspect
from collections import Counter
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Literal, NoReturn, TypedDict, TypeVar, Unpack, cast, overload

from adjourn.bodies.async_or_sync import awaited, in_both_kinds, on_loop
from adjourn.bodies.signature import answer_schema as schema_of
from adjourn.bodies.sync_verbs import SyncVerbs
from adjourn.core.action_digest import question_digest
from adjourn.core.call import had_begun
from adjourn.core.codec import plain
from adjourn.core.decision_effects import LOST
from adjourn.core.duration import Duration, seconds
from adjourn.core.files import FILE, File, described, is_ref, media_type_of
from adjourn.core.ids import again_id, check_chosen
from adjourn.core.memo_key import PROGRESS, MemoKind, is_memo, memo_key, parse_memo
from adjourn.core.messages import Message
from adjourn.core.records import Stepped
from adjourn.core.state import Call
from adjourn.core.status import Status
from adjourn.driver import worker_mark as inside
from adjourn.driver.program import StepHandle
from adjourn.errors import InterruptClosed, Invalid, InvalidDefinition, Misused, PauseRequest

T = TypeVar("T")
_NOT_USED_UP = (MemoKind.PROGRESS, MemoKind.UNDO)
"""Memos that a body need not come by again."""


enclosing: ContextVar[str] = ContextVar("adjourn_enclosing_step", default="")
"""How the keys begin of what is inside of the step that is made here."""
stepping: ContextVar[str] = ContextVar("adjourn_step", default="")
"""The step whose function runs here, if that may not wait."""


class PauseOptions(TypedDict, total=False):
    """What every `pause_for` takes beside what is asked and where the answer goes."""

    interrupt_id: str | None
    answer_schema: Any
    expires_in: Duration | None
    on_expiry: str


class YieldRequest(BaseException):
    """A body stopped at `save` because a pause is wanted."""


class ToolContext:
    """What a tool's body may use. Annotate a parameter with it and it is passed in, hidden from the
    model."""

    def __init__(self, desk: StepHandle, call: Call) -> None:
        self._desk, self._call = desk, call
        self._memo = dict(call.memo)
        self._used: set[str] = set()
        self._counts: Counter[str] = Counter()
        self._enclosed: list[str] = []
        self.paused: PauseRequest | YieldRequest | None = None
        self.refused: Misused | None = None
        self.hidden: list[str] = []
        self.failures: dict[str, Exception] = {}

    @property
    def run_id(self) -> str:
        """The run."""
        return self._desk.run_id

    @property
    def name(self) -> str:
        """The tool or the chunk."""
        return self._call.tool

    @property
    def call_id(self) -> str:
        """The call, unique in its run."""
        return self._call.id

    @property
    def idempotency_key(self) -> str:
        """The same for every attempt of this call; give it to the target so that it can refuse a
        second one."""
        return self._call.key(self.run_id)

    @property
    def path(self) -> str:
        """The agent whose call it is: "" for the run's own, else the call under which it is
        nested."""
        return self._call.path

    @property
    def messages(self) -> Sequence[Message]:
        """The conversation that has asked for this call, up to the reply with the call. Empty in a
        flow."""
        thread = self._desk.state.threads.get(self._call.path)
        if thread is not None:
            return thread.transcript.need()
        return ()

    @property
    def model_call_id(self) -> str:
        """The id that the model gave this call; "" if no model asked for it."""
        thread = self._desk.state.threads.get(self._call.path)
        for slot in thread.slots if thread is not None else ():
            if slot.call == self._call.id:
                return slot.part.id
        return ""

    @property
    def approved(self) -> bool:
        """Whether people have agreed to this call; False if no rule wanted that."""
        return bool(self._call.grant)

    @property
    def epoch(self) -> int:
        """Grows whenever another worker takes the run; a target that checks it refuses a worker
        that was replaced."""
        return self._desk.epoch

    @property
    def resources(self) -> Mapping[str, Any]:
        """The live objects that were passed with `resources=`."""
        return self._desk.resources

    @property
    def pause_requested(self) -> bool:
        """A person wants the run to pause; a long body may `save` and stop."""
        return self._desk.state.status == Status.PAUSING

    @property
    def cancel_requested(self) -> bool:
        """The run is being cancelled; a long body should stop."""
        return self._desk.state.status == Status.CANCELLING

    @property
    def progress(self) -> Any:
        """What the last `save` of this call recorded, or None."""
        return self._memo.get(PROGRESS)

    @property
    def sync(self) -> SyncVerbs:
        """`step`, `save`, `file`, `sleep` and `on_cancel` for a sync body, where they are not awaited: with
        types that say so."""
        return SyncVerbs(self)

    def publish(self, item: Any) -> None:
        """Send an item to live watchers. It is not recorded.

        Args:
            item: any JSON value.
        """
        item = self._said(plain(item, "item"))
        self._desk.loop.call_soon_threadsafe(self._desk.publish, item)

    @in_both_kinds(here="_step_here")
    async def step(self, key: str, fn: Callable[..., T | Awaitable[T]], *args: Any) -> T:
        """Run `fn` once and record its result by `key`; when the body runs again, this returns the
        recorded result. If `fn` fails and the body continues and waits, that is recorded as well: the
        step then fails again with the same error. Another attempt has a key of its own. `fn` cannot
        wait for a person: see `enclosing_step`.

        Args:
            key: tells the steps of one body apart.
            fn: a sync or async function.
            args: its arguments.
        """
        name = self._step_name(key)
        if name in self._memo:
            return self._memo[name]
        await self._desk.fence()
        with self._noting(key):
            value = fn(*args)
            if inspect.isawaitable(value):
                value = await cast("Awaitable[T]", value)
            recorded = plain(value, f"step {key!r}")
        await self._desk.record(Stepped(call=self._call.id, key=name, value=recorded))
        self._memo[name] = recorded
        return recorded

    def _step_here(self, key: str, fn: Callable[..., Any], *args: Any) -> Any:
        """A step of a sync body: its function runs in the body's thread, not on the loop."""
        name = self._step_name(key)
        if name in self._memo:
            return self._memo[name]
        on_loop(self._desk, self._desk.fence())
        with self._noting(key):
            value = fn(*args)
            if inspect.isawaitable(value):
                value = on_loop(self._desk, awaited(value))
            recorded = plain(value, f"step {key!r}")
        on_loop(
            self._desk, self._desk.record(Stepped(call=self._call.id, key=name, value=recorded))
        )
        self._memo[name] = recorded
        return recorded

    def _step_name(self, key: str) -> str:
        """Under what a step is recorded. One that failed before the body waited fails again, and is
        not executed: it may have done its work."""
        name = self._use(plain(memo_key(MemoKind.STEP, key), "key"), f"ctx.step({key!r})")
        failed = memo_key(MemoKind.FAILED, key)
        if failed not in self._memo:
            return name
        from adjourn.bodies.step_failure import failed_again

        self._used.add(failed)
        try:
            error = failed_again(key, self._memo[failed])
        except Misused as missing:
            self.refused = missing
            raise
        raise error

    @contextmanager
    def _noting(self, key: str) -> Generator[None]:
        """Remember that a step has failed. It is recorded if the body goes on and waits; a body
        that fails with it is tried again, or not, as a whole. Its function may not wait, unless it
        is an enclosing one."""
        within = stepping.set("" if enclosing.get() == f"{key}>" else f"ctx.step({key!r:.80})")
        try:
            yield
        except Exception as error:
            if self._desk.lost is None and error is not self.refused:
                self.failures[memo_key(MemoKind.FAILED, key)] = error
            raise
        finally:
            stepping.reset(within)

    @in_both_kinds()
    async def save(self, progress: Any) -> None:
        """Record how far the body has come. If a pause was requested, the body stops here and
        continues from here later.

        Args:
            progress: any JSON value; `ctx.progress` has it when the body runs again.
        """
        recorded = plain(progress, "progress")
        await self._desk.record(Stepped(call=self._call.id, key=PROGRESS, value=recorded))
        self._memo[PROGRESS] = recorded
        if self.pause_requested and not stepping.get():  # a step is not cut in two
            self.paused = YieldRequest()
            raise self.paused

    @in_both_kinds()
    async def on_cancel(self, fn: Callable[..., Any], *args: Any) -> None:
        """Register a compensation while the call is running: it runs if the run is cancelled before
        the call has ended.

        Args:
            fn: a function of the module; it is recorded by name. A lambda has none, and is
                refused.
            args: its arguments, as JSON.
        """
        from adjourn.bodies.compensations import named, register
        from adjourn.driver.located_run import located_call

        value = {
            "fn": named(fn),
            "args": plain(list(args), "on_cancel arguments"),
        }
        known = [key for key in self._memo if is_memo(key, MemoKind.UNDO)]
        key = memo_key(MemoKind.UNDO, len(known))
        for old in known:
            if self._memo[old] == value and old not in self._used:
                # A body that runs again registers the same again: that is one compensation, not
                # two.
                key = old
                break
        self._used.add(key)
        register(located_call(self._desk.place, self._call), int(parse_memo(key)[1]), fn)
        if key not in known:
            self._memo[key] = value
            await self._desk.record(Stepped(call=self._call.id, key=key, value=value))

    @in_both_kinds()
    async def file(self, ref: Any) -> File:
        """A file of this run, or of the conversation before it, with its bytes. Raises `Invalid` if
        there is none.

        Args:
            ref: the reference to it, as it stands in an argument, an input, an answer or a message.
        """
        if isinstance(ref, File):
            return ref
        if not is_ref(ref):
            raise Invalid(
                f"ctx.file() needs the reference to a file, got {ref!r:.80}",
                advice="it is a dict with '$file', as in a chunk's input or in ctx.messages",
            )
        found = (await self._desk.files([ref[FILE]])).get(ref[FILE])
        if found is None:
            raise Invalid(f"run {self.run_id!r} has no file {described(ref)}")
        return File(found, media_type_of(found) or ref["type"], str(ref.get("name", "")))

    @in_both_kinds()
    async def sleep(self, duration: Duration) -> None:
        """Wait durably: the run parks, costs nothing, and the body runs again when the time has
        passed.

        Args:
            duration: seconds, or a `timedelta`.
        """
        length = seconds(duration, "sleep")
        key = self._use(memo_key(MemoKind.SLEEP, self._next("sleeps")), "ctx.sleep")
        if key not in self._memo:
            raise self._stop(
                kind="timer",
                type="timer",
                key=key,
                resume_to="self",
                expires=self._desk.now() + length,
            )

    @overload
    def pause_for(
        self,
        type: str = ...,
        payload: Any = ...,
        *,
        resume_to: Literal["next"] = ...,
        **options: Unpack[PauseOptions],
    ) -> NoReturn: ...
    @overload
    def pause_for(
        self,
        type: str = ...,
        payload: Any = ...,
        *,
        resume_to: str,
        **options: Unpack[PauseOptions],
    ) -> Any: ...
    def pause_for(
        self,
        type: str = "question",
        payload: Any = None,
        *,
        resume_to: str = "next",
        interrupt_id: str | None = None,
        answer_schema: Any = None,
        expires_in: Duration | None = None,
        on_expiry: str = "deny",
    ) -> Any:
        """Stop here and wait for an answer. It raises `PauseRequest`, a `BaseException`.

        Args:
            type: your own word for what is asked, for example `"approval"`.
            payload: what the person is shown; any JSON value.
            resume_to: `"next"`: the answer is the result, and the body does not run again.
                `"self"`: the body runs again, and this call returns the answer.
            interrupt_id: tells several pauses of one body apart; without it, their order does.
            answer_schema: a Python type or a JSON Schema that the answer must fit.
            expires_in: seconds, or a `timedelta`, for the answer.
            on_expiry: what happens then: `"deny"` or `"cancel"`.
        """
        if resume_to not in ("next", "self"):
            raise InvalidDefinition(
                f"resume_to must be 'next' or 'self' in a tool, got {resume_to!r}"
            )
        if on_expiry not in ("deny", "cancel"):
            raise InvalidDefinition(f"on_expiry must be 'deny' or 'cancel', got {on_expiry!r}")
        if not isinstance(type, str) or not type or "\0" in type:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidDefinition(f"type must be a non-empty string without NUL, got {type!r}")
        if interrupt_id is not None:
            self._check_given(interrupt_id)
        own = self._next("pauses")
        if interrupt_id is not None:
            own = plain(interrupt_id, "interrupt_id")
        key = self._use(memo_key(MemoKind.ANSWER, own), "pause_for")
        type, payload = plain(type, "type"), self._said(plain(payload, "payload"))
        if key in self._memo and self._is_same(key, type, payload):
            return self._opened(self._answer(key), answer_schema)
        # its author's id, for what is asked anew
        if interrupt_id is not None and key in self._memo:
            number = 2
            while again_id(interrupt_id, number) in self._desk.state.ids:
                number += 1
            interrupt_id = again_id(interrupt_id, number)
        if interrupt_id is not None and interrupt_id in self._desk.state.ids:
            raise Misused(
                f"interrupt id {interrupt_id!r} is already used in this run",
                advice="choose another",
            )
        if expires_in is None:
            expires = 0.0
        else:
            expires = self._desk.now() + seconds(expires_in, "expires_in")
        raise self._stop(
            type=type,
            payload=payload,
            key=key,
            i=interrupt_id or "",
            resume_to=resume_to,
            schema=schema_of(answer_schema),
            expires=expires,
            on_expiry=on_expiry,
        )

    def _check_given(self, id: Any) -> None:
        """An id that earlier versions allowed, and that this run has recorded, stays good."""
        if not (
            isinstance(id, str)
            and (id in self._desk.state.ids or memo_key(MemoKind.ANSWER, id) in self._memo)
        ):
            check_chosen(id, "interrupt_id")

    def _is_same(self, key: str, type: str, payload: Any) -> bool:
        """Whether this is the question that was answered. Another payload is asked anew; another
        type is another body."""
        memo = self._memo[key]
        if "of" not in memo or memo["of"] == question_digest(type, payload):
            return True
        if memo["type"] == type:
            return False
        self.refused = Misused(
            f"the person was asked {memo['type']!r}, but the body now asks {type!r} instead",
            consequence="the answer was not used",
            advice="restore the order of the questions, or give each an interrupt_id=",
        )
        raise self.refused

    def _answer(self, key: str) -> Any:
        answer = self._memo[key]
        if "expired" in answer:
            lost = answer["expired"]
            expired = lost == LOST["expired"]
            raise InterruptClosed(key, lost, "no answer will come", expired=expired)
        return answer["value"]

    def _said(self, payload: Any) -> Any:
        """What the body says to people, without the secrets that it was given: as it is recorded,
        so that the answer is known to be for it."""
        if not self.hidden:
            return payload
        from adjourn.bodies.sealed_arguments import without

        return without(payload, self.hidden)

    def _opened(self, answer: Any, schema: Any) -> Any:
        """The answer as it was given: a secret in it is opened here, and taken out of what the body
        says."""
        if schema is None:
            return answer
        from adjourn.core.secret_places import has_sealed

        if not has_sealed(answer):
            return answer
        from adjourn.driver.sealed_answers import opened_answer

        answer, hidden = opened_answer(schema_of(schema), answer)
        self.hidden += hidden
        return answer

    def _stop(self, **fields: Any) -> PauseRequest:
        """Remember the pause: it counts even if the body swallows it."""
        if step := stepping.get():
            raise Misused(
                f"the function of {step} cannot wait: it would run again from its beginning",
                advice="pause before or after it, or use ctx.enclosing_step",
            )
        self.paused = PauseRequest(**fields)
        return self.paused

    def _use(self, key: str, what: str) -> str:
        if self.refused is not None:
            raise self.refused
        # swallowed, or a sibling task's: nothing more happens in this body
        if self.paused is not None:
            raise self.paused
        if key in self._used:
            raise Misused(
                f"{what} was used twice in one body", advice="give each its own key or interrupt_id"
            )
        self._used.add(key)
        return key

    def _next(self, what: str) -> int | str:
        """Tells apart what has no name of its own: by its order, inside of the step that it is
        in."""
        within = enclosing.get()
        number = self._counts[within + what]
        self._counts[within + what] += 1
        if not within:
            return number
        return f"{within}{number}"

    async def enclosing_step(self, key: str, fn: Callable[[], Awaitable[T]]) -> T:
        """`step`, for a function that may itself pause and make such steps. Once it is recorded,
        all that was inside of it is done with.

        Args:
            key: tells the steps of one body, or of one step, apart.
            fn: an async function.
        """
        key = f"{enclosing.get()}{key}"
        inner = enclosing.set(f"{key}>")
        try:
            found = await self.step(key, fn)
        except Exception:  # it is done with as well
            self._enclosed.append(f"{key}>")
            raise
        finally:
            enclosing.reset(inner)
        self._enclosed.append(f"{key}>")
        return found

    def leftover(self) -> list[str]:
        """Recorded steps and pauses that this run of the body did not use: it is not the body that
        recorded them."""
        done_with = tuple(self._enclosed)
        found: list[str] = []
        for key in self._memo:
            kind, own = parse_memo(key)
            if key in self._used or kind in _NOT_USED_UP or str(own).startswith(done_with):
                continue
            found.append(key)
        return found


def lost_by(context: ToolContext) -> BaseException | None:
    """What said that the run is not this body's any more."""
    return context._desk.lost  # pyright: ignore[reportPrivateUsage]


def done_by(context: ToolContext) -> str:
    """What its body has noted as done, as a sentence that stands behind an error; "" if nothing."""
    return had_begun(context._memo)  # pyright: ignore[reportPrivateUsage]


def enter(context: ToolContext) -> None:
    """Make `context` the one that the module function `pause_for` finds. A run that a step of
    another body began is in no step of its own."""
    inside.body.set(context)
    enclosing.set("")
    stepping.set("")


def current_context() -> ToolContext | None:
    """The context of the body that runs here, if one does."""
    return inside.body.get()


@overload
def pause_for(
    type: str = ...,
    payload: Any = ...,
    *,
    resume_to: Literal["next"] = ...,
    **options: Unpack[PauseOptions],
) -> NoReturn: ...
@overload
def pause_for(
    type: str = ...,
    payload: Any = ...,
    *,
    resume_to: str,
    **options: Unpack[PauseOptions],
) -> Any: ...
def pause_for(
    type: str = "question",
    payload: Any = None,
    *,
    resume_to: str = "next",
    interrupt_id: str | None = None,
    answer_schema: Any = None,
    expires_in: Duration | None = None,
    on_expiry: str = "deny",
) -> Any:
    """Stop the tool or chunk that is running and wait for an answer. It raises `PauseRequest`, a
    `BaseException`.

    Args:
        type: your own word for what is asked, for example `"approval"`.
        payload: what the person is shown; any JSON value.
        resume_to: `"next"`: the answer is the result, and the body does not run again. `"self"`:
            the body runs again, and this call returns the answer.
        interrupt_id: tells several pauses of one body apart; without it, their order does.
        answer_schema: a Python type or a JSON Schema that the answer must fit.
        expires_in: seconds, or a `timedelta`, for the answer.
        on_expiry: what happens then: `"deny"` or `"cancel"`.
    """
    context = current_context()
    if context is None:
        raise Misused("pause_for works inside a tool or a chunk while a run executes it")
    return context.pause_for(
        type,
        payload,
        resume_to=resume_to,
        interrupt_id=interrupt_id,
        answer_schema=answer_schema,
        expires_in=expires_in,
        on_expiry=on_expiry,
    )
