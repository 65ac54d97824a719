"""Asking a person at the terminal. No prompt has a default; Enter alone is ignored; keys typed
ahead are thrown away."""

import select
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeVar, cast

from rich.text import Text

from adjourn.cli.given_files import one_file
from adjourn.cli.terminal.console import err, remark, say
from adjourn.cli.terminal.format import DIM, exact
from adjourn.cli.terminal.value_rows import fields, rows, schema_word
from adjourn.core.codec import loads
from adjourn.core.decision import DecisionVerb, is_fixed
from adjourn.core.files import file_fields
from adjourn.core.interrupt import Interrupt
from adjourn.core.schema import check
from adjourn.core.secret_places import has_secrets, without_secrets
from adjourn.core.standing_decision import Standing
from adjourn.errors import Invalid, InvalidAnswer
from adjourn.views.visible import visible

T = TypeVar("T")
STDIN = "-"
"""In the place of a value: it comes from the standard input."""
POLL = 0.1
"""Seconds between two looks at whether a question still stands."""


class DecideLater(Exception):
    """The person does not decide now: they said so, or closed the input."""


class NoLongerOpen(Exception):
    """The question was taken back while the person looked at it."""


class _Prompted(threading.local):
    """What ends a question that is being asked in this thread."""

    withdrawn: threading.Event | None = None


_asked = _Prompted()


ChoiceVerb = Literal[DecisionVerb, "instead", "dismiss"]


@dataclass(frozen=True, slots=True)
class Choice:
    """What a person chose at the prompt, for the runtime's verb of that name."""

    verb: ChoiceVerb
    value: Any = None
    edit: dict[str, Any] | None = None
    scope: Literal["once", "run"] = "once"
    note: str = ""
    stands: Standing | None = None


def read(question: Text) -> str:
    """One line from the terminal that is not empty; raises `DecideLater` at the end of input."""
    while True:
        _throw_away()
        err().print(question, end="")
        sys.stderr.flush()
        line = _line()
        if not line:
            say("")
            raise DecideLater
        if line.strip():
            return line.strip()


def _line() -> str:
    """The next line; raises `NoLongerOpen` if nobody wants it any more."""
    if (withdrawn := _asked.withdrawn) is not None:
        while not _typed():
            if withdrawn.is_set():
                raise NoLongerOpen
    return sys.stdin.readline()


def _typed() -> bool:
    try:
        return bool(select.select([sys.stdin], [], [], POLL)[0])
    except (OSError, ValueError):  # not every system can wait for a terminal
        return True


def _throw_away() -> None:
    """Forget keys that were pressed before the question was there."""
    try:
        import termios

        termios.tcflush(sys.stdin, termios.TCIFLUSH)
    except (ImportError, OSError, ValueError):
        pass


def pick(words: dict[str, str], *, heading: Text | None = None) -> str:
    """One of `words` (word → what it means), typed whole or as far as it is unique; `?`
    explains."""
    line = heading or Text("  ").join(Text.assemble((word[:1], "bold"), word[1:]) for word in words)
    while True:
        typed = read(Text.assemble(line, "  ?        ", ("› ", DIM))).lower()
        found = [word for word in words if word.startswith(typed)]
        if typed in words:
            return typed
        if len(found) == 1:
            return found[0]
        for word, meaning in words.items():
            say(Text.assemble("  ", (f"{word:<10}", "bold"), visible(meaning)))


def confirm(question: str) -> bool:
    """A question that only `yes` and `no` answer."""
    while True:
        typed = read(Text.assemble(question, " ", ("yes/no › ", DIM))).lower()
        if typed in ("yes", "no"):
            return typed == "yes"


def agreed(question: str) -> bool:
    """`confirm`; whoever leaves the question has not agreed."""
    try:
        return confirm(question)
    except (DecideLater, KeyboardInterrupt):
        return False


def withdrawable(ask: Callable[[], T], withdrawn: threading.Event) -> T:
    """Ask in this thread; raises `NoLongerOpen` once the event is set."""
    _asked.withdrawn = withdrawn
    try:
        return ask()
    finally:
        _asked.withdrawn = None


def decide(interrupt: Interrupt) -> Choice:
    """Ask until the person has decided; raises `DecideLater`."""
    if interrupt.kind == "approval":
        return _approval(interrupt)
    if interrupt.kind == "question":
        return _question(interrupt)
    return _choice(interrupt)


_APPROVAL = {
    "approve": "let it run once, exactly as shown",
    "r": "let it run, also later in this run with exactly these arguments",
    "edit": "change the arguments, then approve the result",
    "deny": "do not let it run; the agent is told and continues",
    "later": "leave it as it is",
}


def _approval(interrupt: Interrupt) -> Choice:
    assert interrupt.call is not None
    tool = visible(interrupt.call.tool)
    choices = dict(_APPROVAL)
    words = [("a", "bold"), "pprove once  ", ("r", "bold"), " for this run  "]
    if is_fixed(interrupt.answer_schema):
        del choices["edit"]
    else:
        words += [("e", "bold"), "dit  "]
    heading = Text.assemble(*words, ("d", "bold"), "eny  ", ("l", "bold"), "ater")
    while True:
        match pick(choices, heading=heading):
            case "approve" if confirm(f"Approve {tool} once, exactly as shown?"):
                return Choice("approve")
            case "r" if confirm(
                f"Approve {tool} in this run whenever it has exactly these arguments?"
            ):
                return Choice("approve", scope="run")
            case "edit":
                edited = edit(interrupt.call.arguments, interrupt.answer_schema)
                if edited != interrupt.call.arguments and confirm(
                    "Approve the edited action, exactly as shown?"
                ):
                    return Choice("approve", edit=edited)
            case "deny":
                note = read(Text.assemble("Why? The agent reads it; - for no reason ", ("› ", DIM)))
                return Choice("deny", note="" if note == "-" else note)
            case "later":
                raise DecideLater
            case _:
                pass


def edit(arguments: dict[str, Any], schema: dict[str, Any] | bool | None) -> dict[str, Any]:
    """Change arguments one at a time, each checked against its schema, until `done`; then show the
    whole."""
    edited = dict(arguments)
    example = next(iter(edited), "name")
    if isinstance(schema, dict):
        known: dict[str, Any] = schema.get("properties", {})
    else:
        known = {}
    while True:
        typed = read(Text.assemble(f"Change what? {visible(example)}=…, or done ", ("› ", DIM)))
        if typed.lower() == "done":
            break
        name, found, text = (part.strip() for part in typed.partition("="))
        if not found or (name not in edited and name not in known):
            say(f"  Write NAME=VALUE; the names are {', '.join(map(visible, known or edited))}.")
            continue
        try:
            value = parse(text, known.get(name))
            check(schema, {**edited, name: value}, "edit")
        except Invalid as e:
            say(f"  {visible(str(e))}")
            continue
        edited[name] = value
    terminal = err()
    terminal.print("", *rows(list(fields(edited, schema)), terminal.width), "")
    return edited


def parse(text: str, schema: Any) -> Any:
    """What a person typed for a place of this schema: text as it is where text is wanted, else
    JSON."""
    if isinstance(schema, dict):
        wanted: Any = cast("dict[str, Any]", schema).get("type")
    else:
        wanted = None
    if file_fields(schema) == [""] and not text.startswith("{"):  # else a file of the run
        return one_file(text).ref
    if wanted == "string" and not text.startswith('"'):
        return text
    try:
        return loads(text, what="what you wrote")
    except Invalid:
        if wanted in ("integer", "number", "boolean", "array", "object", "null"):
            raise InvalidAnswer(f"{text!r} is not {schema_word(schema)}") from None
        return text


def is_secret(interrupt: Interrupt) -> bool:
    """Whether the answer to a question is one, or has one in it."""
    return interrupt.kind == "question" and has_secrets(interrupt.answer_schema)


def given_answer(interrupt: Interrupt, value: str | None, *, text: bool = False) -> Any:
    """What a command line gives as the answer. A secret is never taken from its arguments, where
    other processes and the shell's history have it: it is typed without an echo, or piped in.

    Args:
        interrupt: what is answered.
        value: of the command line; None if there is none.
        text: it is a string, even if it looks like JSON.
    """
    schema = None
    if interrupt.kind == "question":
        schema = interrupt.answer_schema
    if is_secret(interrupt):
        if value is not None and value != STDIN:
            raise Invalid(
                "the answer is a secret, and command arguments are visible to others",
                consequence=(
                    "nothing was recorded, the question stays open; your value may be in the "
                    "history of your shell"
                ),
                advice=f"omit VALUE and type it, or pipe it in with {STDIN} as VALUE",
            )
        return parse(_typed_or_piped(), schema)
    if value is None:
        raise Invalid("VALUE is missing: only a secret is typed at a prompt")
    if text:
        return value
    return parse(value, schema)


def _typed_or_piped() -> str:
    if sys.stdin.isatty():
        try:
            return read_secret()
        except DecideLater:
            raise Invalid("nothing was typed", consequence="the question stays open") from None
    piped = sys.stdin.read().removesuffix("\n")
    if not piped:
        raise Invalid("stdin was empty", advice="pipe the secret in, or run it at a terminal")
    return piped


def read_secret() -> str:
    """A line from the terminal that it does not show; raises `DecideLater` at the end of input."""
    from getpass import getpass

    while True:
        _throw_away()
        try:
            typed = getpass("answer, not shown › ")
        except EOFError:
            raise DecideLater from None
        if typed.strip():
            return typed


def _question(interrupt: Interrupt) -> Choice:
    schema = interrupt.answer_schema
    if isinstance(schema, dict) and schema.get("type") == "boolean":
        return Choice("answer", confirm("Your answer?"))
    remark(f"The answer is {schema_word(schema)}. Ctrl-D leaves it for later.")
    while True:
        if has_secrets(schema):
            typed = read_secret()
        else:
            typed = read(Text.assemble("answer ", ("› ", DIM)))
        try:
            value = _with_files(parse(typed, schema), schema)
            check(schema, value, "answer")
        except Invalid as e:
            if has_secrets(schema):
                say("  That value is not valid. It is a secret and not shown: type it again.")
            else:
                say(f"  {visible(str(e))}")
            continue
        if confirm(f"Answer {exact(without_secrets(schema, value))}?"):
            return Choice("answer", value)


def _with_files(value: Any, schema: Any) -> Any:
    """An object with the files that its schema has beside it, each asked for by its path."""
    if not isinstance(value, dict):
        return value
    made = cast("dict[str, Any]", value)
    for name in file_fields(schema):
        if name and name not in made:
            path = read(Text.assemble(f"{visible(name)}, the path of a file ", ("› ", DIM)))
            made[name] = one_file(path).ref
    return made


def _choice(interrupt: Interrupt) -> Choice:
    while True:
        name = pick({**interrupt.choices, "later": "leave it as it is"})
        if name == "later":
            raise DecideLater
        value: dict[str, Any] = {"choice": name}
        if (
            interrupt.kind == "in_doubt"
            and name == "happened"
            and "undo" not in interrupt.choices[name]
        ):
            value["result"] = _json("Its result, as JSON; null if there is none")
        if interrupt.kind == "limit" and name == "extend":
            value["amount"] = _json("By how much?")
        extra = {k: v for k, v in value.items() if k != "choice"}
        if confirm(f"{name}{' ' + exact(extra) if extra else ''}: is that right?"):
            return Choice("answer", value)


def _json(question: str) -> Any:
    while True:
        try:
            return loads(read(Text.assemble(question, " ", ("› ", DIM))), what="what you wrote")
        except Invalid as e:
            say(f"  {visible(str(e))}")
