"""Where a call stands in a flow, in words."""

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
