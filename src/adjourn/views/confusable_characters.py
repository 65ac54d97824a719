"""Characters that pass for others: the one table behind `visible()`, on the command line and in the
console."""

_LETTERS = {
    # Cyrillic, Greek, Armenian, Cherokee, Coptic, Lisu, and Latin letters that are none of the
    # alphabet's
    "A": "АΑᎪⲀꓮ",
    "B": "ВΒᏴⲂꓐ",
    "C": "СᏟⲤꓚ",
    "D": "ᎠꓓꓒᏧ",
    "E": "ЕΕᎬꓰ",
    "F": "ꓝ",
    "G": "ԌᏀꓖ",
    "H": "НΗᎻⲎꓧ",
    "I": "ІΙӀⲒꓲ",
    "J": "ЈᎫꓙ",
    "K": "КΚᏦⲔꓗ",
    "L": "ᏞꓡԼ",
    "M": "МΜᎷⲘꓟ",
    "N": "ΝⲚꓠ",
    "O": "ОΟՕⲞꓳ",
    "P": "РΡᏢⲢꓑ",
    "Q": "Ԛ",
    "R": "ᎡᏒꓣ",
    "S": "ЅՏᏕᏚꓢ",
    "T": "ТΤᎢⲦꓔ",
    "U": "Սꓴ",
    "V": "ѴᏙꓦ",
    "W": "ԜᎳᏔꓪ",
    "X": "ХΧⲬꓫ",
    "Y": "УҮΥᎽⲨꓬ",
    "Z": "ΖᏃꓜ",
    "a": "аɑα",
    "b": "Ꮟ",
    "c": "сϲᴄⲥ",
    "d": "ԁ",
    "e": "е",
    "g": "ɡց",
    "h": "һհ",
    "i": "іιıɩᎥ",
    "j": "јϳյ",
    "k": "κ",
    "l": "ӏ",
    "n": "ո",
    "o": "оοօᴏⲟ",
    "p": "рρⲣ",
    "q": "ԛ",
    "s": "ѕꜱ",
    "t": "τ",
    "u": "υս",
    "v": "ѵνᴠ",
    "w": "ԝᴡ",
    "x": "хχ",
    "y": "у",
    "z": "ᴢ",
}
_SIGNS = {"/": "∕⁄⧸", ".": "。ꓸ", "-": "‐−˗", ":": "∶"}

LOOK_ALIKES = {
    alike: sign for signs in (_LETTERS, _SIGNS) for sign, found in signs.items() for alike in found
}
"""What each of them passes for."""

SCRIPTS = (
    (0x370, 0x3FF),
    (0x1F00, 0x1FFF),  # Greek
    (0x400, 0x52F),
    (0x1C80, 0x1C8F),
    (0x2DE0, 0x2DFF),
    (0xA640, 0xA69F),  # Cyrillic
    (0x530, 0x58F),
    (0x13A0, 0x13FF),
    (0xAB70, 0xABBF),
    (0x2C80, 0x2CFF),
    (0xA4D0, 0xA4FF),  # Armenian, Cherokee, Coptic, Lisu
)
"""Scripts with letters that pass for Latin ones. A word with a letter that does not is what it
looks like."""

ORDINARY = "ªº™℠№℃℉℡"
"""Written in ordinary texts, although compatibility forms turn them into Latin letters."""

CUT = "…"
"""Says that a text goes on: it stands beside names and is never a part of one."""

SMALL = (
    (0xB2, 0xB3),
    (0xB9, 0xB9),
    (0xBC, 0xBE),
    (0x2070, 0x209F),
    (0x2150, 0x215F),
    (0x2189, 0x2189),
)
"""Raised and lowered digits, and fractions: nobody takes them for others, except in a name of the
network."""

FORMS = ((0x3200, 0x33FF), (0xFF00, 0xFFEF))
"""Squared, circled and wide forms of East Asian texts: ordinary there, but not inside a name of the
network or an identifier."""


def for_the_console() -> str:
    """The table as a module of the console."""
    pairs = ",\n".join(f'  "{alike}": "{sign}"' for alike, sign in LOOK_ALIKES.items())

    def ranges(of: tuple[tuple[int, int], ...]) -> str:
        return ", ".join(f"[0x{first:x}, 0x{last:x}]" for first, last in of)

    return (
        "/** Characters that pass for others. */\n"
        f"export const LOOK_ALIKES: Record<string, string> = {{\n{pairs},\n}};\n"
        f"export const SCRIPTS: [number, number][] = [{ranges(SCRIPTS)}];\n"
        f'export const ORDINARY = "{ORDINARY}";\n'
        f'export const CUT = "{CUT}";\n'
        f"export const SMALL: [number, number][] = [{ranges(SMALL)}];\n"
        f"export const FORMS: [number, number][] = [{ranges(FORMS)}];\n"
    )
