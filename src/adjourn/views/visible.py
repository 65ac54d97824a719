"""What an agent wrote, made safe to show: nothing in it can move the cursor, change direction, or
hide."""

import re
import unicodedata
from functools import lru_cache

from adjourn.views.confusable_characters import CUT, FORMS, LOOK_ALIKES, ORDINARY, SCRIPTS, SMALL

_CONTROLS = (
    "NULL",
    "START OF HEADING",
    "START OF TEXT",
    "END OF TEXT",
    "END OF TRANSMISSION",
    "ENQUIRY",
    "ACKNOWLEDGE",
    "BELL",
    "BACKSPACE",
    "CHARACTER TABULATION",
    "LINE FEED",
    "LINE TABULATION",
    "FORM FEED",
    "CARRIAGE RETURN",
    "SHIFT OUT",
    "SHIFT IN",
    "DATA LINK ESCAPE",
    "DEVICE CONTROL ONE",
    "DEVICE CONTROL TWO",
    "DEVICE CONTROL THREE",
    "DEVICE CONTROL FOUR",
    "NEGATIVE ACKNOWLEDGE",
    "SYNCHRONOUS IDLE",
    "END OF TRANSMISSION BLOCK",
    "CANCEL",
    "END OF MEDIUM",
    "SUBSTITUTE",
    "ESCAPE",
    "INFORMATION SEPARATOR FOUR",
    "INFORMATION SEPARATOR THREE",
    "INFORMATION SEPARATOR TWO",
    "INFORMATION SEPARATOR ONE",
)
_MORE_CONTROLS = (
    "DELETE",
    "PADDING CHARACTER",
    "HIGH OCTET PRESET",
    "BREAK PERMITTED HERE",
    "NO BREAK HERE",
    "INDEX",
    "NEXT LINE",
    "START OF SELECTED AREA",
    "END OF SELECTED AREA",
    "CHARACTER TABULATION SET",
    "CHARACTER TABULATION WITH JUSTIFICATION",
    "LINE TABULATION SET",
    "PARTIAL LINE FORWARD",
    "PARTIAL LINE BACKWARD",
    "REVERSE LINE FEED",
    "SINGLE SHIFT TWO",
    "SINGLE SHIFT THREE",
    "DEVICE CONTROL STRING",
    "PRIVATE USE ONE",
    "PRIVATE USE TWO",
    "SET TRANSMIT STATE",
    "CANCEL CHARACTER",
    "MESSAGE WAITING",
    "START OF GUARDED AREA",
    "END OF GUARDED AREA",
    "START OF STRING",
    "SINGLE GRAPHIC CHARACTER INTRODUCER",
    "SINGLE CHARACTER INTRODUCER",
    "CONTROL SEQUENCE INTRODUCER",
    "STRING TERMINATOR",
    "OPERATING SYSTEM COMMAND",
    "PRIVACY MESSAGE",
    "APPLICATION PROGRAM COMMAND",
)
_NAMELESS = dict(enumerate(_CONTROLS)) | dict(enumerate(_MORE_CONTROLS, 0x7F))
_CATEGORIES = {"Co": "PRIVATE USE", "Cn": "NOT ASSIGNED", "Cs": "SURROGATE"}

# Blank although their category is a letter, a mark or a symbol; variation selectors carry smuggled
# text.
_BLANK = frozenset(
    map(
        chr,
        [
            0x034F,
            0x115F,
            0x1160,
            0x17B4,
            0x17B5,
            0x2800,
            0x3164,
            0xFFA0,
            *range(0x180B, 0x1810),
            *range(0xFE00, 0xFE10),
            *range(0xE0100, 0xE01F0),
        ],
    )
)
_BRACKET = "\N{MATHEMATICAL LEFT ANGLE BRACKET}"
"""How a shown character begins; one in the text itself is shown too, so that nobody can write a
false one."""
_MARKS = 3
"""So many combining marks a character may carry; more would grow over the neighbouring lines."""

_UNUSUAL = re.compile(r"[^ -~]")
_WORD = re.compile(r"[^\W\d_]{2,}")
_ALIKE = frozenset("ΑΒΕΖΗΙΚΜΝΟΡΤΥΧαικνορτυχϲϳ")
"""Greek letters that look Latin; the others (Δt, µm) are ordinary in mixed words."""
_LETTER = re.compile("[A-Za-z]")
_READ_WORD = re.compile("[A-Za-z\x01]+")
_NAME = re.compile(r"[A-Za-z0-9_\-./:@#%?=&+~\\\x01\x02]+")
_HOST = re.compile(
    r"://|[A-Za-z0-9\x01\x02]@[A-Za-z0-9\x01\x02]|[A-Za-z0-9\x01\x02]\.[A-Za-z\x01]{2}|[0-9]\.[0-9]+\.[0-9]+\.[0-9]"
)
_IDENTIFIER = re.compile(
    r"^(?:~|\.{1,2})?[/\\][A-Za-z]|[A-Za-z0-9]_|_[A-Za-z0-9]"  # paths, names in programs
    r"|[A-Za-z][0-9]|[0-9][A-Za-z]{2}|0[xX][0-9A-Fa-f]|[A-Za-z]-[0-9]{3}"  # numbers of things
)
_FOREIGN = ("CYRILLIC", "ARMENIAN", "CHEROKEE", "COPTIC", "LISU", "FULLWIDTH", "MATHEMATICAL")


def visible(text: str) -> str:
    """`text` with every character that cannot normally be seen written as ⟨U+202E RIGHT-TO-LEFT
    OVERRIDE⟩.

    Controls (line feeds and tabs too), bidi, zero-width and blank characters, unassigned ones,
    piled-up marks; letters of another script in a Latin word; and in what looks like a host, an
    address or an identifier everything that passes for ASCII. Ordinary text of any script stays as
    it is. The result is one line and cannot be ambiguous.
    """
    if text.isascii() and text.isprintable():
        return text
    pieces: list[str] = []
    after = 0
    for n in sorted(_positions(text)):
        pieces += (text[after:n], shown(text[n]))
        after = n + 1
    return "".join((*pieces, text[after:]))


def lines(text: str) -> list[str]:
    """`text` as lines, each made visible: for a place where every line has its own margin."""
    return [visible(line) for line in text.replace("\r\n", "\n").split("\n")]


def hidden(text: str) -> int:
    """How many characters of `text` cannot normally be seen. Line feeds and tabs are not counted:
    they are expected."""
    if text.isascii() and text.isprintable():
        return 0
    return sum(1 for n in _positions(text) if text[n] not in "\n\t" + _BRACKET)


@lru_cache(4096)
def shown(char: str) -> str:
    """One character by its number and name."""
    code = ord(char)
    name = (
        _NAMELESS.get(code)
        or unicodedata.name(char, "")
        or _CATEGORIES.get(unicodedata.category(char), "")
    )
    return f"⟨U+{code:04X} {name or 'NO NAME'}⟩"


def _positions(text: str) -> set[int]:
    found: set[int] = set()
    # a text that begins with a mark would put it on what is printed before it
    marks, last = (
        _MARKS,
        -1,
    )
    for match in _UNUSUAL.finditer(text):
        n, c = match.start(), match[0]
        category = unicodedata.category(c)
        if category[0] != "M":
            marks = 0
        elif n != last + 1:
            marks = 1
        else:
            marks = marks + 1
        last = n
        if category[0] in "CZ" or c in _BLANK or c == _BRACKET or marks > _MARKS:
            found.add(n)
    if not text.isascii():
        found |= _disguised(text) | _compatible(text) | _posing(text)
    return found


def _disguised(text: str) -> set[int]:
    """Letters that make a Latin word look like another one."""
    found: set[int] = set()
    for word in _WORD.finditer(text):
        if word[0].isascii():
            continue
        names = [unicodedata.name(c, "") for c in word[0]]
        if any(name.startswith("LATIN") for name in names):
            found |= {
                word.start() + n
                for n, (c, name) in enumerate(zip(word[0], names, strict=True))
                if name.startswith(_FOREIGN) or c in _ALIKE
            }
    return found


def _compatible(text: str) -> set[int]:
    """Letters that are another way to write Latin ones: bold, circled, joined."""
    return {match.start() for match in _UNUSUAL.finditer(text) if _is_form(match[0])}


@lru_cache(4096)
def _is_form(char: str) -> bool:
    plain = unicodedata.normalize("NFKC", char)
    if plain == char or char in ORDINARY or _is_in(char, FORMS) or _is_in(char, SMALL):
        return False
    return 0x1D400 <= ord(char) <= 0x1D7FF or bool(_LETTER.search(plain))


def _is_in(char: str, ranges: tuple[tuple[int, int], ...]) -> bool:
    return any(first <= ord(char) <= last for first, last in ranges)


# A text as somebody reads it who knows ASCII only, one character for each: what passes for nothing
# is a gap.
_GAP, _FOREIGNER, _FORM = "\0", "\1", "\2"
"""Nothing; a letter that looks like itself; another way to write something, which matters only
inside a name."""


class _Skeleton(dict[int, str]):
    def __missing__(self, code: int) -> str:
        self[code] = found = _read(chr(code)) if code > 0x7E else chr(code)
        return found


def _read(char: str) -> str:
    plain = unicodedata.normalize("NFKC", char)
    alike = LOOK_ALIKES.get(char) or LOOK_ALIKES.get(plain[0], plain[0])
    if char == CUT:
        return _GAP
    if char in ORDINARY or _is_in(char, SMALL):
        return _FORM
    if " " < alike <= "~":
        return alike
    if unicodedata.category(char)[0] == "L" and _is_in(char, SCRIPTS):
        return _FOREIGNER
    if plain in (char, " "):
        return _GAP
    return _FORM


_read_as = _Skeleton()


def _posing(text: str) -> set[int]:
    """Whatever is not ASCII in something that looks like a host, an address, a path or an
    identifier.

    A word with a letter that passes for no Latin one is what it looks like, unless Latin words
    stand beside it in one name.
    """
    read = text.translate(_read_as)
    found: set[int] = set()
    for token in _NAME.finditer(read):
        written = text[token.start() : token.end()]
        if (
            not written.isascii()
            and _FOREIGNER in token[0]
            and _LETTER.search(written)
            and _HOST.search(token[0])
        ):
            found |= {token.start() + n for n, c in enumerate(written) if not c.isascii()}
    honest = _READ_WORD.sub(
        lambda word: _GAP * len(word[0]) if _FOREIGNER in word[0] else word[0], read
    )
    for token in _NAME.finditer(honest):
        written = text[token.start() : token.end()]
        if not written.isascii() and (_HOST.search(token[0]) or _IDENTIFIER.search(token[0])):
            found |= {token.start() + n for n, c in enumerate(written) if not c.isascii()}
    return found
