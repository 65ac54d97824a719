"""The statements of a source, at every depth. What stands in expressions is most of a tree, and few rules are about it."""

import ast
from collections.abc import Iterator


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """Every statement below a node, and what else has statements: the handlers of a `try`, the cases of a `match`."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.expr):
            yield child
            yield from statements(child)
