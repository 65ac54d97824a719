"""What is one of a few words is listed once: kinds, effects, choices, verbs, expiry, roles, rights and topics.

Whatever else needs them derives them from that table. Words for people stand beside it, in `views/words.py`: with its keys,
no more and no less.
"""

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple, get_args

import pytest

from adjourn.cli import decision_result
from adjourn.cli.terminal.prompt import ChoiceVerb
from adjourn.core import decision, interrupt, interrupt_kind
from adjourn.core.effect import Effect, EffectName
from adjourn.stores import outbox
from adjourn.views import audit_words, decision_view, words

PACKAGE = Path(__file__).parents[2] / "src" / "adjourn"
FEW = 3
"""So many members are a listing, or all of a table that is shorter."""


class Table(NamedTuple):
    """The members of a table, where they are listed, and where there are words for each of them."""

    members: tuple[str, ...]
    home: str
    worded: tuple[str, ...] = ()


WORDS = "views/words.py"
TABLES = {
    "kinds": Table(interrupt_kind.KINDS, "core/interrupt_kind.py", (WORDS, "views/audit_words.py")),
    "kinds for nobody": Table(interrupt_kind.NOT_FOR_PEOPLE, "core/interrupt_kind.py"),
    "kinds of calls": Table(interrupt_kind.OF_CALLS, "core/interrupt_kind.py"),
    "expiry": Table(interrupt_kind.EXPIRY_ACTIONS, "core/interrupt_kind.py", (WORDS,)),
    "effects": Table(get_args(EffectName), "core/effect.py", (WORDS,)),
    "decisions": Table(
        (*decision.WORDS, "answer"), "core/decision.py", ("views/decision_view.py", "cli/decision_result.py")
    ),
    "roles": Table(get_args(words.Role), WORDS),
    "rights": Table(get_args(words.Right), WORDS),
    "topics": Table(outbox.TOPICS, "stores/outbox.py", (WORDS,)),
    **{
        f"choices of {kind}": Table(tuple(found), "core/interrupt.py", (WORDS,))
        for kind, found in interrupt.CHOICES.items()
        if len(found) >= FEW
    },
}
UNHEEDED = ("testing/",)
"""What says what is expected says it in full."""
EXCEPTIONS: dict[tuple[str, str], str] = {
    ("kinds", "core/interrupt.py"): "what may be chosen, by kind: it is the table of choices",
    ("kinds", "core/decision_effects.py"): "what a decision does, a function for each kind",
    ("kinds", "views/activity.py"): "the kinds whose payload is a text",
    ("decisions", "core/record_parts.py"): "what is recorded, of which the words are made",
    ("decisions", "core/answer.py"): "what each is recorded as, if it is of no call",
    ("decisions", "runtime/joint_decisions.py"): "the decisions that say the same of several interrupts",
    ("decisions", "runtime/numbers.py"): "the decisions that are counted apart",
    ("decisions", "stores/rules/commands.py"): "the decisions that a kind takes",
    ("decisions", "views/policy_view.py"): "the decisions on approvals, under the words that they are counted as",
}
"""Listings that may be, by table and file, with the reason."""


def listed(node: ast.AST) -> set[str]:
    """The strings of a tuple, a list, a set, a `Literal`, or of a dictionary's keys."""
    match node:
        case ast.Dict(keys=parts):
            pass
        case ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Set(elts=parts):
            pass
        case _:
            return set()
    return {part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str)}


def listings(source: str) -> Iterator[tuple[int, str]]:
    """The lines that list one of the tables, and which: enough of its members, and little else."""
    for node in ast.walk(ast.parse(source)):
        if not (found := listed(node)):
            continue
        for name, table in TABLES.items():
            common = found & {*table.members}
            if len(common) >= min(FEW, len(table.members)) and 2 * len(common) > len(found):
                yield getattr(node, "lineno", 0), name


def sources() -> Iterator[tuple[str, str]]:
    for path in sorted(PACKAGE.rglob("*.py")):
        file = path.relative_to(PACKAGE).as_posix()
        if not file.startswith(UNHEEDED):
            yield file, path.read_text("utf-8")


def second_listings(files: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str, int]]:
    """Every listing of a table that is neither in its home nor beside its words."""
    for file, source in files:
        for line, name in listings(source):
            if file not in (TABLES[name].home, *TABLES[name].worded):
                yield name, file, line


def test_every_table_is_listed_once() -> None:
    found = [
        f"src/adjourn/{file}:{line} lists {name} again: derive it from {TABLES[name].home}"
        for name, file, line in second_listings(sources())
        if (name, file) not in EXCEPTIONS
    ]
    assert not found, "\n".join(found)


def test_every_exception_is_needed() -> None:
    assert {*EXCEPTIONS} == {(name, file) for name, file, _ in second_listings(sources())} & {*EXCEPTIONS}


@pytest.mark.parametrize(
    "source",
    [
        'ROLES = ("viewer", "operator", "approver")',
        'KIND = {"enum": ["approval", "question", "limit", "error"]}',
        'kind: Literal["question", "event", "timer"]',
        'if kind in ("event", "timer"): ...',
        'EXPIRY = {"deny": 1, "cancel": 2, "escalate": 3}',
    ],
)
def test_a_second_listing_is_found(source: str) -> None:
    assert [*second_listings([("cli/some.py", source)])]


def test_words_have_the_keys_of_their_table() -> None:
    assert {*words.KINDS} == {*interrupt_kind.KINDS}
    assert {*words.EXPIRY} == {*interrupt_kind.EXPIRY_ACTIONS}
    assert {*words.EFFECTS} == {*get_args(EffectName)} == {*Effect}
    assert {*words.ROLES} == {*words.RIGHTS} == {*get_args(words.Role)}
    assert {*words.TOPICS} == {*outbox.TOPICS}
    assert frozenset[str]().union(*words.RIGHTS.values()) == {*get_args(words.Right)}
    assert {*audit_words.KINDS} == {*interrupt_kind.TROUBLE}
    assert {*decision_result.VERB_WORDS} == {*get_args(ChoiceVerb)}
    assert {*decision_view._VERDICTS} == {*decision.WORDS}  # pyright: ignore[reportPrivateUsage]


def test_words_have_every_choice_of_their_kind() -> None:
    asked = interrupt.CHOICES
    shown = {
        "in_doubt": {*asked["in_doubt"]},
        "in_doubt_undoing": {*asked["in_doubt!"]},
        "limit": {*asked["limit"], *asked["check"]},
        "error": {*asked["error"], *asked["error_answered"]},
        "undo": {*asked["undo"]},
    }
    assert {kind: {*found} for kind, found in words.CHOICES.items()} == shown
