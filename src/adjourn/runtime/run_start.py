"""What a new run begins with: its input, its session, its options, and the request that it is of; and a
journal as this store can take it."""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from adjourn.core.codec import plain
from adjourn.core.records import AnyRecord, Started
from adjourn.errors import RunExists
from adjourn.runtime.arguments import checked_priority
from adjourn.runtime.checked_answers import MISSING
from adjourn.runtime.checkpoint import Checkpoint
from adjourn.runtime.definition import Definition
from adjourn.stores.protocol import Store

if TYPE_CHECKING:
    from adjourn.runtime.runtime import Runtime

REQUEST = "request"
"""The option of a run with the digest of all that the request said that began it."""
_ASKED: ContextVar[tuple[str, str]] = ContextVar("adjourn_asked", default=("", ""))
"""The run, and the digest: what is started by bodies, whose tasks inherit this, is another run."""


async def beginning(
    rt: "Runtime",
    program: Definition[Any],
    after: Any,
    session: str,
    queue: str | None,
    run_id: str | None,
) -> dict[str, Any]:
    """What a run begins with: its session, its options, and the conversation that it goes on
    with."""
    from adjourn.runtime.next_turn import conversation_before, last_of_session

    if after is MISSING and session and not queue:
        before = await last_of_session(rt, program, session, run_id or "")
    else:
        before = await conversation_before(rt, program, None if after is MISSING else after)
    before["session"] = session or before["session"]
    if queue is not None:
        from adjourn.runtime.session_queue import checked_queue  # most starts queue nowhere

        options = checked_queue(queue, before["session"])
        before["options"] = {**before.get("options", {}), **options}
    return before


async def checked_input(program: Definition[Any] | None, input: Any) -> Any:
    """An input as it is recorded; raises `Invalid` if a program that is known here would only fail
    with it."""
    found = plain(input, "input")
    if program is not None:
        await program.check_files(found, "nothing was started")
    return found


def with_options(
    before: dict[str, Any], program: Definition[Any], priority: Any, tools: Any
) -> dict[str, Any]:
    """What a run begins with, how urgent it is, and the tools that who starts it carries out;
    raises `Invalid`."""
    more = checked_priority(priority)
    if tools:
        from adjourn.core.client_tool import checked_client_tools

        own = None if program.kind == "flow" else getattr(program, "tools", ())
        more |= checked_client_tools(tools, own)
    return {**before, "options": {**before.get("options", {}), **more}}


async def at_home(rt: "Runtime", saved: Checkpoint) -> Checkpoint:
    """A journal as this store can take it: with the turns before it in its own first record, unless
    they are here."""
    ref = saved.started.before
    found = await rt.store.turns(ref.run, ref.seq, 1) if ref else []
    if ref is None or (found and found[0].records and found[0].head.hex() == ref.head):
        return saved
    before = saved.before or await rt.worker.earlier.before(saved.started)
    return Checkpoint(saved.records, before=before, files=saved.files).by_itself()


@contextmanager
def begun_by(run: str, asked: str) -> Generator[None]:
    """A run that begins within, by this task, is that of a request which may come again.

    Args:
        run: its id.
        asked: a digest of all that the request says.
    """
    token = _ASKED.set((run, asked))
    try:
        yield
    finally:
        _ASKED.reset(token)


def of_request(started: Started) -> Started:
    """The first record of a run with what was asked; it may be made of another run's."""
    asked, options = _asked(started.run), dict(started.options)
    if options.pop(REQUEST, None) is None and not asked:
        return started
    if asked:
        options[REQUEST] = asked
    return replace(started, options=options)


def all_of_request(records: Sequence[AnyRecord]) -> list[AnyRecord]:
    """The same for a whole journal."""
    first, *rest = records
    assert isinstance(first, Started)
    return [of_request(first), *rest]


async def check_request(store: Store, run: str, new: bool) -> None:
    """Raise `RunExists` if a run that is not new was begun by a request that said something else."""
    asked = _asked(run)
    if new or not asked:
        return
    [(_, first), *_] = await store.load(run)
    said = first.options.get(REQUEST) if isinstance(first, Started) else ""
    if said is not None and said != asked:  # None: begun by an earlier version
        raise RunExists(run, taken=True)


def _asked(run: str) -> str:
    known, asked = _ASKED.get()
    return asked if known == run else ""
