"""The commands that are printed for a person to type: whole, quoted for a shell, so that they can
be pasted."""

import os
import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any, cast

from typer._click.core import ParameterSource
from typer._click.globals import get_current_context

from adjourn.cli.opened_database import DEFAULT
from adjourn.cli.tenant_option import FOR_TENANTS, tenant
from adjourn.cli.tenant_option import VARIABLE as TENANT
from adjourn.core.failure_likeness import likeness
from adjourn.core.files import file_fields
from adjourn.core.interrupt import Interrupt
from adjourn.core.secret_places import has_secrets
from adjourn.stores.address import VARIABLE, without_password
from adjourn.views.visible import visible

DIGITS = 16
"""Of a digest, so many are shown and are enough."""
_PLAIN = re.compile(r"[\w@%+:,./…-][\w@%+=:,./…-]*")


def quoted(text: str) -> str:
    """One word of a shell that means exactly `text`.

    What cannot normally be seen is written as bytes in `$'…'`, which bash, zsh and ksh understand;
    otherwise any shell does.
    """
    if visible(text) != text:
        return "$'" + "".join(map(_escaped, text)) + "'"
    if _PLAIN.fullmatch(text):
        return text
    return shlex.quote(text)


def _escaped(char: str) -> str:
    if char in "\\'":
        return f"\\{char}"
    if char.isascii() and char.isprintable():
        return char
    return "".join(f"\\x{byte:02x}" for byte in char.encode("utf-8", "surrogateescape"))


def command(db: str | None, verb: str, *arguments: str, options: Sequence[str] = ()) -> str:
    """`adjourn VERB ARGUMENTS OPTIONS`, with `--db` and `--tenant` where the command would otherwise
    look elsewhere.

    Args:
        db: the database as it was named; None for the usual one.
        verb: one word, or several, such as `checkpoint resume`.
        arguments: as they are meant; each becomes one quoted word.
        options: likewise, after the arguments.
    """
    here = os.environ.get(VARIABLE) or DEFAULT
    if db is None or db in (here, f"sqlite:///{here}"):
        named = []
    else:
        named = ["--db", without_password(db)]
    working_for = tenant()
    if working_for != os.environ.get(TENANT, "") and verb in FOR_TENANTS:
        named += ["--tenant", working_for]
    said, more = map(quoted, arguments), map(quoted, (*options, *named))
    if any(word.startswith("-") for word in arguments):  # not an option, although it looks like one
        return " ".join(["adjourn", verb, *more, "--", *said])
    return " ".join(["adjourn", verb, *said, *more])


def typed_again(db: str | None, changes: Mapping[str, str]) -> str:
    """The command that is running as it was typed, with some of it changed.

    Args:
        db: the database as it was named; None for the usual one.
        changes: other values, by the names of the parameters.
    """
    context = get_current_context()
    arguments, options = list[str](), list[str]()
    for parameter in context.command.params:
        name = parameter.name or ""
        is_typed = context.get_parameter_source(name) == ParameterSource.COMMANDLINE
        if name == "db" or not (is_typed or name in changes):
            continue
        given: Any = changes.get(name, context.params.get(name))
        if parameter.param_type_name == "argument":
            arguments += cast("list[str]", given) if isinstance(given, list) else [str(given)]
        elif given is True:
            options.append(parameter.opts[0])
        elif isinstance(given, list | tuple):
            options += [
                word for one in cast("list[str]", given) for word in (parameter.opts[0], one)
            ]
        else:
            options += [parameter.opts[0], str(given)]
    verb = context.command_path.partition(" ")[2]
    return command(db, verb, *arguments, options=options)


def how_to_decide(db: str | None, interrupt: Interrupt) -> list[tuple[str, str]]:
    """What can be done about an interrupt: a word, and the command. Each is about what is shown of
    it now."""
    seen = ("--digest", interrupt.digest[:DIGITS])
    if interrupt.kind == "approval":
        return [
            ("Approve", command(db, "approve", interrupt.ref, options=seen)),
            ("Deny", command(db, "deny", interrupt.ref, options=("--note", "…"))),
        ]
    if interrupt.choices:
        said = [
            (name.capitalize(), command(db, "answer", interrupt.ref, name, options=seen))
            for name in interrupt.choices
        ]
        together = likeness("", interrupt) is not None
        if together:
            return [*said, ("All", command(db, "retry", interrupt.ref, options=("--all", *seen)))]
        return said
    files: list[str] = []
    for field in file_fields(interrupt.answer_schema):
        files += ["--file", f"{field}=PATH" if field else "PATH"]
    value = ["VALUE"]
    if has_secrets(interrupt.answer_schema) or files[1:] == ["PATH"]:  # a secret is typed
        value = []
    return [("Answer", command(db, "answer", interrupt.ref, *value, options=(*files, *seen)))]
