"""`adjourn policies`: which rules asked, and what came of it."""

from tests.cli.conftest import Run


def test_the_rules_that_asked_are_listed_with_what_people_decided(adjourn: Run, waiting: str) -> None:
    assert adjourn("deny", f"{waiting}:2.0?0", "--by", "ana").code == 0
    [use] = [use for use in adjourn("policies", "--json").json["rules"] if use["denied"]]
    assert (use["agent"], use["denied"], use["approved"]) == ("refunds", 1, 0)
    shown = adjourn("policies", "--since", "7d")
    assert shown.code == 0 and "DENIED" in shown.out and use["rule"] in shown.out
    assert adjourn("policies", "--since", "soon").code != 0
