"""The docstring of every public callable names every parameter, and no other."""

import re

import pytest
from tests.docs.public_api import PublicCallable, public_callables, returned_callables

CALLABLES = {f"{one.module}:{one.name}": one for one in (*public_callables(), *returned_callables())}


def is_named(name: str, one: PublicCallable) -> bool:
    return name in one.documented or re.search(rf"`[^`]*\b{re.escape(name)}\b[^`]*`", one.text) is not None


def test_there_are_public_callables() -> None:
    assert {"adjourn:Agent.run", "adjourn:Runtime", "adjourn.server:serving", "adjourn:ask"} <= {*CALLABLES}


@pytest.mark.parametrize("name", CALLABLES)
def test_the_docstring_names_every_parameter(name: str) -> None:
    one = CALLABLES[name]
    assert one.text, f"{name} needs a docstring"
    missing = [parameter.name for parameter in one.parameters if not is_named(parameter.name, one)]
    assert not missing, f"the docstring of {name} does not name {missing}"


@pytest.mark.parametrize("name", CALLABLES)
def test_the_docstring_names_no_parameter_that_is_not_there(name: str) -> None:
    one = CALLABLES[name]
    unknown = {*one.documented} - {parameter.name for parameter in one.parameters}
    assert not unknown, f"the docstring of {name} explains {sorted(unknown)}"
