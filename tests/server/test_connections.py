"""Who has a place: whoever keeps the server waiting gives way, whoever is served stays."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from adjourn.runtime import file_limit
from adjourn.server.connections import RESERVE, ConnectionPlace, Connections, connections_allowed


class Line:
    """Connections of which it is known who was closed."""

    def __init__(self, most: int, each: int, exempt: tuple[str, ...] = ()) -> None:
        self.all = Connections(most, each, exempt)
        self.closed: list[str] = []

    def come(self, host: str, name: str = "") -> ConnectionPlace | None:
        return self.all.enter(host, lambda: self.closed.append(name or host))


def test_an_address_that_has_its_share_takes_the_place_of_its_own_oldest() -> None:
    line = Line(most=10, each=2)
    for n in range(4):
        assert line.come("a", f"a{n}")
    assert line.come("b", "b0")
    assert line.closed == ["a0", "a1"]
    assert len(line.all) == 3


def test_when_all_places_are_taken_whoever_waited_longest_goes_whoever_they_are() -> None:
    line = Line(most=3, each=3)
    for host in ("a", "b", "c", "d", "e"):
        assert line.come(host)
    assert line.closed == ["a", "b"]


def test_whoever_is_served_stays_and_a_new_one_is_turned_away() -> None:
    line = Line(most=10, each=2)
    one, two = line.come("a"), line.come("a")
    assert one and two
    line.all.work(one)
    line.all.work(two)
    assert line.come("a") is None
    assert line.come("b") is not None
    line.all.wait(two)
    assert line.come("a", "new") is not None
    assert line.closed == ["a"]


def test_whoever_has_never_asked_goes_before_whoever_is_between_two_requests() -> None:
    line = Line(most=3, each=3)
    known = line.come("a", "known")
    assert known
    line.all.work(known)
    line.all.wait(known)
    for n in range(5):
        assert line.come("a", f"idle{n}")
    assert "known" not in line.closed
    assert len(line.closed) == 3


def test_a_proxy_has_no_share_of_its_own_only_the_whole() -> None:
    line = Line(most=10, each=2, exempt=("10.0.0.1",))
    for _ in range(10):
        assert line.come("10.0.0.1")
    assert line.closed == []
    assert line.come("10.0.0.1") is not None
    assert len(line.closed) == 1


def test_one_ipv6_network_is_one_address() -> None:
    line = Line(most=10, each=2)
    for n in range(5):
        line.come(f"2001:db8::{n}")
    assert len(line.all) == 2


@given(st.lists(st.tuples(st.sampled_from(["enter", "work", "wait", "leave"]), st.integers(0, 3), st.integers(0, 30))))
def test_the_books_are_always_right(steps: list[tuple[str, int, int]]) -> None:
    """Never more than allowed, in all and for each; what was closed is forgotten; whoever works is never closed."""
    connections, there, working = Connections(6, 3), list[ConnectionPlace](), set[ConnectionPlace]()

    def come(host: str) -> None:
        place: Any = None

        def close() -> None:
            assert place not in working
            there.remove(place)

        place = connections.enter(host, close)
        if place is not None:
            there.append(place)

    for verb, host, which in steps:
        if verb == "enter":
            come(f"host{host}")
        elif there:
            place = there[which % len(there)]
            getattr(connections, verb)(place)
            (working.add if verb == "work" else working.discard)(place)
            if verb == "leave":
                there.remove(place)
                connections.leave(place)  # once more changes nothing
        assert len(connections) == len(there) <= 6
        assert all(sum(p.client == f"host{n}" for p in there) <= 3 for n in range(4))
    for place in list(there):
        connections.leave(place)
    assert not connections._count and not connections._waiting and not connections._waiting_of


def test_connections_leave_files_for_everything_else(monkeypatch: Any) -> None:
    for limit, expected in ((1024, 1024 - RESERVE), (256, 56), (RESERVE, 1), (100_000, 4000)):
        monkeypatch.setattr(file_limit, "files_allowed", lambda limit=limit: (limit, limit))
        assert connections_allowed(4000) == expected
        assert expected < max(2, limit - 100)


def test_the_limit_of_files_is_raised_and_never_lowered() -> None:
    soft, hard = file_limit.files_allowed()
    assert file_limit.allow_files(1) == soft
    assert file_limit.allow_files(min(soft + 10, hard)) == min(soft + 10, hard)
