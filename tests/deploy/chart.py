"""A chart, rendered without Helm: as much of its language as this one uses. What it does not know is an error."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

TAG = re.compile(r"(\s*)\{\{-\s*(.*?)\s*\}\}|\{\{\s*(.*?)\s*\}\}")
BLOCKS = ("if", "range")


class Template:
    """One file of a chart."""

    def __init__(self, text: str) -> None:
        self._parts: list[tuple[str, str]] = []
        last = 0
        for found in TAG.finditer(text):
            # {{- takes the white space before it away
            self._parts.append(("text", text[last : found.start()]))
            trimmed = found[2] is not None
            if not trimmed and found[1]:
                self._parts.append(("text", found[1]))
            self._parts.append(("tag", found[2] if trimmed else found[3]))
            last = found.end()
        self._parts.append(("text", text[last:]))

    def render(self, root: Mapping[str, Any]) -> str:
        text, at = self._render(0, root, root)
        assert at == len(self._parts), "an end too many"
        return text

    def _render(self, at: int, here: Any, root: Mapping[str, Any], *, shown: bool = True) -> tuple[str, int]:
        """What stands from a part up to the end of its block; and the part after that."""
        said = ""
        while at < len(self._parts):
            kind, text = self._parts[at]
            at += 1
            if kind == "text":
                said += text if shown else ""
                continue
            word, _, rest = text.partition(" ")
            if word == "end":
                return said, at
            if word in BLOCKS:
                items: list[Any] = []
                if shown and word == "range":
                    items = list(value(rest, here, root))
                elif shown and value(rest, here, root):
                    items = [here]
                inner, after = "", at
                for item in items:
                    inner, after = self._render(at, item, root)
                    said += inner
                if not items:
                    _, after = self._render(at, here, root, shown=False)
                at = after
            elif shown:
                said += str(value(text, here, root))
        return said, at


def value(expression: str, here: Any, root: Mapping[str, Any]) -> Any:
    """What an expression gives: a path, or a path through functions."""
    first, *functions = [part.strip() for part in expression.split("|")]
    if first.startswith("toYaml "):
        first, functions = first.removeprefix("toYaml "), ["toYaml", *functions]
    found: Any = root if first.startswith("$") else here
    for name in first.removeprefix("$").strip(".").split("."):
        found = found[name]
    for function in functions:
        name, _, argument = function.partition(" ")
        match name:
            case "quote":
                found = '"' + str(found).replace("\\", "\\\\").replace('"', '\\"') + '"'
            case "toYaml":
                found = yaml.safe_dump(found, default_flow_style=False).rstrip("\n")
            case "nindent":
                space = "\n" + " " * int(argument)
                found = space + space.join(str(found).split("\n"))
            case _:
                raise AssertionError(f"{name} is not known here")
    return found


def rendered(chart: Path, **changes: Any) -> list[dict[str, Any]]:
    """The objects that a chart makes, with other values than its own where some are given."""
    values = {**yaml.safe_load((chart / "values.yaml").read_text("utf-8")), **changes}
    root = {"Values": values, "Release": {"Name": "shop"}}
    found: list[dict[str, Any]] = []
    for file in sorted((chart / "templates").glob("*.yaml")):
        text = Template(file.read_text("utf-8")).render(root)
        found += [made for made in yaml.safe_load_all(text) if made]
    return found
