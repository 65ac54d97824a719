"""Where does this line live? Twenty lines drawn from the walks, for somebody who has seen only the names of the modules.

    python -m tests.house.questions 1            # the names of all modules, then the questions of seed 1
    python -m tests.house.questions 1 answers    # where the lines stand

A question is the first line of a function in which a hop of a walk ends, as whoever reads the caller looks for it, with the
class that it stands in, and what its docstring says, or its first statements. No module is asked for twice.
"""

import ast
import json
import random
import subprocess
import sys
from collections.abc import Iterator

from tests.house.house_page import ROOT, modules
from tests.house.test_layers import PACKAGE

MANY = 20
LINES = 3
"""Of a function without a docstring."""


def walked() -> list[tuple[str, str]]:
    """Module and function of everything in which a hop of a walk ends."""
    ran = subprocess.run(
        [sys.executable, "-m", "tests.house.walks"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    names = {name for leg in json.loads(ran.stdout) for name in leg["entered"]}
    pairs = (tuple(name.split(":")) for name in sorted(names))
    return [(module.removesuffix("/__init__"), function) for module, function in pairs]


def functions_in(node: ast.AST, inside: str = "") -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """The functions and methods of a module, by their qualified names."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield inside + child.name, child
        elif isinstance(child, ast.ClassDef):
            yield from functions_in(child, f"{inside}{child.name}.")


def line_of(module: str, function: str) -> str:
    """`def` with what it takes, and what stands below it; empty for what Python calls by itself, or inside of another one."""
    file = PACKAGE / f"{module}.py"
    source = (file if file.exists() else PACKAGE / module / "__init__.py").read_text("utf-8")
    node = dict(functions_in(ast.parse(source))).get(function)
    if node is None or node.name.startswith("__"):
        return ""
    within = function.rpartition(".")[0]
    below = ast.get_docstring(node) or " / ".join(ast.unparse(one) for one in node.body[:LINES])
    said = " ".join(below.partition("\n\n")[0].split())
    return f"{within and f'class {within}: '}def {node.name}({ast.unparse(node.args)}): {said}"


def drawn(seed: int) -> list[tuple[str, str]]:
    """Module and line of each question."""
    chance, found = random.Random(seed), dict[str, str]()
    functions = walked()
    chance.shuffle(functions)
    for module, function in functions:
        if module not in found and (line := line_of(module, function)):
            found[module] = line
        if len(found) == MANY:
            break
    return [*found.items()]


def main(seed: str, *asked: str) -> None:
    """Print the questions of a seed, or their answers."""
    if not asked:
        print(*sorted(modules()), "", sep="\n")
    for number, (module, line) in enumerate(drawn(int(seed)), 1):
        print(f"{number}. {module if asked else line}")


if __name__ == "__main__":
    main(*sys.argv[1:])
