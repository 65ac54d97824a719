"""Persons, by their names: which two are one."""

from collections.abc import Iterable
from functools import lru_cache


@lru_cache(maxsize=4096)
def person(name: str) -> str:
    """Whose name this is, to compare by: `Ana`, `ANA `, `ａｎａ` and one with characters that nobody
    sees are one person.

    Names are shown as they were given.
    """
    if name.isascii() and name.isprintable():
        return " ".join(name.lower().split())
    import unicodedata

    text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    words: list[str] = []
    for word in text.split():
        seen = "".join(char for char in word if unicodedata.category(char) not in ("Cc", "Cf"))
        if seen:
            words.append(seen)
    return " ".join(words)


def is_known(name: str, names: Iterable[str]) -> bool:
    """Whether somebody of these names is this person."""
    who = person(name)
    return who in map(person, names)
