"""Every refusal of the server says what happened and what to do, in the parts that every error has."""

import ast
from collections.abc import Iterator
from pathlib import Path

from adjourn.core.codec import decode
from adjourn.errors import AdjournError, Invalid
from adjourn.server.problem import Problem, respond

SERVER = Path(__file__).parents[2] / "src" / "adjourn" / "server"
OF_OTHERS = {"oidc.py", "oidc_login.py", "model_webhooks.py", "conflict.py"}
"""What another service said or asked for, and what has the parts of an error that it was made of."""


def makes_problem(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Problem"


def without_advice() -> Iterator[str]:
    for file in sorted(SERVER.rglob("*.py")):
        made = filter(makes_problem, ast.walk(ast.parse(file.read_text("utf-8"))))
        for node in made if file.name not in OF_OTHERS else ():
            assert isinstance(node, ast.Call)
            if not any(keyword.arg == "advice" for keyword in node.keywords):
                yield f"{file.relative_to(SERVER)}:{node.lineno} gives no advice"


def test_every_refusal_says_what_to_do() -> None:
    assert not [*without_advice()]


def body(error: AdjournError | Problem) -> dict[str, object]:
    found = decode(bytes(respond(error).body))
    assert isinstance(found, dict)
    return found  # pyright: ignore[reportUnknownVariableType]


def test_a_refusal_and_an_error_have_one_shape() -> None:
    refused = body(Problem(403, "wrong_host", "unknown host 'evil'", advice="use another"))
    failed = body(Invalid("it is wrong", advice="correct it"))
    assert set(refused) == set(failed)
    assert (refused["detail"], refused["what"]) == ("unknown host 'evil'; use another", "unknown host 'evil'")
    assert (refused["advice"], refused["consequence"], refused["code"]) == ("use another", "", "wrong_host")
