"""`adjourn notify`: who is told of events, and whether a message arrives."""

from collections.abc import Awaitable, Callable
from typing import Annotated, Any, TypeVar

import typer
from rich.text import Text

from adjourn.cli.error_report import says
from adjourn.cli.extras import needs
from adjourn.cli.opened_database import with_runtime
from adjourn.cli.options import By, Db, Json
from adjourn.cli.person import person
from adjourn.cli.terminal.console import columns, give, out, print_json, remark, say, widths
from adjourn.errors import Conflict, Invalid, NotFound
from adjourn.stores.outbox import TOPICS, Endpoint
from adjourn.stores.protocol import Store
from adjourn.views.api_answers import EndpointView
from adjourn.views.visible import visible

app = typer.Typer(
    name="notify",
    help="Manage notifications: webhooks, chat rooms, mailboxes.",
    no_args_is_help=True,
)
Found = TypeVar("Found")

Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the endpoint.")]
Address = Annotated[
    str,
    typer.Argument(
        metavar="[ADDRESS]",
        help="https://… of a webhook or of a room in Slack, Teams, Discord or Google Chat, or an "
        "address of Apprise such as mailto://…; without it, it is asked for and not shown.",
    ),
]
Topics = Annotated[
    list[str],
    typer.Option("--topic", metavar="TOPIC", help="Only this event; may be repeated."),
]
Person = Annotated[
    str,
    typer.Option("--person", metavar="NAME", help="User who owns it and chooses its events."),
]
NO_SECRET = "its requests are signed with this secret, which is shown only now:"


def _work(
    db: str | None, by: str | None, what: str, work: Callable[[Store, str], Awaitable[Found]]
) -> Found:
    """Do something with the store, as an admin if it has users."""
    who = person(db, by, right="admin", what=what).name
    with needs("server"):
        import adjourn.server  # noqa: F401 # pyright: ignore[reportUnusedImport]
    return with_runtime(db, lambda rt: work(rt.store, who))


async def _found(store: Store, name: str) -> Endpoint:
    for endpoint in await store.endpoints():
        if endpoint.name == name and endpoint.url:
            return endpoint
    raise NotFound(
        f"endpoint {name!r:.80} not found",
        advice="`adjourn notify list` lists all endpoints",
    )


@app.command()
@says("Not added")
def add(
    name: Name,
    address: Address = "",
    topic: Topics = [],  # noqa: B006
    to_person: Person = "",
    db: Db = None,
    as_json: Json = False,
    by: By = None,
) -> None:
    """Add a webhook, a chat room or a mailbox that gets notifications.

    A room's address is what Slack, Teams, Discord or Google Chat gives for its incoming webhook.
    The address is kept in the database and never shown again.
    """
    for one in topic:
        if one not in TOPICS:
            raise Invalid(f"{one!r:.80} is not a topic", advice=f"one of: {', '.join(TOPICS)}")
    url = address or typer.prompt("Address", hide_input=True, err=True)

    async def work(store: Store, who: str) -> str:
        from adjourn.server.notifications.chat_address import service_of
        from adjourn.server.notifications.sender import add_chat, add_webhook

        if any(endpoint.name == name for endpoint in await store.endpoints()):
            raise Conflict(
                f"endpoint {name!r:.80} already exists",
                advice=f"`adjourn notify remove {name}` first",
            )
        if url.startswith(("https://", "http://")) and not service_of(url):
            if to_person:
                raise Invalid("a webhook cannot belong to one person")
            return await add_webhook(store, name, url, topics=topic, by=who)
        await add_chat(store, name, url, topics=topic, by=who, person=to_person)
        return ""

    secret = _work(db, by, "adding an endpoint", work)
    if give(as_json, {"name": name, "secret": secret}):
        return
    out().print(Text(f"Endpoint {name} added."))
    if secret:
        remark(NO_SECRET)
        out().print(Text(secret))
    remark(f"Try it: adjourn notify test {name}")


@app.command("list")
@says("Not listed")
def list_told(db: Db = None, as_json: Json = False, by: By = None) -> None:
    """List all endpoints, without secrets."""

    async def work(store: Store, _: str) -> list[EndpointView]:
        return [EndpointView.of(one) for one in await store.endpoints() if one.url]

    found = _work(db, by, "listing endpoints", work)
    if give(as_json, found):
        return
    if not found:
        say(
            Text(
                "There are no endpoints. `adjourn notify add NAME` adds a webhook, a room or a mailbox."
            )
        )
    rows = [(visible(one.name), visible(one.url), _topics(one)) for one in found]
    wide = widths(rows, len)
    for row in rows:
        out().print(Text(columns(row, wide)))


def _topics(one: EndpointView) -> str:
    told = ", ".join(one.topics) or "everything"
    if one.person:
        return f"{told}, for {visible(one.person)}"
    return told


@app.command()
@says("Not removed")
def remove(name: Name, db: Db = None, as_json: Json = False, by: By = None) -> None:
    """Remove the endpoint."""

    async def work(store: Store, who: str) -> None:
        await _found(store, name)
        await store.endpoints(drop=name, by=who)

    _work(db, by, "removing an endpoint", work)
    give(as_json, {"name": name}, Text(f"Endpoint {name} removed."))


@app.command()
@says("Not sent")
def test(name: Name, db: Db = None, as_json: Json = False, by: By = None) -> None:
    """Send a test now, and say what the other side answered.

    Exits with 1 if it did not arrive. A browser is tested in the console.
    """

    async def work(store: Store, who: str) -> tuple[bool, str]:
        from adjourn.server.notifications.sender import NotificationSender

        return await NotificationSender(store).send_test(await _found(store, name), by=who)

    arrived, said = _work(db, by, "sending a test", work)
    answer: dict[str, Any] = {"name": name, "arrived": arrived, "says": said}
    if as_json:
        print_json(answer)
    elif arrived:
        out().print(Text(f"A test arrived at {name}: {visible(said)}."))
    else:
        say(Text(f"The test did not arrive at {name}: {visible(said)}.", style="red"))
    if not arrived:
        raise typer.Exit(1)
