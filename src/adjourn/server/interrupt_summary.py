"""What a list shows of an interrupt. A call may have a megabyte of arguments; a list of such calls must stay small."""

from typing import Any, NamedTuple, cast

import msgspec

from adjourn.core.codec import encode
from adjourn.core.interrupt import Interrupt, PendingToolCall
from adjourn.server.bounded_cache import Kept
from adjourn.server.json_views import action_of, interrupt_json

WHOLE = 4_000
"""Bytes of arguments, payload and schema that are shown whole; of more there is a gist."""
LINE = 200
"""Characters of each text in a gist."""
ROOM = 2_000
"""Characters of a gist, about."""
KEPT = 4_000_000
"""Bytes of gists that are kept."""


class _Gist(NamedTuple):
    payload: Any
    call: PendingToolCall | None
    digest: str
    action: str


class Gists:
    """Gists that were made before: what was asked does not change, and its digests take a while."""

    def __init__(self) -> None:
        self._kept: Kept[tuple[str, int, str], _Gist] = Kept(KEPT)

    def line(self, i: Interrupt, agent: str) -> dict[str, Any]:
        """An interrupt as a list shows it. `whole` False: `payload` and arguments are cut and the schema is left out; whoever
        decides reads the item first."""
        key = (i.run_id, i.seq, i.id)
        gist = self._kept.get(key)
        if gist is None:
            if len(encode((i.payload, i.call, i.answer_schema))) <= WHOLE:
                return {**interrupt_json(i, agent, ""), "whole": True}
            gist = _gist(i)
            self._kept.put(key, gist)
        short = msgspec.structs.replace(i, payload=gist.payload, call=gist.call, answer_schema=None)
        return {**interrupt_json(short, agent, ""), "digest": gist.digest, "action": gist.action, "whole": False}


def _gist(i: Interrupt) -> _Gist:
    call = i.call
    if call is not None:
        call = msgspec.structs.replace(
            call, arguments=cast("dict[str, Any]", cut(call.arguments)), description=_text(call.description, LINE),
            reason=_text(call.reason, LINE), rule=_text(call.rule, LINE),
        )  # fmt: skip
    return _Gist(cut(i.payload), call, i.digest, action_of(i))


def cut(value: Any) -> Any:
    """The beginning of a value: the same shape, with fewer parts and shorter texts."""
    return _Knife(ROOM).cut(value)


class _Knife:
    def __init__(self, room: int) -> None:
        self._room = room

    def cut(self, value: Any) -> Any:
        if isinstance(value, str):
            return self._take(_text(value, min(LINE, max(1, self._room))))
        if isinstance(value, dict):
            found = cast("dict[str, Any]", value)
            names = iter(found)
            return {self._take(_text(name, LINE)): self.cut(found[name]) for name in names if self._room > 0}
        if isinstance(value, list):
            return [self.cut(part) for part in cast("list[Any]", value) if self._room > 0]
        self._room -= 20
        return value

    def _take(self, text: str) -> str:
        self._room -= len(text) + 2
        return text


def _text(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}…"
