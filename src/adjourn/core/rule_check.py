"""Whether a rule of a policy can mean what it says: its tools and arguments exist, and its
conditions compare with values that can be there."""

from collections.abc import Iterable
from itertools import chain
from typing import Any

from adjourn.core.argument_conditions import Condition
from adjourn.core.policy_rule import CALLS, Rule, Schemas
from adjourn.core.schema_document import kinds_of, may_be, names_of, possible
from adjourn.errors import InvalidDefinition

ORDERS = (">", ">=", "<", "<=")
TEXTS = ("matches", "email in", "host in", "under")


def check_rule(rule: Rule, tools: Schemas) -> None:
    """Raise `InvalidDefinition` if it is about a tool or an argument that there is not, or about a
    value that its argument never has."""
    named = list(filter(rule.is_about, tools))
    if not named and set(rule.pattern).isdisjoint("*?["):
        raise InvalidDefinition(
            f"the rule «{rule.text}»: neither this agent nor a nested agent has the tool "
            f"{rule.pattern!r}. {_near(rule.pattern, tools)} (a glob, such as "
            f"'{rule.pattern}*', may match tools of other agents)"
        )
    for key in filter(lambda key: key.startswith(CALLS), rule.run or ()):
        counted = key.removeprefix(CALLS)
        if counted not in tools:
            raise InvalidDefinition(
                f"the rule «{rule.text}»: neither this agent nor a nested agent has the tool {counted!r}. "
                f"{_near(counted, tools)}"
            )
    if named and rule.conditions:
        schemas = [tools[name]() for name in named]
        for key, test in rule.conditions.items():
            _check_argument(rule, key, named, schemas)
            _check_operand(rule, key, test, schemas)


def _check_argument(rule: Rule, key: str, named: list[str], schemas: list[Any]) -> None:
    if any(possible(schema, key) for schema in schemas):
        return
    known = sorted(set(chain.from_iterable(map(names_of, schemas))))
    raise InvalidDefinition(
        f"the rule «{rule.text}»: {_all(named)} no argument {key!r}. {_near(key, known)}"
        + (" (use a function to check what is inside a list)" if "." in key else "")
    )


def _check_operand(rule: Rule, key: str, test: Condition, schemas: list[Any]) -> None:
    """A condition on a value that the argument never has is always false, or always true."""
    for named, kinds, values in _wanted(test):
        if not any(may_be(schema, key, kinds, values) for schema in schemas):
            raise InvalidDefinition(
                f"the rule «{rule.text}»: the argument {key!r} is never {named}",
                advice="compare with a value that the tool's schema allows, or judge it with a function",
            )


def _wanted(test: Condition) -> list[tuple[str, tuple[str, ...], tuple[Any, ...]]]:
    """What a condition compares with: in words, the JSON types of it, and the value where only that
    one counts."""
    operator, operand = test.operator.removeprefix("not "), test.operand
    if operator == "in":
        return [(f"{value!r:.80}", kinds_of(value), (value,)) for value in operand]
    if operator in ("==", "!="):
        return [(f"{operand!r:.80}", kinds_of(operand), (operand,))]
    if operator in TEXTS or (operator in ORDERS and isinstance(operand, str)):
        return [("a string", ("string",), ())]
    if operator in ORDERS:
        return [("a number", ("integer", "number"), ())]
    return []


def _all(tools: list[str]) -> str:
    if len(tools) == 1:
        return f"tool {tools[0]!r} has"
    return f"the tools {', '.join(map(repr, tools[:5]))} have"


def _near(name: str, known: Iterable[str]) -> str:
    """The known names that are nearest, else some of them. Of `money.cents` the last part counts as
    well."""
    names = sorted(known)
    ends = {known_name.rpartition(".")[2]: known_name for known_name in reversed(names)}
    import difflib

    near = difflib.get_close_matches(name, names, 2, 0.8)
    for end in difflib.get_close_matches(name.rpartition(".")[2], ends, 1, 0.8):
        near.append(ends[end])
    if near:
        return f"Did you mean {' or '.join(map(repr, dict.fromkeys(near)))}?"
    if not names:
        return "There are none."
    return f"There are {', '.join(map(repr, names[:10]))}{' …' if len(names) > 10 else ''}."
