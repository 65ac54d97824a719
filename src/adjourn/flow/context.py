"""What a chunk may use while it runs."""

from collections.abc import Iterator, MutableMapping
from dataclasses import dataclass
from typing import Any

from adjourn.agent.context import ToolContext
from adjourn.core.call import Call
from adjourn.core.codec import decode, encode, plain
from adjourn.core.flowing import changes
from adjourn.core.policy import Duration
from adjourn.driver.program import Desk
from adjourn.errors import InvalidDefinition, Misused
from adjourn.flow.build import checked_event


@dataclass(frozen=True, slots=True)
class Resume:
    """The answer that let a chunk run again."""

    value: Any


class FlowState(MutableMapping[str, Any]):
    """A flow's state as one chunk sees it: plain JSON, changed in place or by assignment; recorded with the result."""

    def __init__(self, data: dict[str, Any]) -> None:
        self._data = data
        self._before: dict[str, bytes] = {}
        self._now: dict[str, Any] = {}
        self._gone: set[str] = set()

    def __getitem__(self, key: str) -> Any:
        if key in self._gone:
            raise KeyError(key)
        if key not in self._now:
            value = self._data[key]
            if not isinstance(value, list | dict):
                return value
            self._before[key] = encode(value)
            self._now[key] = decode(self._before[key])
        return self._now[key]

    def __setitem__(self, key: str, value: Any) -> None:
        if not isinstance(key, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidDefinition(f"a key of the state is a text, not {key!r}")
        if key in self._data and key not in self._before:
            self._before[key] = encode(self._data[key])
        self._now[key] = plain(value, f"state.{key}")
        self._gone.discard(key)

    def __delitem__(self, key: str) -> None:
        if key not in self:
            raise KeyError(key)
        if key in self._data and key not in self._before:
            self._before[key] = encode(self._data[key])
        self._now.pop(key, None)
        self._gone.add(key)

    def __iter__(self) -> Iterator[str]:
        return iter([k for k in {**self._data, **self._now} if k not in self._gone])

    def __len__(self) -> int:
        return len(list(iter(self)))

    def __repr__(self) -> str:
        return repr({k: self._now.get(k, self._data.get(k)) for k in self})

    def changes(self) -> list[Any]:
        """What the chunk changed; raises `NotJSON`, naming the path, for what cannot be recorded."""
        found: list[Any] = [["del", [key]] for key in self._gone if key in self._before]
        for key, value in self._now.items():
            now = plain(value, f"state.{key}")
            if key in self._before:
                found += changes(decode(self._before[key]), now, [key])
            else:
                found.append(["set", [key], now])
        return found


class FlowContext(ToolContext):
    """What a chunk may use: its input, the flow's state, and everything a tool has."""

    def __init__(self, desk: Desk, call: Call, scope: str = "", name: str = "") -> None:
        super().__init__(desk, call)
        flow = desk.state.flow
        assert flow is not None
        self.input: Any = call.args
        self.state = FlowState(flow.scopes[scope].data)
        self.emitted: list[Any] = []
        answers = [v["value"] for k, v in call.memo.items() if k.startswith("?") and "value" in v]
        self.is_resume = bool(answers)
        self.resume = Resume(answers[-1] if answers else None)
        self.notes = list(flow.notes)

    def emit(self, event: str, value: Any = None) -> None:
        """Emit an event; it takes effect with this chunk's result, or not at all."""
        self.emitted.append([checked_event(event), plain(value, "event value")])

    def pause_for(  # pyright: ignore[reportIncompatibleMethodOverride]
        self,
        type: str = "question",
        payload: Any = None,
        *,
        resume_to: str | dict[str, str] = "next",
        resume_event: str | None = None,
        interrupt_id: str | None = None,
        answer_schema: Any = None,
        expires_in: Duration | None = None,
        on_expiry: str = "deny",
    ) -> Any:
        """Stop here and wait. `"next"`: the answer is the chunk's result. `"self"`: run again; this returns the answer, and
        `resume.value` has it. `{"event": name}` (or `resume_event=name`): the answer is that event."""
        if not self._desk.state.started.options.get("handle", True):
            self.paused = None
            raise Misused(
                "flow.start() has no handle to answer with: a chunk that uses pause_for needs flow.create_execution() or a Runtime"
            )
        event = ""
        if resume_event is not None:
            resume_to = {"event": resume_event}
        if isinstance(resume_to, dict):
            if set(resume_to) != {"event"}:
                raise InvalidDefinition(f"resume_to is 'next', 'self' or {{'event': name}}, not {resume_to!r}")
            event = checked_event(resume_to["event"])
            resume_to = "next"
        self._event = event
        return super().pause_for(
            type, payload, resume_to=resume_to, interrupt_id=interrupt_id, answer_schema=answer_schema,
            expires_in=expires_in, on_expiry=on_expiry,
        )  # fmt: skip

    def _stop(self, **fields: Any) -> Any:
        if event := getattr(self, "_event", ""):
            fields["event"] = event
        return super()._stop(**fields)
