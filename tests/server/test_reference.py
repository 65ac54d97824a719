"""The reference of the server is that of this server: every name, every operation, every code."""

import inspect
import re
from pathlib import Path
from typing import Any

import pytest

import adjourn.server
from adjourn.server import Guard, Identity, Postman, Serving, User, Users, create_app, serve, serving
from adjourn.server.api.operations import OPERATIONS
from adjourn.server.front_ends.endpoints import FRONT_ENDS
from adjourn.server.notifications.sender import add_chat, add_webhook
from adjourn.server.openapi import openapi

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "reference" / "server.md").read_text("utf-8")
QUOTED = " ".join(re.findall(r"`([^`\n]+)`", PAGE)) + " ".join(re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL))


def test_the_table_of_operations_is_the_one_that_is_served() -> None:
    rows = re.findall(r"^\| `([A-Z]+) (/[^`]*)` \| (\w+) \| (.*) \|$", PAGE, re.MULTILINE)
    assert rows == [(o.method, o.path, o.right, o.summary) for o in (*OPERATIONS, *FRONT_ENDS)]


@pytest.mark.parametrize("name", adjourn.server.__all__)
def test_every_public_name_is_described_and_has_a_docstring(name: str) -> None:
    assert re.search(rf"\b{name}\b", QUOTED)
    assert inspect.getdoc(getattr(adjourn.server, name))


@pytest.mark.parametrize("kind", [Serving, Guard, Identity, User, Users, Postman], ids=lambda k: k.__name__)
def test_every_member_is_described(kind: type[Any]) -> None:
    own = {n for n, v in vars(kind).items() if callable(v) and not n.startswith("_")}
    for name in own | set(getattr(kind, "__dataclass_fields__", ())):
        assert re.search(rf"\b{name}\b", QUOTED), name


@pytest.mark.parametrize(
    "function", [serve, serving, create_app, Guard, Postman, add_webhook, add_chat], ids=lambda f: f.__name__
)
def test_every_argument_is_described(function: Any) -> None:
    for name in inspect.signature(function).parameters:
        assert re.search(rf"\b{name}\b", QUOTED), name


def test_every_code_that_only_http_knows_is_listed() -> None:
    source = "".join(p.read_text("utf-8") for p in (ROOT / "src" / "adjourn" / "server").glob("*.py"))
    codes = set(re.findall(r'Problem\(\s*\d+,\s*"(\w+)"', source))
    assert len(codes) > 10
    assert {code for code in codes if f"`{code}`" not in PAGE} == set()


def test_every_answer_of_the_document_names_its_schema() -> None:
    document = openapi()
    names = set(document["components"]["schemas"])
    assert set(re.findall(r"#/components/schemas/(\w+)", str(document))) <= names
    ids = [o["operationId"] for path in document["paths"].values() for o in path.values()]
    assert len(ids) == len(set(ids)) == len(OPERATIONS) + len(FRONT_ENDS)
    links = {
        name
        for path in document["paths"].values()
        for o in path.values()
        for name in o["responses"]["200"].get("links", {})
    }
    assert links <= set(ids)
