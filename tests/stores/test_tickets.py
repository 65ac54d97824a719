"""Tickets: whatever workers do, and however often they die, no more calls of a tool are at work than its limit says."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjourn.stores.tickets import (
    AGAIN,
    STALE,
    TicketAnswer,
    TicketRequest,
    ToolLimit,
    ToolTickets,
    parsed_tickets,
    stand,
    tickets_text,
)

TOOL = "refund"
Move = tuple[str, int]


class Fleet:
    """Runs whose workers ask, end their calls, and die; and what a store keeps of that."""

    def __init__(self, limit: ToolLimit) -> None:
        self.limit, self.now, self.kept = limit, 1_000.0, ""
        self.epochs: dict[int, int] = {}
        self.at_work: dict[int, set[str]] = {}
        self.calls: dict[int, int] = {}
        self.begun: list[float] = []

    def found(self) -> ToolTickets:
        return parsed_tickets(self.kept).get(TOOL, ToolTickets())

    def say(self, run: int, *wants: str) -> TicketAnswer:
        request = TicketRequest(
            f"r{run}",
            self.epochs.setdefault(run, 1),
            running=tuple((TOOL, call) for call in sorted(self.at_work.setdefault(run, set()))),
            wants=tuple((TOOL, call) for call in wants),
            limits={TOOL: self.limit},
        )
        after, answer = stand(parsed_tickets(self.kept), request, self.now)
        self.kept = tickets_text(after)
        return answer

    def ask(self, run: int) -> bool:
        """For the next call of this run, until it has begun."""
        call = f"1.{self.calls.setdefault(run, 0)}"
        if not self.say(run, call).granted:
            return False
        self.at_work[run].add(call)
        self.calls[run] += 1
        self.begun.append(self.now)
        return True

    def end(self, run: int) -> None:
        """One of its calls, and say so."""
        if self.at_work.setdefault(run, set()):
            self.at_work[run].remove(min(self.at_work[run]))
        self.say(run)

    def die(self, run: int) -> None:
        """Its worker, and another one takes the run over."""
        self.at_work[run] = set()
        self.epochs[run] = self.epochs.get(run, 1) + 1
        self.say(run)

    def play(self, moves: Sequence[Move]) -> None:
        for name, run in moves:
            if name == "wait":
                self.now += run + 0.25
            else:
                {"ask": self.ask, "end": self.end, "die": self.die}[name](run)
            self.check()

    def check(self) -> None:
        working = sum(map(len, self.at_work.values()))
        assert working <= len(self.found().held)
        if self.limit.most:
            assert len(self.found().held) <= self.limit.most
        if self.limit.rate:
            recent = [at for at in self.begun if self.now - at < self.limit.per]
            assert len(recent) <= self.limit.rate


moves = st.lists(
    st.tuples(st.sampled_from(["ask", "ask", "ask", "end", "die", "wait"]), st.integers(0, 3)), max_size=40
)
limits = st.builds(ToolLimit, st.integers(0, 3), st.integers(0, 3), st.sampled_from([1.0, 5.0]))


@given(limits, moves)
def test_no_more_calls_are_at_work_or_begin_than_a_limit_says_whoever_dies(limit: ToolLimit, moves: list[Move]) -> None:
    Fleet(limit).play(moves)


@given(st.integers(1, 3), moves)
def test_when_all_calls_have_ended_the_next_one_begins(most: int, moves: list[Move]) -> None:
    fleet = Fleet(ToolLimit(most))
    fleet.play(moves)
    for run, calls in fleet.at_work.items():
        while calls:
            fleet.end(run)
    fleet.now += STALE
    assert fleet.found().held == ()
    assert fleet.ask(9)


def test_who_came_first_is_served_first() -> None:
    fleet = Fleet(ToolLimit(1))
    assert [fleet.ask(run) for run in (0, 1, 2)] == [True, False, False]
    fleet.end(0)
    assert [fleet.ask(2), fleet.ask(1), fleet.ask(2)] == [False, True, False]
    assert [ticket.run for ticket in fleet.found().waiting] == ["r2"]


def test_who_asks_no_longer_holds_nobody_up() -> None:
    fleet = Fleet(ToolLimit(1))
    assert [fleet.ask(run) for run in (0, 1, 2)] == [True, False, False]
    fleet.end(0)
    fleet.now += STALE
    assert fleet.ask(2)


def test_the_tickets_of_a_worker_that_died_are_free_when_its_run_is_taken_over() -> None:
    fleet = Fleet(ToolLimit(1))
    assert fleet.ask(0) and not fleet.ask(1)
    fleet.die(0)
    assert fleet.ask(1)


def test_a_worker_whose_run_was_taken_over_gets_nothing_and_takes_nothing_away() -> None:
    fleet = Fleet(ToolLimit(2))
    fleet.epochs[0] = 2
    assert fleet.ask(0)
    fleet.epochs[0], held = 1, fleet.found().held
    assert fleet.say(0, "1.7") == TicketAnswer(wait=AGAIN)
    assert fleet.found().held == held


def test_the_same_request_again_counts_once() -> None:
    fleet = Fleet(ToolLimit(most=2, rate=2))
    assert fleet.say(0, "1.0").granted == fleet.say(0, "1.0").granted == ("1.0",)
    assert len(fleet.found().held) == len(fleet.found().starts) == 1


def test_who_waits_is_told_for_what_and_when_to_ask_again() -> None:
    fleet = Fleet(ToolLimit(rate=1, per=2.0))
    assert fleet.ask(0)
    fleet.end(0)
    fleet.now += 0.5
    assert fleet.say(1, "1.0") == TicketAnswer(full=(TOOL,), wait=1.5)
    fleet.now += 1.5
    assert fleet.ask(1)


@pytest.mark.parametrize(("limit", "wait"), [(ToolLimit(1), STALE), (ToolLimit(rate=1, per=60.0), 60.0)])
def test_a_clock_that_is_set_back_holds_nobody_up_longer_than_the_limit_says(limit: ToolLimit, wait: float) -> None:
    fleet = Fleet(limit)
    assert [fleet.ask(0), fleet.ask(1)] == [True, False]
    fleet.end(0)
    fleet.now -= 3600.0
    assert not fleet.ask(2), "nothing is forgotten at once"
    fleet.now += wait
    assert fleet.ask(2)
