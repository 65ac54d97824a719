"""Where a run is, for what a process keeps beside its journal. Two stores that are open in one
process may each have a run of the same id."""

import os
from itertools import count
from typing import NamedTuple
from weakref import WeakKeyDictionary

from adjourn.core.action_digest import digest
from adjourn.core.call import Call
from adjourn.core.memo_key import MemoKind, parse_memo
from adjourn.stores.address import file_of, open_only_here
from adjourn.stores.protocol import Store

NOWHERE = ""
"""The home of runs without a store. A call is known there by what it is, too: a checkpoint may be
resumed more than once, with other arguments and other answers."""

ANSWERS = (MemoKind.ANSWER, MemoKind.EVENT)
"""Memos of what others said to a body. It is not at work when they come."""

_homes: WeakKeyDictionary[Store, str] = WeakKeyDictionary()
_numbers = count(1)


class LocatedRun(NamedTuple):
    """A run of a store."""

    home: str
    run: str


class LocatedCall(NamedTuple):
    """A call of a run of a store, or one of its steps. `key` says what is called, where several
    runs may have this id; else it is empty."""

    home: str
    run: str
    call: str
    key: str


def home_of(store: Store) -> str:
    """What tells a store apart from all others that are open in this process. A database has the
    same one however often it is opened, a memory is only itself."""
    found = _homes.get(store)
    if found is None:
        found = _homes[store] = _home(store.address)
    return found


def _home(address: str) -> str:
    if open_only_here(address):
        return f"{address}{next(_numbers)}"
    path = file_of(address)
    return address if path is None else os.path.realpath(path)


def make_homeless(store: Store) -> None:
    """Nothing but one run without a store is in it."""
    _homes[store] = NOWHERE


def located_call(place: LocatedRun, call: Call) -> LocatedCall:
    """Under what something is kept that belongs to a call for as long as it has no result."""
    key = "" if place.home else call.key(place.run)
    return LocatedCall(place.home, place.run, call.id, key)


def located_work(place: LocatedRun, call: Call | None, step: str = "") -> LocatedCall:
    """Under what the body of a call, its undo or its verify is kept while it is at work.

    Args:
        place: of its run.
        call: the call; None for a step that belongs to none.
        step: which of its steps, if not the call itself.
    """
    key = "" if place.home or call is None else _work_key(place.run, call)
    return LocatedCall(place.home, place.run, step or (call.id if call else ""), key)


def _work_key(run: str, call: Call) -> str:
    """Of what the body is given, and its undo: nothing that changes while either is at work."""
    answers = {name: call.memo[name] for name in call.memo if parse_memo(name)[0] in ANSWERS}
    return digest("work", call.key(run), answers, call.value)
