"""What a body may use while it runs, and how it stops to wait."""

import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Literal, NoReturn, TypeVar, cast, overload

from adjourn.bodies.async_or_sync import awaited, in_both_kinds, on_loop
from adjourn.bodies.compensations import register
from adjourn.bodies.signature import answer_schema as schema_of
from adjourn.bodies.sync_verbs import SyncVerbs
from adjourn.core.codec import plain
from adjourn.core.digest import question_digest
from adjourn.core.duration import Duration, seconds
from adjourn.core.ids import again_id, check_chosen
from adjourn.core.memo_key import PROGRESS, MemoKind, is_memo, memo_key, parse_memo
from adjourn.core.messages import Message
from adjourn.core.records import Stepped
from adjourn.core.state import Call
from adjourn.core.status import Status
from adjourn.driver import self_approval_guard as inside
from adjourn.driver.program import StepHandle
from adjourn.errors import InterruptClosed, InvalidDefinition, Misused, PauseRequest

T = TypeVar("T")
_NOT_USED_UP = (MemoKind.PROGRESS, MemoKind.UNDO)
"""Memos that a body need not come by again."""


class YieldRequest(BaseException):
    """A body stopped at `save` because a pause is wanted."""


class ToolContext:
    """What a tool's body may use. Annotate a parameter with it and it is passed in, hidden from the
    model."""

    def __init__(self, desk: StepHandle, call: Call) -> None:
        self._desk, self._call = desk, call
        self._memo = dict(call.memo)
        self._used: set[str] = set()
        self._pauses = self._sleeps = 0
        self.paused: PauseRequest | YieldRequest | None = None
        self.refused: Misused | None = None

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
        """`step`, `save`, `sleep` and `on_cancel` for a sync body, where they are not awaited: with
        types that say so."""
        return SyncVerbs(self)

    def publish(self, item: Any) -> None:
        """Send an item to live watchers. It is not recorded.

        Args:
            item: any JSON value.
        """
        item = plain(item, "item")
        self._desk.loop.call_soon_threadsafe(self._desk.publish, item)

    @in_both_kinds(here="_step_here")
    async def step(self, key: str, fn: Callable[..., T | Awaitable[T]], *args: Any) -> T:
        """Run `fn` once and record its result by `key`; when the body runs again, this returns the
        recorded result.

        Args:
            key: tells the steps of one body apart.
            fn: a sync or async function.
            args: its arguments.
        """
        name = self._use(plain(memo_key(MemoKind.STEP, key), "key"), f"ctx.step({key!r})")
        if name in self._memo:
            return self._memo[name]
        await self._desk.fence()
        value = fn(*args)
        if inspect.isawaitable(value):
            value = await cast("Awaitable[T]", value)
        recorded = plain(value, f"step {key!r}")
        await self._desk.record(Stepped(call=self._call.id, key=name, value=recorded))
        self._memo[name] = recorded
        return recorded

    def _step_here(self, key: str, fn: Callable[..., Any], *args: Any) -> Any:
        """A step of a sync body: its function runs in the body's thread, not on the loop."""
        name = self._use(plain(memo_key(MemoKind.STEP, key), "key"), f"ctx.step({key!r})")
        if name in self._memo:
            return self._memo[name]
        on_loop(self._desk, self._desk.fence())
        value = fn(*args)
        if inspect.isawaitable(value):
            value = on_loop(self._desk, awaited(value))
        recorded = plain(value, f"step {key!r}")
        on_loop(
            self._desk, self._desk.record(Stepped(call=self._call.id, key=name, value=recorded))
        )
        self._memo[name] = recorded
        return recorded

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
        if self.pause_requested:
            self.paused = YieldRequest()
            raise self.paused

    @in_both_kinds()
    async def on_cancel(self, fn: Callable[..., Any], *args: Any) -> None:
        """Register a compensation while the call is running: it runs if the run is cancelled before
        the call has ended.

        Args:
            fn: a function of the module; it is recorded by name.
            args: its arguments, as JSON.
        """
        if not callable(fn):
            raise InvalidDefinition(f"on_cancel needs a function, got {fn!r}")
        value = {
            "fn": getattr(fn, "__qualname__", ""),
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
        register(self.run_id, self._call.id, int(parse_memo(key)[1]), fn)
        if key not in known:
            self._memo[key] = value
            await self._desk.record(Stepped(call=self._call.id, key=key, value=value))

    @in_both_kinds()
    async def sleep(self, duration: Duration) -> None:
        """Wait durably: the run parks, costs nothing, and the body runs again when the time has
        passed.

        Args:
            duration: seconds, or a `timedelta`.
        """
        length = seconds(duration, "sleep")
        key = self._use(memo_key(MemoKind.SLEEP, self._sleeps), "ctx.sleep")
        self._sleeps += 1
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
        interrupt_id: str | None = ...,
        answer_schema: Any = ...,
        expires_in: Duration | None = ...,
        on_expiry: str = ...,
    ) -> NoReturn: ...
    @overload
    def pause_for(
        self,
        type: str = ...,
        payload: Any = ...,
        *,
        resume_to: str,
        interrupt_id: str | None = ...,
        answer_schema: Any = ...,
        expires_in: Duration | None = ...,
        on_expiry: str = ...,
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
        if not isinstance(type, str) or not type:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidDefinition(f"type must be a word of your own, got {type!r}")
        if interrupt_id is not None:
            self._check_given(interrupt_id)
        if interrupt_id is None:
            own = self._pauses
        else:
            own = plain(interrupt_id, "interrupt_id")
        key = self._use(memo_key(MemoKind.ANSWER, own), "pause_for")
        self._pauses += 1
        type, payload = plain(type, "type"), plain(payload, "payload")
        if key in self._memo and self._is_same(key, type, payload):
            return self._answer(key)
        # its author's id, for what is asked anew
        if interrupt_id is not None and key in self._memo:
            number = 2
            while again_id(interrupt_id, number) in self._desk.state.ids:
                number += 1
            interrupt_id = again_id(interrupt_id, number)
        if interrupt_id is not None and interrupt_id in self._desk.state.ids:
            raise Misused(
                f"interrupt id {interrupt_id!r} is used already in this run",
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
            f"the person was asked {memo['type']!r}, but the body now asks {type!r} in its place",
            consequence="the answer was not used",
            advice="restore the order of the questions, or give each an interrupt_id=",
        )
        raise self.refused

    def _answer(self, key: str) -> Any:
        answer = self._memo[key]
        if "expired" in answer:
            raise InterruptClosed(key, answer["expired"])
        return answer["value"]

    def _stop(self, **fields: Any) -> PauseRequest:
        """Remember the pause: it counts even if the body swallows it."""
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

    def leftover(self) -> list[str]:
        """Recorded steps and pauses that this run of the body did not use: it is not the body that
        recorded them."""
        return [
            key
            for key in self._memo
            if key not in self._used and parse_memo(key)[0] not in _NOT_USED_UP
        ]


def lost_by(context: ToolContext) -> BaseException | None:
    """What said that the run is not this body's any more."""
    return context._desk.lost  # pyright: ignore[reportPrivateUsage]


def enter(context: ToolContext) -> None:
    """Make `context` the one that the module function `pause_for` finds."""
    inside.body.set(context)


@overload
def pause_for(
    type: str = ...,
    payload: Any = ...,
    *,
    resume_to: Literal["next"] = ...,
    interrupt_id: str | None = ...,
    answer_schema: Any = ...,
    expires_in: Duration | None = ...,
    on_expiry: str = ...,
) -> NoReturn: ...
@overload
def pause_for(
    type: str = ...,
    payload: Any = ...,
    *,
    resume_to: str,
    interrupt_id: str | None = ...,
    answer_schema: Any = ...,
    expires_in: Duration | None = ...,
    on_expiry: str = ...,
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
    context: ToolContext | None = inside.body.get()
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
