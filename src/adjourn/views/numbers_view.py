"""What runs did in a time, as numbers: how many, how they ended, what they cost, and how long people
let them wait."""

import msgspec


class WaitNumbers(msgspec.Struct, frozen=True, kw_only=True):
    """Questions to people. `asked` is the sum of `answered`, `expired`, `dropped` and `open`, and
    `answered` that of the six from `approved` to `told`. `instead`: a person gave the result in the
    place of the tool; `told`: any other answer. `stood`: calls that a standing decision answered;
    no one was asked. `half` and `slow`: the seconds within which half of the answers came, and all
    but the slowest 5 %; None without an answer."""

    asked: int
    answered: int
    expired: int
    dropped: int
    open: int
    approved: int
    edited: int
    denied: int
    instead: int
    dismissed: int
    told: int
    stood: int
    half: float | None
    slow: float | None


class RunNumbers(msgspec.Struct, frozen=True, kw_only=True):
    """Runs that began in a time, or those of them of one agent, with all that they did since. `at`
    is when the time begins. `estimated`: of how many the cost is not what a provider said."""

    name: str
    at: float
    runs: int
    completed: int
    stopped: int
    failed: int
    cancelled: int
    open: int
    requests: int
    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
    cost: float
    estimated: int
    waits: WaitNumbers


class ToolNumbers(msgspec.Struct, frozen=True, kw_only=True):
    """Calls of a tool that ran, how many of them failed, how many seconds they took together, and
    the questions about it."""

    name: str
    calls: int
    failed: int
    took: float
    waits: WaitNumbers


class AnswerNumbers(msgspec.Struct, frozen=True, kw_only=True):
    """The questions to a group, or those that a person answered."""

    name: str
    waits: WaitNumbers


class NumbersView(msgspec.Struct, frozen=True, kw_only=True):
    """The numbers of the runs that began from `since` to before `until`. `step`: the seconds of one
    of `times`. `complete`: every run that rests is counted as it is now. `people` is None where
    times of single people are not given."""

    since: float
    until: float
    step: int
    counted_at: float
    complete: bool
    total: RunNumbers
    times: tuple[RunNumbers, ...]
    agents: tuple[RunNumbers, ...]
    tools: tuple[ToolNumbers, ...]
    groups: tuple[AnswerNumbers, ...]
    people: tuple[AnswerNumbers, ...] | None
