"""Every resume is prepared in one place, upgraders included: whoever continues a saved run has checked the same."""

import ast
from collections import defaultdict
from pathlib import Path

import pytest

from adjourn import Runtime
from adjourn.runtime.local_runtime import LocalRuntime

PACKAGE = Path(__file__).parents[2] / "src" / "adjourn"

CALLERS: dict[str, dict[str, str]] = {
    "prepare": {
        "runtime/runtime.py": "`Runtime.resume` and `Run.fork`",
        "runtime/local_runtime.py": "`Agent.resume`, `resume_sync` and `stream`, by way of `Runtime.resume`",
        "cli/run_request.py": "`adjourn run --resume`",
        "cli/commands/checkpoint.py": "`adjourn checkpoint resume`",
    },
    "enter": {"runtime/runtime.py": "as above", "cli/commands/checkpoint.py": "as above"},
    "answers_for": {"runtime/resumption.py": "part of `prepare`"},
    "Prepared": {"runtime/resumption.py": "made by `prepare` alone"},
    "resuming": {"runtime/resumption.py": "part of `prepare`", "flow/execution.py": "a loaded execution takes no answers"},
    "fitting": {"runtime/resumption.py": "part of `prepare`", "flow/execution.py": "`load`, which says nothing to the run yet"},
    "upgraded": {"runtime/resumption.py": "part of `fitting`"},
    "upgrade_of": {"runtime/upgraders.py": "of a saved run", "runtime/program_choice.py": "of a stored run, by the worker that takes it"},
}  # fmt: skip
"""The parts of a resume, and who may call each."""

HOMES = {
    "prepare": "runtime.resumption", "enter": "runtime.resumption", "Prepared": "runtime.resumption",
    "resuming": "runtime.resumption", "fitting": "runtime.resumption",
    "answers_for": "runtime.checked_answers", "upgraded": "runtime.upgraders", "upgrade_of": "runtime.upgraders",
}  # fmt: skip
"""The module in which each is defined; elsewhere the name may mean something else."""


def called(text: str, module: str) -> set[str]:
    """The parts of a resume that a module calls: those that it defines, or imports from where they are defined."""
    tree = ast.parse(text)
    known = {name for name, home in HOMES.items() if home == module}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").removeprefix("adjourn.") in HOMES.values():
            known |= {
                alias.name
                for alias in node.names
                if HOMES.get(alias.name) == (node.module or "").removeprefix("adjourn.")
            }
    calls = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return {call.id for call in calls if isinstance(call, ast.Name) and call.id in known}


@pytest.fixture(scope="module")
def callers() -> dict[str, set[str]]:
    found: dict[str, set[str]] = defaultdict(set)
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).as_posix()
        for part in called(path.read_text("utf-8"), name.removesuffix(".py").replace("/", ".")):
            found[part].add(name)
    return found


@pytest.mark.parametrize("part", CALLERS)
def test_nothing_else_resumes(part: str, callers: dict[str, set[str]]) -> None:
    assert callers[part] == CALLERS[part].keys()


PRIVATE = {"agent/agent.py", "flow/execution.py"}
"""Who runs something without a store: each as a `Run` of a private runtime over memory."""
THIN = {
    "agent/agent.py": {"run", "resume", "stream", "run_sync", "resume_sync"},
    "flow/flow.py": {"start", "start_execution", "create_execution"},
}
STATEMENTS = 6
"""So many, without its docstring, has a wrapper."""


def test_what_has_no_store_is_a_run_of_a_private_runtime_over_memory() -> None:
    found: set[str] = set()
    for path in PACKAGE.rglob("*.py"):
        if "LocalRuntime(" in path.read_text("utf-8").replace("class LocalRuntime(", ""):
            found.add(path.relative_to(PACKAGE).as_posix())
    assert found == PRIVATE
    assert issubclass(LocalRuntime, Runtime)


@pytest.mark.parametrize("file", THIN)
def test_what_a_program_calls_without_a_store_is_a_wrapper_of_a_few_statements(file: str) -> None:
    tree = ast.parse((PACKAGE / file).read_text("utf-8"))
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    found = {node.name: node.body[1:] for node in functions if node.name in THIN[file]}
    assert found.keys() == THIN[file]
    assert not {name: len(body) for name, body in found.items() if len(body) > STATEMENTS}
    loops = [
        part
        for body in found.values()
        for line in body
        for part in ast.walk(line)
        if isinstance(part, ast.For | ast.While)
    ]
    assert not loops, "the one loop is the driver's"


def test_the_rule_itself() -> None:
    text = "from adjourn.runtime.resumption import prepare\nfrom json import enter\nasync def resume():\n    enter(await prepare(1))"
    assert called(text, "server.api.runs") == {"prepare"}
    assert called("def fitting(): ...\nfitting()", "runtime.resumption") == {"fitting"}
    assert called("def fitting(): ...\nfitting()", "mcp.session") == set()
