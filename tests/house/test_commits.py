"""A commit's subject says in the imperative what changes, in less than 72 characters."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SINCE = "674fe44c374f6b47ae738ee42a5823289df58bf2"
"""From here on; of what was committed before, a tenth is longer."""
LONGEST = 71
SUBJECT = re.compile(r"(?P<rooms>[A-Za-z][\w., -]*): (?P<verb>[a-z]+)( .*[^.\s])?")
NO_VERB = re.compile(r"(?:[^s]s|ing|ed)$")
"""How a word ends that is no imperative: fixes, fixing, fixed."""
VERBS = {"bring", "need", "feed", "ring", "string", "embed", "shed", "seed", "focus", "canvas", "alias", "bias"}


def subjects() -> list[str]:
    """Of the commits since then, without merges; of the newest alone where the history is cut off."""

    def log(*what: str) -> subprocess.CompletedProcess[str]:
        command = ["git", "log", "--no-merges", "--format=%s", *what]
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    if not (ROOT / ".git").exists():
        pytest.skip("this is no checkout: a source archive has no commits")
    found = log(f"{SINCE}..HEAD")
    if found.returncode:
        found = log("-1")
    if found.returncode:
        pytest.skip(f"git does not say: {found.stderr.strip()}")
    return found.stdout.splitlines()


def wrong_with(subject: str) -> str:
    """What is wrong with a subject, or nothing."""
    if len(subject) > LONGEST:
        return f"it has {len(subject)} characters; the limit is {LONGEST}"
    parts = SUBJECT.fullmatch(subject)
    if parts is None:
        return "it is not `room: what changes`, without a full stop"
    verb = parts["verb"]
    if NO_VERB.search(verb) and verb not in VERBS:
        return f"{verb!r} is no imperative"
    return ""


def test_every_subject_says_what_changes() -> None:
    wrong = [f"{subject!r}: {why}" for subject in subjects() if (why := wrong_with(subject))]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    "subject",
    [
        "stores: fixes a leak",
        "stores: fixed a leak",
        "stores: fixing a leak",
        "stores: fix a leak.",
        "Fix a leak",
        "stores: Fix a leak",
        "stores: " + "x" * 72,
        "",
    ],
)
def test_a_subject_that_does_not_is_refused(subject: str) -> None:
    assert wrong_with(subject)


@pytest.mark.parametrize(
    "subject",
    [
        "stores: fix a leak",
        "core, driver: pass no clock",
        "docs: address a reader",
        "MCP: need no key",
        "tests: bring it back",
    ],
)
def test_a_subject_that_does_is_taken(subject: str) -> None:
    assert not wrong_with(subject)
