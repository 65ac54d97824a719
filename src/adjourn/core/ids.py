"""Ids: how calls, steps, interrupts, events, forks and workers are named. Only this module builds
or splits them.

An id is a plain string. `StepId` and `WorkerId` read one whole; the functions beside them do one
thing to one id, for the fold and the plan, and take any string.

    call       path "/" name, with "!undo" or "!cancel" n for what takes it back:
               2.1  2.0/1.1  pay#0  each#0[3]/pay#0  2.0!undo
    step       call | ("model:" | "summary:" | "input:" | "output:") path | ("verify:" | "check:") call
               | "poison" | "graph" | limit [":" path]
    local id   (call | step) "?" n, the number of its question, or a name that its author gave it
    event      the label of its flow and its name: "ready", "sub#0/ready"
    memo       see `core.memo_key`
    fork       run "@" seq
    worker     machine "|" pid "|" birth "|" random

A path is the way from the root down to a nested agent or into a part of a flow: the names of calls
and of branches (`each#0[3]`, `batch#0.left`), with "/" between them. A label is a path with "/"
behind it, or "": what the ids below it begin with.

An interrupt has three names. Its *local* id tells it apart inside its run. Its `id` is what people
are shown first: `RUN:2.0?0` for a generated one, as written for a given one, which other runs may
have given too. Its `ref`, `RUN:local`, is unique in the store.
"""

import re
from enum import StrEnum
from typing import Any

import msgspec

from adjourn.errors import Invalid, InvalidDefinition

CHOSEN = "[A-Za-z0-9][A-Za-z0-9_.~ -]{0,199}"
"""The ids that people choose, for runs and for interrupts: nothing in them means something to a
shell, a URL or a ref."""
CLOSE = "@close"
"""The event that closes a flow."""
_RESERVED = ":?/!#\\"
_NOT_IN_NAMES = "/#[]!?:\n"

_TURN = "[0-9]+[.][0-9]+"
_NAME = r"(?!@)[^/#\[\]!?:\n]+"
_ACTIVATION = f"{_NAME}#[0-9]+"
_SEGMENT = rf"(?:{_TURN}|{_ACTIVATION}(?:\[[0-9]+\]|[.]{_NAME})?)"
_CALL = re.compile(
    rf"(?:{_SEGMENT}/)*(?:{_TURN}|{_ACTIVATION})(?:!(?:undo|cancel(?:0|[1-9][0-9]*)))?"
)


# Ids that people choose.


def check_chosen(id: Any, name: str) -> str:
    """The id that a person chose; raises `Invalid` if it cannot be one.

    Args:
        id: what was given.
        name: the argument it was given as, for the message.
    """
    if not isinstance(id, str) or not re.fullmatch(CHOSEN, id):
        raise Invalid(
            f"{name} must be a short string of letters (a-z), digits, spaces and _ . ~ - "
            f"that begins with a letter or a digit, "
            f"at most 200 characters, got {id!r:.80}"
        )
    return id


def check_imported(run: str) -> str:
    """A run's id as earlier versions allowed it, for journals from elsewhere; raises `Invalid`."""
    if not 0 < len(run) <= 200 or not run.isprintable() or not set(_RESERVED).isdisjoint(run):
        raise Invalid(f"{run!r:.80} cannot be the id of a run", consequence="nothing was imported")
    return run


def checked_name(name: Any, what: str) -> str:
    """A name that may be part of a call's id, or `InvalidDefinition`.

    Args:
        name: what was given.
        what: what it names, for the message.
    """
    if (
        not isinstance(name, str)
        or not name
        or name.startswith("@")
        or not set(_NOT_IN_NAMES).isdisjoint(name)
    ):
        raise InvalidDefinition(
            f"{what} must be a short string without / # [ ] ! ? : that does not begin with "
            f"@, got {name!r:.80}"
        )
    return name


def checked_event(event: Any) -> str:
    """An event's name, or `InvalidDefinition`."""
    if not isinstance(event, str) or not event or event.startswith("@") or {"/", "\0"} & {*event}:
        raise InvalidDefinition(
            f"an event must be a name without '/' and NUL that does not begin with '@', got {event!r:.80}"
        )
    return event


# Calls, their paths and their labels.


def is_call(text: str) -> bool:
    """Whether this is the id of a call."""
    return _CALL.fullmatch(text) is not None


def turn_id(path: str, turn: int) -> str:
    """A model's reply, as people are shown it: the agent's path and the number of the turn."""
    if path:
        return f"{path}/{turn}"
    return str(turn)


def tool_call_id(turn: str, number: int) -> str:
    """The id of a tool call.

    Args:
        turn: the reply that asks for it, see `turn_id`.
        number: which of its calls, from 0.
    """
    return f"{turn}.{number}"


def call_number(call: str) -> str:
    """Which of its reply's calls a tool call is, as written."""
    return call.rpartition(".")[2]


def activation_id(label: str, name: str, number: int) -> str:
    """The id of what a chain of a flow begins: a chunk, an agent, a join, a branch, a sub-flow.

    Args:
        label: what the ids of the chain begin with.
        name: the name in the graph.
        number: how many of that name the chain has begun before.
    """
    return f"{label}{name}#{number}"


def activation_name(call: str) -> str:
    """The name in the graph of a chunk's call; of a tool's call its own part."""
    return call.rpartition("/")[2].partition("#")[0].partition("!")[0]


def path_of(call: str) -> str:
    """Where a call stands: the path of its agent, or of its part of a flow."""
    return call.rpartition("/")[0]


def label_of(path: str) -> str:
    """What the ids below a path begin with."""
    return f"{path}/" if path else ""


def branch_label(join: str, key: str) -> str:
    """What the ids in one branch of a batch begin with."""
    return f"{join}.{key}/"


def element_label(join: str, number: int) -> str:
    """What the ids of one element of a `for_each` begin with."""
    return f"{join}[{number}]/"


def ancestors(path: str) -> tuple[str, ...]:
    """The paths from the root, which is not among them, down to this one, which is."""
    if not path:
        return ()
    parts = path.split("/")
    found = parts[:1]
    for part in parts[1:]:
        found.append(f"{found[-1]}/{part}")
    return tuple(found)


def depth(path: str) -> int:
    """How many steps a path is below the root."""
    if path:
        return path.count("/") + 1
    return 0


def is_within(path: str, top: str) -> bool:
    """Whether a path is `top` or below it."""
    return path == top or path.startswith(f"{top}/")


def undo_id(call: str) -> str:
    """The id of a call's undo."""
    return f"{call}!undo"


def compensation_id(call: str, number: int) -> str:
    """The id of what a call's body registered with `on_cancel`."""
    return f"{call}!cancel{number}"


def is_undo(id: str) -> bool:
    """Whether this call takes another one back: `2.0!undo`, `2.0!cancel0`."""
    return "!" in id


def undo_target(id: str) -> str:
    """The call that an undo takes back."""
    return id.partition("!")[0]


def compensation_number(id: str) -> int | None:
    """Which compensation of its call this undo is; None if it is the tool's own undo."""
    suffix = id.partition("!")[2]
    if suffix.startswith("cancel"):
        return int(suffix.removeprefix("cancel"))
    return None


def natural_key(id: str) -> list[tuple[int, str]]:
    """A sort key for which call 2.10 comes after call 2.9."""
    return [(int(part), "") if part.isdecimal() else (0, part) for part in re.split(r"(\d+)", id)]


# Steps.


class StepIdKind(StrEnum):
    """What a step is."""

    CALL = "call"
    MODEL = "model"
    SUMMARY = "summary"
    VERIFY = "verify"
    CHECK = "check"
    INPUT = "input"
    OUTPUT = "output"
    POISON = "poison"
    GRAPH = "graph"
    LIMIT = "limit"


POISON, GRAPH = StepIdKind.POISON.value, StepIdKind.GRAPH.value
_ABOUT_PATH = (StepIdKind.MODEL, StepIdKind.SUMMARY, StepIdKind.INPUT, StepIdKind.OUTPUT)
_ABOUT_CALL = (StepIdKind.VERIFY, StepIdKind.CHECK)


class StepId(msgspec.Struct, frozen=True, gc=False):
    """The id of a step. `call` is the call that it is of or about, `path` where it stands, `limit`
    the text of a limit.

    The text of a limit is that of a stop condition and may contain anything: what is nothing else
    is a limit.
    """

    kind: StepIdKind
    call: str = ""
    path: str = ""
    limit: str = ""

    @classmethod
    def parse(cls, text: str) -> "StepId":
        """Read an id. There is none that it refuses."""
        kind, colon, rest = text.partition(":")
        if colon and kind in _ABOUT_PATH:
            return cls(StepIdKind(kind), path=rest)
        if colon and kind in _ABOUT_CALL:
            return cls(StepIdKind(kind), rest, path_of(rest))
        if text in (POISON, GRAPH):
            return cls(StepIdKind(text))
        if is_call(text):
            return cls(StepIdKind.CALL, text, path_of(text))
        # From the right: the text of a limit may have colons of its own.
        limit, colon, path = text.rpartition(":")
        if limit and is_call(path):
            return cls(StepIdKind.LIMIT, path=path, limit=limit)
        return cls(StepIdKind.LIMIT, limit=text)

    def __str__(self) -> str:
        if self.kind in _ABOUT_PATH:
            return f"{self.kind}:{self.path}"
        if self.kind in _ABOUT_CALL:
            return f"{self.kind}:{self.call}"
        if self.kind is StepIdKind.LIMIT:
            return limit_step(self.limit, self.path)
        return self.call or self.kind


def model_step(path: str) -> str:
    """The model call of the agent at a path."""
    return f"model:{path}"


def summary_step(path: str) -> str:
    """The model call for a summary of the conversation at a path."""
    return f"summary:{path}"


def verify_step(call: str) -> str:
    """The question to the world about a call."""
    return f"verify:{call}"


def check_step(call: str) -> str:
    """The question to hooks before a call begins."""
    return f"check:{call}"


def limit_step(limit: str, path: str = "") -> str:
    """A limit of the agent at a path, of the run itself without one."""
    if path:
        return f"{limit}:{path}"
    return limit


def limits_at(steps: dict[str, float], path: str) -> dict[str, float]:
    """What is said about the limits of the agent at this path, by their texts."""
    end = f":{path}"
    return {step.removesuffix(end): value for step, value in steps.items() if step.endswith(end)}


# Interrupts.


def question_id(of: str, number: int) -> str:
    """The local id of a question.

    Args:
        of: the call or the step that it is of.
        number: how many questions that has had before.
    """
    return f"{of}?{number}"


def question_of(local: str) -> str:
    """The call or the step that a generated local id is of; "" if it was given."""
    return local.rpartition("?")[0]


def again_id(name: str, number: int) -> str:
    """The name of what is asked anew under a name that its author gave."""
    return f"{name}~{number}"


def ref_of(run: str, local: str) -> str:
    """An interrupt's name that is unique in the store.

    Args:
        run: its run's id.
        local: its id inside the run.
    """
    return f"{run}:{local}"


def public_id(run: str, local: str) -> str:
    """An interrupt's `id`: qualified by its run if it was generated, as its author wrote it if it
    was given."""
    # As `is_given` and `ref_of` say, without calling them: a page of an inbox asks this for each of
    # its rows.
    if "?" in local or ":" in local or not local:
        return f"{run}:{local}"
    return local


def local_of(run: str, id: str) -> str:
    """An interrupt's local id, from any of its names.

    Args:
        run: its run's id.
        id: its local id, its `id` or its `ref`.
    """
    return id.removeprefix(f"{run}:")


def split_ref(text: str) -> tuple[str, str] | None:
    """A ref as (run, local id); None if it is none. Only a local id may have a colon (`model:?0`)."""
    run, _, local = text.partition(":")
    if run and local:
        return (run, local)
    return None


def split_address(text: str) -> tuple[str, str] | None:
    """`RUN/CALL`, as people write where an interrupt is, as (run, call); None if it is not written
    so."""
    run, slash, call = text.partition("/")
    return (run, call) if slash else None


def is_given(local: str) -> bool:
    """Whether an interrupt's local id was given by its author; a generated one means nothing
    outside of its run."""
    return bool(local) and "?" not in local and ":" not in local


def places_of(name: str, run: str | None = None) -> list[tuple[str, str]]:
    """Where an interrupt of this name may be, as (run, local id), in the order in which to look;
    run "": in any.

    Args:
        name: its ref or its `id`; with `run`, also its local id.
        run: the only run in which to look.
    """
    if run is not None:
        found: list[tuple[str, str]] = []
        for local in dict.fromkeys((name, local_of(run, name))):
            if run and local:
                found.append((run, local))
        return found
    if ref := split_ref(name):
        return [ref]
    if is_given(name):
        return [("", name)]
    return []


# Events.


def local_event(event: str) -> str:
    """An event's own name: a sub-flow's are recorded behind the flow's label, so that each flow has
    its own events."""
    return event.rpartition("/")[2]


def split_event(event: str) -> tuple[str, str]:
    """An event as (the label of its flow, its own name)."""
    path, slash, name = event.rpartition("/")
    return path + slash, name


# Forks, workers and requests.


def fork_id(run: str, seq: int) -> str:
    """What a fork says it is of: the run, and the record after which it was cut."""
    return f"{run}@{seq}"


def parse_fork(text: str) -> tuple[str, int]:
    """What a fork is of, as (run, seq); ("", 0) of a run that is none."""
    run, _, seq = text.rpartition("@")
    return run, int(seq) if text else 0


def request_part(request: str, of: str) -> str:
    """The id of one of the commands of a request, so that the request can be sent again whole.

    Args:
        request: the request's own id.
        of: what this command is about.
    """
    return f"{request}/{of}"


def worker_prefix(machine: str) -> str:
    """How the names of the workers on a machine begin."""
    return f"{machine}|"


class WorkerId(msgspec.Struct, frozen=True):
    """The name of a worker: its machine, process, when that began, and chance; or a machine alone."""

    machine: str
    pid: str = ""
    birth: str = ""
    unique: str = ""

    @classmethod
    def parse(cls, text: str) -> "WorkerId":
        """Read a name. There is none that it refuses."""
        return cls(*[*text.split("|", 3), "", "", ""][:4])

    def __str__(self) -> str:
        return f"{self.machine}|{self.pid}|{self.birth}|{self.unique}"

    @property
    def host(self) -> str:
        """The name of its machine, as people know it."""
        return self.machine.partition("/")[0]

    @property
    def process(self) -> int | None:
        """The number of its process, if it says one."""
        if self.pid.isascii() and self.pid.isdigit():
            return int(self.pid)
        return None
