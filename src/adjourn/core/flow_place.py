"""A place in a flow: the path of a chain in its graph, and where a call stands, in words."""

import re

_PLACE = re.compile(r"([^#]+)#(\d+)(?:\.([^!]+)|\[(\d+)\])?")


def place_words(call: str) -> tuple[str, ...]:
    """Where a call stands in a flow, in words, for example `("batch", "reads", "editor_reads")`;
    nothing for a call of an agent.

    What was begun before under the same name in the same chain is counted: `draft 2`.
    """
    if "#" not in call:
        return ()
    words: list[str] = []
    for part in call.partition("!")[0].split("/"):
        found = _PLACE.fullmatch(part)
        if found is None:
            words.append(part)
            continue
        name, number, branch, element = found.groups()
        if int(number):
            name = f"{name} {int(number) + 1}"
        words.append(name)
        if branch:
            words.append(branch)
        if element:
            words.append(f"item {int(element) + 1}")
    return tuple(words)


def inside(path: str, at: int, which: str) -> str:
    """The path of a chain inside the item at a place: `0/3.if.1` is the second branch of what
    stands fourth in the first."""
    return f"{path}/{at}.{which}"
