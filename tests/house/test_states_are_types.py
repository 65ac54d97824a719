"""A field that takes one of a few words says which: its type is an enum or a `Literal`, not `str`."""

import ast
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "adjourn"
NO_PART = ("testing", "demo")
"""What is told of there is made up, and says nothing of the words that a field may take."""
TEXT = {"str", "str | None"}
A_WORD = re.compile(r"[a-z]+(_[a-z]+)*")

EFFECT = "a word of `Effect`, which stands beside it: records and tools keep it as text"
KIND = "a checkpoint, a row or a record of a run: `ProgramKind` is of the views, above it"
ROLE = "it comes from the table of users, and `checked_role` reads it"
FAILURE = "an open set: a provider, a tool or an author's exception names its kind"
AUDITED = "a line of the audit, which keeps the words of every version"
ASKED = "what a caller filters by: a word that nothing has finds nothing"
SENTENCE = "a sentence or a name; a field of another class has these words"
PARSED = "it is read from outside, and compared with what is expected there"

FREE: dict[str, str] = {
    "Activity.kind": "empty for what is no interrupt; `shown_kind` gives more words to some",
    "Answer.kind": SENTENCE,
    "Asked.action": SENTENCE,
    "Asked.effect": EFFECT,
    "AuditEntry.verb": AUDITED,
    "AuditEntry.verdict": AUDITED,
    "AuditFilter.verb": ASKED,
    "Call.effect": EFFECT,
    "Call.of": SENTENCE,
    "CallView.effect": EFFECT,
    "CheckpointView.kind": KIND,
    "ClosedView.why": "a verdict or a reason, and verdicts are stored as text",
    "Decided.scope": "old records say `once` by saying nothing",
    "DecisionResult.status": PARSED,
    "Doubted.effect": EFFECT,
    "Doubted.why": SENTENCE,
    "Envelope.kind": KIND,
    "Erased.kind": KIND,
    "Failures.kind": FAILURE,
    "Faulted.kind": FAILURE,
    "Filter.kind": ASKED,
    "Filter.status": ASKED,
    "Finding.name": SENTENCE,
    "Identity.name": SENTENCE,
    "Intended.effect": EFFECT,
    "Intended.why": SENTENCE,
    "ItemNoteView.verb": AUDITED,
    "ModelError.kind": FAILURE,
    "OidcSettings.groups_claim": PARSED,
    "OidcSettings.name_claim": PARSED,
    "ProgramView.kind": KIND,
    "ResponseEnd.kind": FAILURE,
    "Returned.why": FAILURE,
    "RoleGrant.role": ROLE,
    "RunRested.status": PARSED,
    "RunRow.kind": KIND,
    "Started.kind": KIND,
    "Submitted.ended": FAILURE,
    "Suspended.type": "authors name the types of their questions",
    "TimelineStep.name": SENTENCE,
    "User.role": ROLE,
    "UserRow.role": ROLE,
    "Wait.kind": AUDITED,
    "Wait.verdict": AUDITED,
}
"""Fields that are text all the same, and why."""


@cache
def modules() -> list[ast.Module]:
    found = sorted(SOURCE.rglob("*.py"))
    chosen = [path for path in found if path.relative_to(SOURCE).parts[0] not in NO_PART]
    return [ast.parse(path.read_text(encoding="utf-8")) for path in chosen]


def words(node: ast.AST) -> set[str]:
    """The words that an expression may give, written out in it."""
    match node:
        case ast.Constant(value=str(text)) if A_WORD.fullmatch(text):
            return {text}
        case ast.Tuple(elts=parts) | ast.Set(elts=parts) | ast.List(elts=parts):
            return {word for part in parts for word in words(part)}
        case ast.IfExp(body=one, orelse=other):
            return words(one) | words(other)
        case ast.MatchOr(patterns=parts):
            return {word for part in parts for word in words(part)}
        case ast.MatchValue(value=value):
            return words(value)
        case _:
            return set()


def compared(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Each attribute that is compared with a word, and the word."""
    for node in ast.walk(tree):
        match node:
            case ast.Compare(left=ast.Attribute(attr=name), comparators=others):
                yield from ((name, word) for other in others for word in words(other))
            case ast.Match(subject=ast.Attribute(attr=name), cases=cases):
                yield from ((name, word) for case in cases for word in words(case.pattern))
            case ast.MatchClass(kwd_attrs=names, kwd_patterns=patterns):
                for name, pattern in zip(names, patterns, strict=True):
                    yield from ((name, word) for word in words(pattern))
            case _:
                pass


def given(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Each `Class.field` that is given a word where one is made, and the word."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        maker = node.func.attr if isinstance(node.func, ast.Attribute) else None
        maker = node.func.id if isinstance(node.func, ast.Name) else maker
        for keyword in node.keywords:
            yield from ((f"{maker}.{keyword.arg}", word) for word in words(keyword.value))


def text_fields(tree: ast.Module) -> Iterator[tuple[str, str, set[str]]]:
    """Class and name of each field that may be any text, and the word that it is unless told."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.ClassDef):
            continue
        for field in node.body:
            if isinstance(field, ast.AnnAssign) and ast.unparse(field.annotation) in TEXT:
                default = words(field.value) if field.value is not None else set[str]()
                yield node.name, ast.unparse(field.target), default


def named(tree: ast.Module) -> set[str]:
    """The classes that a module makes, or speaks of."""
    made = {node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
    return made | {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}


def loose_fields(trees: Iterable[ast.Module]) -> dict[str, set[str]]:
    """The fields that may be any text, and of which the source expects some words: it makes one with
    a word, or compares one where it speaks of the class."""
    expected: dict[str, set[str]] = {}
    for tree in trees:
        for name, word in compared(tree):
            for owner in named(tree):
                expected.setdefault(f"{owner}.{name}", set()).add(word)
        for field, word in given(tree):
            expected.setdefault(field, set()).add(word)
    found: dict[str, set[str]] = {}
    for tree in trees:
        for owner, name, default in text_fields(tree):
            field = f"{owner}.{name}"
            if known := default | expected.get(field, set()):
                found[field] = known
    return found


@cache
def states_as_text() -> dict[str, set[str]]:
    return loose_fields(modules())


def test_a_field_that_takes_one_of_a_few_words_names_them_in_its_type() -> None:
    loose = {field: sorted(known) for field, known in states_as_text().items() if field not in FREE}
    assert not loose, "\n".join(f"{field}: {', '.join(known)}" for field, known in loose.items())


def test_whatever_is_text_all_the_same_would_be_found() -> None:
    assert sorted(FREE) == sorted(set(FREE) & set(states_as_text())), "an exception that holds for nothing"


def test_a_state_as_text_is_found_by_its_default_by_what_makes_it_and_by_what_compares_it() -> None:
    source = """
class Door:
    name: str
    state: str = "open"
    lock: str
    light: str

def shut(door: Door) -> Door:
    match door.light:
        case "red" | "green":
            return Door(name="The front door", lock="bolt" if door.lock else "chain")
"""
    found = loose_fields([ast.parse(source)])
    assert found == {"Door.state": {"open"}, "Door.lock": {"bolt", "chain"}, "Door.light": {"red", "green"}}
