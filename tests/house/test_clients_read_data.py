"""No client reads English: what terminal, console, engines and front ends decide by is data, not a sentence of ours.

Sentences change, and may be translated. A client that compares one, or searches in it, breaks then, and nothing says so.
What looks like a sentence is a string of two words or more, where it is compared or searched for. What is written for people
stands in fields of known names, and nothing looks into one, whatever for: its first word, too, is only a word.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CLIENTS = ("cli", "engines", "guests", "mcp", "server")
SENTENCE = re.compile(r"[A-Za-z]{2,} [A-Za-z]")
SEARCHES = {
    "startswith",
    "endswith",
    "find",
    "index",
    "count",
    "removeprefix",
    "removesuffix",
    "partition",
    "rpartition",
} | {*("split", "search", "match", "fullmatch", "compile")}
ENUMERATED = {"lose lines"}
"""A verb of the security log: some have two words."""
TYPESCRIPT = re.compile(
    r"""(?:[!=]==\s*|case\s+|\.(?:includes|startsWith|endsWith|indexOf|split|match|search|test)\(\s*)["'`/]([^"'`/\n]*)"""
)
PROSE = {
    *(
        "advice",
        "asks",
        "consequence",
        "description",
        "detail",
        "did",
        "error",
        "last_error",
        "message",
        "note",
        "phrase",
    ),
    *("reason", "refused", "said", "text", "title", "told", "void", "what", "who", "why", "word"),
}
"""Fields in which the server writes for people."""
CODES = ("what", "why", "text")
"""Names that some types of the console's own have for codes, or for digits: these may be compared, and not searched."""
LOOKED_INTO = {
    "src/adjourn/engines/restate.py": "a code of Restate in its answer",
    "src/adjourn/server/notifications/own_delivery.py": "the lines of a message that it composed",
    "console/src/inbox/form.ts": "digits",
    "console/src/inbox/json.ts": "digits",
    "console/src/inbox/schema.ts": "digits",
    "console/src/pages/parted.tsx": "pieces of two texts that are compared for people",
}
"""Modules in which a field of such a name is something else."""
SPLIT_AT_SPACES = {
    "src/adjourn/cli/last_list.py": "a line of the system's about a process",
    "src/adjourn/cli/terminal/hints.py": "a command",
    "src/adjourn/mcp/http_app.py": "a header",
    "console/src/help.tsx": "names of keys",
    "console/src/inbox/banner.tsx": "what the console itself says",
    "console/src/inbox/index.tsx": "names of keys",
    "console/src/runs/list.ts": "the words of a search",
}
"""Modules that split something else into words."""
_FIELD = rf"\.(?:{'|'.join(sorted(PROSE))})\b[!?]?"
_COMPARED = rf"\.(?:{'|'.join(sorted(PROSE - {*CODES}))})\b"
_SEARCHES = (
    "split|startsWith|endsWith|includes|indexOf|lastIndexOf|match|matchAll|search|replace|replaceAll|localeCompare"
)
PROSE_IN_TYPESCRIPT = re.compile(
    rf"{_FIELD}\.(?:{_SEARCHES})\(|\.(?:test|exec)\([\w.!?]*{_FIELD}\)"
    rf"""|(?<!typeof)[( ][\w.!?]*{_COMPARED}\s*[!=]==?\s*["'`][^"'`]|switch \([\w.!?]*{_COMPARED}\)"""
)
WORDS_IN_TYPESCRIPT = re.compile(r"""\.split\((?:["'`] ["'`]|/[^/\n]*(?:\\s| )[^/\n]*/)""")
SPLITS = {"split", "rsplit", "partition", "rpartition"}


def is_prose(node: ast.expr) -> bool:
    """Whether this is a field that is written for people, or an error's own text."""
    match node:
        case ast.Attribute(attr=name) | ast.Subscript(slice=ast.Constant(value=str(name))):
            return name in PROSE
        case ast.Call(func=ast.Attribute(attr="get"), args=[ast.Constant(value=str(name)), *_]):
            return name in PROSE
        case ast.Call(func=ast.Attribute(value=within, attr="lower" | "casefold" | "strip")):
            return is_prose(within)
        case ast.Call(func=ast.Name(id="str"), args=[ast.Name(id=name)]):
            return name in ("e", "error", "problem", "refusal")
        case ast.Call(func=ast.Name(id="str"), args=[within]):
            return is_prose(within)
        case _:
            return False


def looked_into_in_python(source: str) -> Iterator[tuple[int, str]]:
    """Where something is searched for in what was written for people, or that is compared with a string."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Call(func=ast.Attribute(value=within, attr=method), args=args) if method in SEARCHES:
                found = is_prose(within) or any(map(is_prose, args))
            case ast.Compare(ops=[ast.In() | ast.NotIn()], comparators=[within]):
                found = is_prose(within)
            case ast.Compare(left=left, comparators=[right]):
                sides = (left, right)
                found = any(map(is_prose, sides)) and any(
                    isinstance(side, ast.Constant) and isinstance(side.value, str) and side.value for side in sides
                )
            case ast.Match(subject=subject):
                found = is_prose(subject)
            case _:
                continue
        if found:
            yield node.lineno, ast.unparse(node)[:80]


def split_in_python(source: str) -> Iterator[tuple[int, str]]:
    """Where a text is taken apart into words."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Call(func=ast.Attribute(attr=method), args=[]) if method in SPLITS:
                yield node.lineno, ast.unparse(node)[:80]
            case ast.Call(func=ast.Attribute(attr=method), args=[ast.Constant(value=" " | b" "), *_]) if (
                method in SPLITS
            ):
                yield node.lineno, ast.unparse(node)[:80]
            case _:
                pass


def found_in(pattern: re.Pattern[str], source: str) -> Iterator[tuple[int, str]]:
    for one in pattern.finditer(source):
        yield source.count("\n", 0, one.start()) + 1, source[max(0, one.start() - 20) : one.end() + 20]


def files(*rooms: str) -> list[str]:
    """The modules of these rooms and those of the console, by their paths."""
    found = [path for room in rooms for path in (ROOT / "src" / "adjourn" / room).rglob("*.py")]
    found += [path for path in (ROOT / "console" / "src").rglob("*.ts*") if "generated" not in path.parts]
    return sorted(path.relative_to(ROOT).as_posix() for path in found)


def looked_into(file: str) -> list[str]:
    source = (ROOT / file).read_text("utf-8")
    found = looked_into_in_python(source) if file.endswith(".py") else found_in(PROSE_IN_TYPESCRIPT, source)
    return [f"{file}:{line} looks into what is written for people: {text}" for line, text in found]


def split(file: str) -> list[str]:
    source = (ROOT / file).read_text("utf-8")
    found = split_in_python(source) if file.endswith(".py") else found_in(WORDS_IN_TYPESCRIPT, source)
    return [f"{file}:{line} takes words apart: {text}" for line, text in found]


def test_no_client_looks_into_a_field_that_is_written_for_people() -> None:
    found = {file: looked_into(file) for file in files(*CLIENTS)}
    assert [line for file, lines in found.items() if file not in LOOKED_INTO for line in lines] == []
    assert [file for file in LOOKED_INTO if not found[file]] == [], "take it off the list"


def test_no_client_takes_a_sentence_apart_into_words() -> None:
    """The server reads headers, and what people wrote; that is its work."""
    found = {file: split(file) for file in files(*(room for room in CLIENTS if room != "server"), "server/front_ends")}
    assert [line for file, lines in found.items() if file not in SPLIT_AT_SPACES for line in lines] == []
    assert [file for file in SPLIT_AT_SPACES if not found[file]] == [], "take it off the list"


@pytest.mark.parametrize(
    "source",
    [
        'closed = "expired" in found.why',
        'known = told["what"].startswith(tool)',
        'late = str(error).lower().find("late")',
        're.search("late", entry.get("note"))',
        'if step.note == "late": pass',
        'match found.told:\n    case "late": pass',
    ],
)
def test_what_looks_into_a_sentence_is_found_in_python(source: str) -> None:
    assert list(looked_into_in_python(source))


@pytest.mark.parametrize(
    "source",
    [
        "const named = e.tool && t.what.startsWith(e.tool);",
        'x = row.told?.includes("late")',
        'if (step.note === "late") y();',
        "z = /^late/.test(step.error)",
        'switch (e.told) { case "late": }',
    ],
)
def test_what_looks_into_a_sentence_is_found_in_typescript(source: str) -> None:
    assert list(found_in(PROSE_IN_TYPESCRIPT, source))


def test_what_takes_words_apart_is_found() -> None:
    assert list(split_in_python("verb = told.split()[0]"))
    assert list(split_in_python('verb = told.partition(" ")'))
    assert list(found_in(WORDS_IN_TYPESCRIPT, 'const role = grant.split(" ")[0];'))
    assert list(found_in(WORDS_IN_TYPESCRIPT, r"const [first] = told.split(/\s+/);"))


def read_in_python(source: str) -> Iterator[tuple[int, str]]:
    """Line and string of everything that looks like a sentence, and is compared or searched for."""
    for node in ast.walk(ast.parse(source)):
        looked_at: list[ast.expr] = []
        if isinstance(node, ast.Compare):
            looked_at = [node.left, *node.comparators]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in SEARCHES:
            looked_at = node.args
        elif isinstance(node, ast.MatchValue):
            looked_at = [node.value]
        for one in (part for found in looked_at for part in ast.walk(found)):
            if isinstance(one, ast.Constant) and isinstance(one.value, str) and SENTENCE.search(one.value):
                yield one.lineno, one.value


def read_in_typescript(source: str, listed: frozenset[str] = frozenset()) -> Iterator[tuple[int, str]]:
    """The same of TypeScript. `listed`: what types of the console's own list, which is data."""
    for found in TYPESCRIPT.finditer(source):
        if SENTENCE.search(found[1]) and found[1] not in listed:
            yield source.count("\n", 0, found.start()) + 1, found[1]


@pytest.mark.parametrize("room", CLIENTS)
def test_no_client_in_python_reads_a_sentence(room: str) -> None:
    found: list[str] = []
    for file in sorted((ROOT / "src" / "adjourn" / room).rglob("*.py")):
        for line, text in read_in_python(file.read_text("utf-8")):
            if text not in ENUMERATED:
                found.append(f"{file.relative_to(ROOT)}:{line} reads {text!r}: give it a field, an enum or a code")
    assert not found, "\n".join(found)


def test_the_console_reads_no_sentence() -> None:
    sources: dict[Path, str] = {}
    for file in sorted((ROOT / "console" / "src").rglob("*.ts*")):
        if "generated" not in file.parts:
            sources[file] = file.read_text("utf-8")
    listed = frozenset(re.findall(r'\|\s*"([^"]*)"', "\n".join(sources.values())))
    found: list[str] = []
    for file, source in sources.items():
        for line, text in read_in_typescript(source, listed):
            found.append(f"{file.relative_to(ROOT)}:{line} reads {text!r}: give it a field of its view")
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    "source",
    [
        'if error.what == "is not there": pass',
        'if "already decided" in str(error): pass',
        'if text.startswith("No run"): pass',
        'm = re.search(r"by ann, not (.*)", text)',
        'match row.now:\n    case "waits for": pass',
    ],
)
def test_what_reads_a_sentence_is_found_in_python(source: str) -> None:
    assert list(read_in_python(source))


@pytest.mark.parametrize(
    "source",
    [
        'if (l.error === "quiet hours") x();',
        'told.includes("was decided")',
        'case "waits for":',
        "rule.match(/^asks a person/)",
    ],
)
def test_what_reads_a_sentence_is_found_in_typescript(source: str) -> None:
    assert list(read_in_typescript(source))
