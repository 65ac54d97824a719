"""The reference that is made of signatures and docstrings: a page for each public module, in docs/reference/api.

    python -m tests.docs.api_pages     # writes them; `make docs` does it

They are not under version control: they change with every signature.
"""

import importlib
import inspect
import shutil
import textwrap
from pathlib import Path
from typing import Any

from tests.docs.public_api import MODULES, PublicCallable, callables_of, methods, public_things

FOLDER = Path(__file__).parents[2] / "docs" / "reference" / "api"
WIDTH = 100
TESTS = ("StoreContract", "GuestContract")
"""Classes whose methods are tests."""


def shown_default(value: Any) -> str:
    """A default as it is written, or `…` if it has no short form."""
    if value is ... or "object at 0x" in repr(value) or len(repr(value)) > 40:
        return "…"
    return getattr(value, "__name__", "") if inspect.isclass(value) else repr(value).replace("'", '"')


def shown_parameters(one: PublicCallable) -> list[str]:
    """The parameters as they are passed, with the star before those that need their name."""
    shown: list[str] = []
    for parameter in one.parameters:
        if parameter.kind is parameter.KEYWORD_ONLY and not any(text.startswith("*") for text in shown):
            shown.append("*")
        prefix = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
        default = "" if parameter.default is parameter.empty else f"={shown_default(parameter.default)}"
        shown.append(f"{prefix}{parameter.name}{default}")
    return shown


def signature(one: PublicCallable) -> str:
    """`await run.pause(*, by="", …) -> None`, broken into lines."""
    name = one.name.rpartition(".")[2]
    awaited = "await " if inspect.iscoroutinefunction(one.function) else ""
    returns = one.types.get("return", "") if not inspect.isclass(one.function) else ""
    end = f") -> {returns}" if returns and returns != "None" else ")"
    line = f"{awaited}{name}({', '.join(shown_parameters(one))}{end}"
    return "\n".join(
        textwrap.wrap(line, WIDTH, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False)
    )


def cell(text: str) -> str:
    return text.replace("|", "\\|")


def parameter_table(one: PublicCallable) -> list[str]:
    """The parameters with their types and what is said of them; none if there is nothing to say."""
    if not one.documented:
        return []
    lines = ["| | type | |", "|---|---|---|"]
    for parameter in one.parameters:
        written = one.types.get(parameter.name, "")
        shown = f"`{cell(written)}`" if written else ""
        lines.append(f"| `{parameter.name}` | {shown} | {cell(one.documented.get(parameter.name, ''))} |")
    return [*lines, ""]


def entry(one: PublicCallable, level: str) -> list[str]:
    """A callable: its heading, its signature, its docstring, its parameters."""
    title = one.name.rpartition(".")[2]
    return [f"{level} {title}", "", "```text", signature(one), "```", "", one.text, "", *parameter_table(one)]


def described(module: str, name: str, thing: Any) -> list[str]:
    """A function, or a class with its methods."""
    if not inspect.isclass(thing):
        [one] = callables_of(module, thing)
        return entry(one, "##")
    found = callables_of(module, thing)
    if not found and name not in TESTS:
        found = list(methods(module, thing))
    lines: list[str] = []
    if found and found[0].function is thing:
        lines += entry(found.pop(0), "##")
    else:
        lines += [f"## {name}", "", inspect.cleandoc(thing.__doc__ or ""), ""]
    for one in found:
        lines += entry(one, "###")
    return lines


def pages() -> dict[str, str]:
    """The text of each page, by its name."""
    things = public_things()
    made: dict[str, str] = {}
    for module in MODULES:
        title = (importlib.import_module(module).__doc__ or "").strip().splitlines()[0]
        lines = [f"# {module}", "", title, ""]
        for key, (own, thing) in things.items():
            if own == module:
                lines += described(module, key.partition(":")[2], thing)
        made[f"{module.rpartition('.')[2]}.md"] = "\n".join(lines).rstrip() + "\n"
    return made


def write(folder: Path) -> None:
    """Write the pages into this folder, and remove what else is there."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name, text in pages().items():
        (folder / name).write_text(text, "utf-8")


if __name__ == "__main__":
    write(FOLDER)
