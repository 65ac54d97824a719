"""`adjourn requests`: what the models of a run were sent, and the proof."""

import hashlib

from tests.cli.conftest import Run


def test_every_request_is_listed_with_its_proof(adjourn: Run, waiting: str) -> None:
    said = adjourn("requests", waiting)
    head, *lines = said.out.splitlines()
    assert said.code == 0
    assert head.split() == ["RECORD", "WHAT", "AGENT", "MODEL", "MESSAGES", "PROOF", "DIGEST"]
    assert [line.split()[1:3] for line in lines] == [["reply", "refunds"]] * 2
    assert all("as sent" in line for line in lines)
    assert "2 requests." in said.err and f"adjourn requests {waiting[:9]}" in said.err
    assert "without proof" not in said.err


def test_one_of_them_is_shown_whole(adjourn: Run, waiting: str) -> None:
    first, second = adjourn("requests", waiting, "--json").json
    assert (first["messages"], second["messages"]) == (1, 3)
    said = adjourn("requests", waiting, "--at", str(second["seq"]))
    assert said.out.splitlines()[0] == f"as sent  sha256:{second['digest']}"
    assert "user  Order 4417 arrived broken" in said.out
    assert 'assistant calls get_order  "4417"' in said.out
    assert "tool  refund" in said.out
    seen = adjourn("requests", waiting, "--at", str(second["seq"]), "--json").json
    assert seen["request"]["messages"][0] == {"type": "user", "text": "Order 4417 arrived broken"}
    assert "get_order" in [tool["name"] for tool in seen["request"]["tools"]]


def test_its_lines_have_the_digest(adjourn: Run, waiting: str) -> None:
    for one in adjourn("requests", waiting, "--json").json:
        lines = adjourn("requests", waiting, "--at", str(one["seq"]), "--lines").out
        assert hashlib.sha256(lines.encode()).hexdigest() == one["digest"]
        assert len(lines.splitlines()) == one["messages"] + 1


def test_what_is_no_request_is_refused(adjourn: Run, waiting: str) -> None:
    said = adjourn("requests", waiting, "--at", "1")
    assert said.code == 1 or said.code == 2
    assert "record 1" in said.err and "is not a model's reply" in said.err
    said = adjourn("requests", waiting, "--lines")
    assert said.code == 2 and "select it with --at RECORD" in said.err
