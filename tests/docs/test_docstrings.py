"""The docstring of every public callable names every parameter, and no other; of what users read, every field."""

import inspect
import re
from typing import Any

import pytest
from tests.docs.public_api import PublicCallable, public_callables, returned_callables
from tests.docs.test_snippets import ROOT

import adjourn
from adjourn import errors, events, records, views
from adjourn.core.record_parts import Record

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


MADE_BY_THE_DRIVER = {"RunStream"}
"""What users hold and do not read as data."""
OUTCOMES = ("Completed", "Paused", "Stopped", "Cancelled")


@pytest.mark.parametrize(
    "name",
    [
        *(f"adjourn:{name}" for name in OUTCOMES),
        *(f"{module.__name__}:{name}" for module in (errors, events, views) for name in module.__all__),
    ],
)
def test_every_error_event_view_and_outcome_is_in_that_law(name: str) -> None:
    module, _, own = name.partition(":")
    thing = getattr({"adjourn": adjourn, **{one.__name__: one for one in (errors, events, views)}}[module], own)
    if inspect.isclass(thing) and own not in MADE_BY_THE_DRIVER and takes_arguments(thing):
        assert any(one.name == thing.__name__ for one in CALLABLES.values()), f"{name} has fields that no test looks at"


def takes_arguments(kind: type[Any]) -> bool:
    own = [base for base in kind.__mro__ if "__init__" in vars(base) and base.__module__.startswith("adjourn")]
    return bool(own) or hasattr(kind, "__struct_fields__") or hasattr(kind, "__dataclass_fields__")


def explained_fields() -> set[str]:
    """The fields in the table of fields of the page about records."""
    page = (ROOT / "docs" / "reference" / "records.md").read_text("utf-8")
    rows = page.partition("\n## Fields\n")[2].partition("\n## ")[0].splitlines()
    return {name for row in rows if row.startswith("| `") for name in re.findall(r"`(\w+)`", row.split("|")[1])}


RECORDS = {
    name: kind
    for name in records.__all__
    if inspect.isclass(kind := getattr(records, name)) and issubclass(kind, Record) and kind is not Record
}


@pytest.mark.parametrize("name", RECORDS)
def test_every_field_of_a_record_is_explained(name: str) -> None:
    """In its docstring, or in the table of what fields mean in every record."""
    kind = RECORDS[name]
    said = inspect.getdoc(kind) or ""
    own = {field for field in kind.__struct_fields__ if not re.search(rf"`[^`]*\b{field}\b[^`]*`", said)}
    assert own - {"at"} <= explained_fields()


def test_the_table_of_fields_has_no_field_that_is_not_there() -> None:
    assert len(RECORDS) > 35
    assert explained_fields() <= {field for kind in RECORDS.values() for field in kind.__struct_fields__}
