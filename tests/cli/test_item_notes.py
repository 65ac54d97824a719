"""`assign`, `snooze`, `comment`: what people leave on an item is shown with it, and told in the audit."""

import pytest
from tests.cli.conftest import Run


def test_what_was_left_on_an_item_is_shown_with_it(adjourn: Run, waiting: str) -> None:
    assert adjourn("assign", waiting, "group:leads", "--by", "ana").out.startswith("Assigned to group:leads.")
    assert adjourn("comment", waiting, "are there photos?", "--by", "ana").out.startswith("Commented.")
    shown = adjourn("inbox", waiting)
    assert "group:leads" in shown.out and "ana" in shown.out and "are there photos?" in shown.out
    data = adjourn("inbox", waiting, "--json").json
    assert (data["assigned_to"], data["notes"][-1]["text"]) == ("group:leads", "are there photos?")


def test_a_snooze_says_when_the_item_comes_back(adjourn: Run, waiting: str) -> None:
    said = adjourn("snooze", waiting, "2h", "--by", "ana", "--json")
    assert said.code == 0 and said.json["snoozed_until"] > 0
    assert adjourn("snooze", waiting, "now", "--by", "ana", "--json").json["snoozed_until"] is None
    wrong = adjourn("snooze", waiting, "yesterday", "--by", "ana")
    assert wrong.code != 0 and "Not snoozed" in wrong.err


def test_an_assignment_needs_somebody_or_is_taken_back(adjourn: Run, waiting: str) -> None:
    assert adjourn("assign", waiting, "--by", "ana").code != 0
    assert adjourn("assign", waiting, "erik", "--by", "ana").code == 0
    assert adjourn("assign", waiting, "--nobody", "--by", "ana").code == 0
    assert adjourn("inbox", waiting, "--json").json["assigned_to"] == ""


def test_the_audit_tells_each_note(adjourn: Run, waiting: str) -> None:
    adjourn("assign", waiting, "erik", "--by", "ana")
    adjourn("comment", waiting, "ask for photos", "--by", "erik")
    told = adjourn("audit").out
    assert "ana assigned refund" in told and "to erik" in told
    assert "erik commented on refund" in told and "ask for photos" in told


def test_where_there_are_users_only_they_and_their_groups_are_given_an_item(
    adjourn: Run, waiting: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = adjourn("user", "add", "ana", "--role", "approver", "--group", "finance").out.strip()
    adjourn("user", "add", "vic", "--role", "viewer")
    monkeypatch.setenv("ADJOURN_KEY", key)
    for to in ("anna", "vic", "group:finances"):
        said = adjourn("assign", waiting, to)
        assert said.code == 2 and "person who can decide" in said.err, to
    assert "Did you mean 'ana'?" in adjourn("assign", waiting, "anna").err
    for to in ("ana", "group:finance"):
        assert adjourn("assign", waiting, to).code == 0
