"""A call in a few words: "refund of order 4417". The author of a tool says how, or its arguments
are listed.

A template names plain parameters and nothing else: `{order_id}`, never `{order.id}`, `{order[0]}`,
`{order!r}` or `{order:>9}`. It is taken apart once, when the tool is defined; what a model sends is
only ever put in, never read as a template.
"""

from collections.abc import Collection, Iterable, Mapping
from string import Formatter
from typing import Any, cast

from adjourn.errors import InvalidDefinition

LONGEST = 200
"""Characters of a template, and of a phrase."""
VALUE = 60
"""Characters of one value."""
LISTED = 3
"""So many arguments are listed when no template says which."""


def check_template(template: str, parameters: Collection[str], what: str) -> None:
    """Raise `InvalidDefinition` if `template` is no template for these parameters.

    Args:
        template: the words, with parameters in braces.
        parameters: the names that may stand in braces.
        what: whose it is, for the error.
    """
    if not isinstance(template, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidDefinition(f"{what}: describe= must be a string, got {template!r:.80}")
    if len(template) > LONGEST or not template.isprintable():
        raise InvalidDefinition(
            f"{what}: describe= must be one line of at most {LONGEST} characters"
        )
    try:
        parts = _parts(template)
    except ValueError as e:
        raise InvalidDefinition(
            f"{what}: describe={template!r} cannot be read: {e}",
            advice="write {{ for a literal brace",
        ) from None
    for _, name in parts:
        if name is not None and name not in parameters:
            known = ", ".join(parameters) or "none"
            raise InvalidDefinition(
                f"{what}: describe= names {{{name}}}, which is not a parameter",
                advice=f"its parameters are: {known}",
            )


def _parts(template: str) -> list[tuple[str, str | None]]:
    """Pairs of words and the parameter that follows them; raises `ValueError` for anything else
    in braces."""
    found: list[tuple[str, str | None]] = []
    for words, name, form, conversion in Formatter().parse(template):
        if form or conversion:
            raise ValueError(f"in {{{name}}} only a parameter's name may stand")
        if name is not None and not name.isidentifier():
            raise ValueError(f"{{{name}}} must be the name of a parameter")
        found.append((words, name))
    return found


def phrase(template: str, args: Mapping[str, Any]) -> str:
    """The template with its values in it. A parameter that was left out is shown as "–"."""
    pieces: list[str] = []
    for words, name in _parts(template):
        pieces.append(words)
        if name is not None:
            pieces.append(shown_value(args[name]) if name in args else "–")
    return _cut("".join(pieces), LONGEST)


def listed(tool: str, args: Any, required: Iterable[str] = ()) -> str:
    """The tool and its first arguments, those that it requires before others."""
    if not isinstance(args, dict):
        return tool
    given = cast("dict[str, Any]", args)
    names = [name for name in required if name in given]
    if not names:
        names = list(given)
    pairs = [f"{name} {shown_value(given[name])}" for name in names[:LISTED]]
    return _cut(f"{tool} {', '.join(pairs)}".rstrip(), LONGEST)


def shown_value(value: Any) -> str:
    """A value that cannot be taken for the words around it: what has a space in it stands in
    quotation marks."""
    import json  # heavy: only whoever shows a call needs it

    if isinstance(value, str):
        if value and not any(char.isspace() or char in "\"'“”«»" for char in value):
            return _cut(value, VALUE)
        return json.dumps(_cut(value, VALUE), ensure_ascii=False)
    return _cut(json.dumps(value, ensure_ascii=False), VALUE)


def _cut(text: str, length: int) -> str:
    if len(text) <= length:
        return text
    return text[: length - 1] + "…"
