"""`adjourn notify`: who is told of events, from the terminal."""

import pytest
import urllib3  # noqa: F401  # pyright: ignore[reportUnusedImport]  where it is imported first, it binds a socket
from tests.cli.conftest import Run

pytestmark = pytest.mark.filterwarnings(
    "ignore::DeprecationWarning"
)  # Apprise imports modules that are on their way out

ROOM = "https://hooks.slack.com/services/T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ"


def test_a_room_is_added_listed_without_its_secret_and_removed(adjourn: Run, waiting: str) -> None:
    assert adjourn("notify", "list").out == ""
    said = adjourn("notify", "add", "ops", ROOM, "--topic", "interrupt.opened")
    assert said.code == 0 and "Endpoint ops added." in said.out and "adjourn notify test ops" in said.err
    [told] = adjourn("notify", "list", "--json").json
    assert (told["name"], told["url"], told["topics"]) == ("ops", "https://hooks.slack.com…", ["interrupt.opened"])
    assert "TIiajkd" not in adjourn("notify", "list").out
    again = adjourn("notify", "add", "ops", ROOM)
    assert again.code != 0 and "adjourn notify remove ops" in again.err
    assert adjourn("notify", "remove", "ops").out.strip() == "Endpoint ops removed."
    gone = adjourn("notify", "remove", "ops")
    assert gone.code != 0 and "`adjourn notify list` lists all endpoints" in gone.err


def test_a_webhook_gets_a_secret_that_is_printed_once(adjourn: Run, waiting: str) -> None:
    secret = adjourn("notify", "add", "hook", "https://hooks.example/x", "--json").json["secret"]
    assert secret.startswith("whsec_") and secret not in adjourn("notify", "list", "--json").out
    mine = adjourn("notify", "add", "mine", "https://hooks.example/x", "--person", "ana")
    assert mine.code != 0 and "cannot belong to one person" in mine.err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("add", "room", "carrier-pigeon://loft"), "Apprise has no service"),
        (("add", "hook", "https://127.0.0.1/"), "not a public address"),
        (("add", "room", ROOM, "--topic", "lunch"), "One of: interrupt.opened"),
        (("test", "nobody-here"), "`adjourn notify list` lists all endpoints"),
    ],
)
def test_what_cannot_be_told_says_what_to_do(adjourn: Run, waiting: str, arguments: tuple[str, ...], says: str) -> None:
    said = adjourn("notify", *arguments)
    assert said.code != 0 and says in said.err


def test_a_test_that_does_not_arrive_says_so_and_exits_with_1(adjourn: Run, waiting: str) -> None:
    assert adjourn("notify", "add", "room", "json://127.0.0.1:9/").code == 0
    said = adjourn("notify", "test", "room")
    assert said.code == 1 and "did not arrive at room" in said.err
