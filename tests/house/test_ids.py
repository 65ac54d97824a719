"""Only `core/ids` builds or splits the ids of calls, steps, interrupts, events, forks and workers, `core/memo_key` those of memos.
In the console `ids.ts` does, which `tests/console` compares with `core/ids`."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "adjourn"
HOMES = ("core/ids.py", "core/memo_key.py", "core/flow_place.py")

METHODS = {
    "partition", "rpartition", "split", "rsplit", "startswith", "endswith", "removeprefix", "removesuffix", "count", "find",
}  # fmt: skip
EVERYWHERE = {
    "!", "?", "#", "!undo", "!cancel", "model:", "summary:", "verify:", "step:", "undo:", "@close", "|",
}  # fmt: skip
"""What stands in ids and in little else."""
INSIDE = {"/", ":"}
"""What stands in addresses, paths of files and scopes as well: looked for only in the rooms that have no such things."""
ROOMS = ("core", "driver", "bodies", "agent", "flow", "runtime", "views")

ALLOWED = {
    "core/argument_conditions.py": "addresses, hosts and paths of files",
    "core/cron.py": "steps and ranges of a cron expression",
    "core/halt.py": "the scope of a halt",
    "core/schema_document.py": "JSON pointers",
    "driver/log_place.py": "the name of a task",
    "guests/langgraph_held.py": "the name that LangGraph gives to a part of a graph",
    "runtime/otel_spans.py": "the name of a model, behind its provider",
    "server/oidc.py": "addresses of an issuer",
    "stores/audit_key.py": "a comment in a file of keys",
}
"""Modules whose text means something else, and what."""


def _literals(node: ast.AST) -> Iterator[str]:
    """The strings by which this piece of code splits, tests or builds another string."""
    match node:
        case ast.Call(func=ast.Attribute(attr=method), args=[ast.Constant(value=str(text)), *_]) if method in METHODS:
            yield text
        case ast.Call(func=ast.Attribute(attr=method), args=[ast.Tuple(elts=texts), *_]) if method in METHODS:
            yield from (text.value for text in texts if isinstance(text, ast.Constant) and isinstance(text.value, str))
        case ast.Compare(left=ast.Constant(value=str(text)), ops=[ast.In() | ast.NotIn()]):
            yield text
        case ast.Compare(comparators=[ast.Constant(value=str(text))], ops=[ast.Eq() | ast.NotEq()]) if len(text) > 1:
            yield text
        case _:
            pass


BUILT = EVERYWHERE | {"~", "@", "/"}


def _built_with(parts: list[ast.expr]) -> str:
    """What makes a string that is put together look like an id: "" if it does not. A sentence may end with a sign."""
    texts = [part.value if isinstance(part, ast.Constant) and isinstance(part.value, str) else "" for part in parts]
    if len(texts) > 3:
        return ""
    inner = texts if texts[-1] == "/" else texts[:-1]
    return next((text for text in inner if text in BUILT), "")


def tree(file: str) -> ast.Module:
    return ast.parse((SOURCE / file).read_text("utf-8"))


FILES = sorted(str(path.relative_to(SOURCE)) for path in SOURCE.rglob("*.py"))


def places(file: str) -> list[str]:
    """Where a module does to a string what only `core/ids` may do to an id."""
    inside = file.startswith(ROOMS)
    suspect = EVERYWHERE | INSIDE if inside else EVERYWHERE
    found: list[str] = []
    for node in ast.walk(tree(file)):
        line = getattr(node, "lineno", 0)
        found += [f"{file}:{line}: {text!r}" for text in _literals(node) if text in suspect]
        if inside and isinstance(node, ast.JoinedStr) and (text := _built_with(node.values)):
            found.append(f"{file}:{line}: builds with {text!r}")
    return found


@pytest.mark.parametrize("file", [file for file in FILES if file not in HOMES and file not in ALLOWED])
def test_no_other_module_builds_or_splits_an_id(file: str) -> None:
    assert places(file) == [], f"what knows how an id is written belongs into {HOMES[0]}"


@pytest.mark.parametrize("file", ALLOWED)
def test_a_module_that_is_allowed_to_needs_it(file: str) -> None:
    assert places(file), f"take {file} off the list"


def test_the_search_sees_what_it_is_for() -> None:
    assert len(places(HOMES[0])) > 20


CONSOLE = Path(__file__).parents[2] / "console" / "src"
_STRING = r'"(?:[^"\\\n]|\\.)*"|`(?:[^`\\\n]|\\.)*`'
_REGEX = r"/(?:[^/\\\n\[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+/[a-z]*"
_SEARCHES = "split|startsWith|endsWith|indexOf|lastIndexOf|includes|match|matchAll|replace|replaceAll|search"
_SEARCHED = re.compile(rf"\.(?:{_SEARCHES})\(\s*({_STRING}|{_REGEX})|({_REGEX})\.(?:test|exec)\(")
_CUT_BEHIND = re.compile(r"\.slice\([^()]*\.length \+ 1\b")
SIGNS = re.compile(r"[/:#!@~|]")
SIGNS_OF_REGEX = re.compile(r"\\/|\\\||[:#!@~]")
ALLOWED_IN_CONSOLE = {
    "demo.tsx": "an address of the console",
    "inbox/file_bytes.ts": "a type of a file",
    "inbox/moment.tsx": "a time of day",
    "inbox/schema.ts": "JSON pointers",
    "keys.ts": "the name of a key",
    "pages/notices.tsx": "an address of a mail",
    "pages/own_notices.tsx": "a time of day",
    "pages/people.tsx": "the name of a person",
    "push.ts": "base 64, and the name of a browser",
    "push_worker.ts": "an address of the console",
    "router.tsx": "an address of the console",
    "runs/groups.ts": "the words of a search",
    "shell.ts": "a word of a command",
    "sse.ts": "the lines of a stream",
    "ui.tsx": "the end of a sentence",
    "visible.tsx": "the names of characters",
    "words.ts": "the algorithm of a digest",
}
"""As `ALLOWED`, for modules of the console."""
MODULES = sorted(
    path.relative_to(CONSOLE).as_posix()
    for path in CONSOLE.rglob("*.ts*")
    if path.name != "ids.ts" and "generated" not in path.parts
)


def searched(source: str) -> list[str]:
    """Where TypeScript splits or searches a string at a sign that stands in ids."""
    found = [f"{source.count(chr(10), 0, cut.start()) + 1}: {cut[0]}" for cut in _CUT_BEHIND.finditer(source)]
    for one in _SEARCHED.finditer(source):
        literal = one[1] or one[2]
        if literal.startswith("/"):
            looks = SIGNS_OF_REGEX.search(re.sub(r"\(\?(?::|<?[=!])", "(", literal[1 : literal.rindex("/")]))
        else:
            text = re.sub(r"\$\{[^}]*\}", "", literal[1:-1])
            looks = SIGNS.search(text) or (literal.startswith("`") and text != literal[1:-1])
        if looks:
            found.append(f"{source.count(chr(10), 0, one.start()) + 1}: {one[0]}")
    return found


@pytest.mark.parametrize("module", [module for module in MODULES if module not in ALLOWED_IN_CONSOLE])
def test_no_other_module_of_the_console_splits_an_id(module: str) -> None:
    found = searched((CONSOLE / module).read_text("utf-8"))
    assert found == [], "what knows how an id is written belongs into ids.ts"


@pytest.mark.parametrize("module", ALLOWED_IN_CONSOLE)
def test_a_module_of_the_console_that_is_allowed_to_needs_it(module: str) -> None:
    assert searched((CONSOLE / module).read_text("utf-8")), f"take {module} off the list"


@pytest.mark.parametrize(
    "source",
    [
        'call.slice(call.lastIndexOf("/") + 1)',
        'path.split("/")',
        "forked.replace(/@\\d+$/, '')",
        r'id.replace(/#\d+/g, "").replace(/\[\d+\]/g, "")',
        "call.startsWith(`${reply}.`)",
        "scope.startsWith(`${kind}:`)",
        "ref.slice(run.length + 1)",
        r"/!(undo|cancel\d+)$/.test(call)",
    ],
)
def test_what_splits_an_id_is_found_in_typescript(source: str) -> None:
    assert searched(source)


@pytest.mark.parametrize(
    "source", ['words.split(" ")', "text.split(/(?<=\\.) /)", r"/^-?(?:\d+)$/.test(text)", "a / b"]
)
def test_what_splits_no_id_is_not_found_in_typescript(source: str) -> None:
    assert not searched(source)
