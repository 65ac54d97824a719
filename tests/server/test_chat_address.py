"""Chat rooms and mailboxes that an admin adds over HTTP: known services and public mail servers, and no secret comes back."""

import pytest
from tests.server.test_people import HERE
from tests.server.world import Client

from adjourn.errors import NotAllowed
from adjourn.server import Serving, serving
from adjourn.server.notifications.chat_address import check_room, mail_address, service_of
from adjourn.server.notifications.webhook import networks

pytestmark = pytest.mark.filterwarnings(
    "ignore::DeprecationWarning"
)  # Apprise imports modules that are on their way out

SLACK = "https://hooks.slack.com/services/T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ"
TEAMS = (
    "https://prod-12.westeurope.logic.azure.com/workflows/643e69f83c8944/triggers/manual/paths/invoke"
    "?api-version=2016-06-01&sp=%2Ftriggers%2Fmanual%2Frun&sv=1.0&sig=KODuebWbDGYFr0z0eu"
)
ROOMS = {
    "Slack": SLACK,
    "Teams": TEAMS,
    "Discord": "https://discord.com/api/webhooks/1234/abcdef",
    "Google Chat": "https://chat.googleapis.com/v1/spaces/AAA/messages?key=k&token=t",
}


@pytest.mark.parametrize("service", ROOMS)
def test_the_address_that_a_service_gives_is_taken(service: str) -> None:
    assert check_room(ROOMS[service]) == service


@pytest.mark.parametrize(
    "url",
    [
        "https://example.com/services/T/B/X",
        "https://hooks.slack.com.example.com/services/T/B/X",
        "https://evil-logic.azure.com/workflows/a",
        "https://hooks.slack.com/services/T/B",
        "https://hooks.slack.com@10.0.0.1/services/T/B/X",
        "json://10.0.0.1/",
        "http://hooks.slack.com/services/T/B/X",
    ],
)
def test_any_other_address_is_refused_with_what_to_do(url: str) -> None:
    with pytest.raises(NotAllowed, match=r"Slack, Teams, Discord, Google Chat.*nothing was added.*adjourn notify add"):
        check_room(url)


def test_a_name_that_only_ends_alike_is_no_service() -> None:
    assert service_of("https://notlogic.azure.com/x") == "" != service_of(TEAMS)


async def test_mail_goes_through_a_server_that_is_public_or_allowed() -> None:
    mail = {"server": "127.0.0.1", "to": "ops@example.com", "user": "me@x", "password": "p@:/s"}
    with pytest.raises(NotAllowed, match=r"not a public address.*nothing was added"):
        await mail_address(mail, ())
    url = await mail_address(mail, networks(HERE))
    assert url.startswith("mailtos://me%40x:p%40%3A%2Fs@127.0.0.1:587?to=ops%40example.com&mode=starttls")
    assert "mode=ssl" in await mail_address({**mail, "port": 465}, networks(HERE))


async def test_an_admin_adds_a_room_and_its_address_is_never_shown_again(server: Serving, admin: Client) -> None:
    room = {"name": "ops", "url": SLACK, "topics": ["interrupt.opened"]}
    assert (await admin.post("endpoints/chat", json=room)).status_code == 200
    [listed] = (await admin.get("endpoints")).json()["items"]
    assert (listed["kind"], listed["url"], listed["topics"]) == (
        "apprise",
        "https://hooks.slack.com…",
        ["interrupt.opened"],
    )
    assert (await admin.post("endpoints/chat", json=room)).status_code == 409
    refused = await admin.post("endpoints/chat", json={"name": "other", "url": "https://example.com/x"})
    assert (refused.status_code, refused.json()["code"]) == (403, "not_allowed")
    mail = {"name": "mail", "server": "10.0.0.8", "to": "ops@example.com", "password": "hunter2"}
    assert (await admin.post("endpoints/mail", json=mail)).status_code == 403
    told = str((await admin.get("audit")).json()) + str((await admin.get("endpoints")).json())
    assert "TIiajkdnlazkcOXrIdevi7FQ" not in told and "hunter2" not in told


async def test_a_mailbox_is_added_by_its_server_and_its_password_is_never_shown_again() -> None:
    async with serving("memory://", [], port=0, name="ana", token=True, allow=HERE) as up, Client(up, up.token) as boss:
        mail = {
            "name": "mail",
            "server": "127.0.0.1",
            "port": 465,
            "to": "ops@example.com",
            "user": "me",
            "password": "hunter2",
        }
        assert (await boss.post("endpoints/mail", json=mail)).status_code == 200
        [listed] = (await boss.get("endpoints")).json()["items"]
        assert listed["url"] == "mailtos://…" and "hunter2" not in str(listed)
        tried = (await boss.post("endpoints/test", json={"name": "mail"})).json()
        assert tried["arrived"] is False and "hunter2" not in str(tried), "there is no mail server here"
