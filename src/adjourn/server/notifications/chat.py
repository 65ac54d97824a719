"""Chat and mail, through Apprise (`adjourn[notify]`). A message says where to look; no link in it
decides anything."""

import json
import re
import unicodedata
import warnings
from functools import cache
from typing import Any

from adjourn.core.duration import moment
from adjourn.core.interrupt import Interrupt
from adjourn.errors import Invalid, Misused
from adjourn.views.words import KINDS, TOPICS, kind_words

ARGUMENTS, VALUE = 20, 200
"""So many arguments are shown, and so many characters of each."""
SECRET = re.compile(r"passw|secret|token|credential|authori[sz]ation|cookie|private|api_?key", re.I)
COMMAND = re.compile(r"[<>\[\]`]|://|www\.|(^|[\s\"'])@")
"""What a chat could take for a link, a mention or markup of the sender's."""


@cache
def _apprise() -> Any:
    try:
        import apprise
    except ImportError:
        raise Misused("chat and mail need Apprise: pip install 'adjourn[notify]'") from None
    loaded: Any = apprise
    with warnings.catch_warnings():
        # its services import modules that are on their way out
        warnings.simplefilter("ignore", DeprecationWarning)
        loaded.Apprise().add("json://localhost")  # with the first address, it loads all of them
    return loaded


def check_address(url: str) -> None:
    """Raise `Invalid` if Apprise does not know such an address."""
    if not _apprise().Apprise().add(url):
        raise Invalid(
            f"Apprise has no service for {url.partition('://')[0]!r:.40}://…",
            advice="see its list of services",
        )


def words(
    topic: str,
    data: dict[str, Any],
    link: str,
    item: Interrupt | None = None,
    *,
    details: bool = True,
) -> tuple[str, str]:
    """A message's title and text. `item`: what waits. `details`: whether it is shown."""
    tool = data.get("tool") or (item.call.tool if item and item.call else "")
    subject = shown(tool or data.get("agent") or data.get("scope") or "a run")
    what = TOPICS[topic].news if topic in TOPICS else topic
    if topic == "interrupt.opened" and data.get("kind") in KINDS:
        what = kind_words(data["kind"], item.payload if item else None).message
    lines = [
        f"{name}: {shown(str(data[key]))}"
        for name, key in (("agent", "agent"), ("run", "run_id"))
        if data.get(key)
    ]
    if data.get("escalated"):
        groups = ", ".join(map(shown, data.get("groups", ())))
        lines.append(f"escalated: no answer in time{groups and f', now asks {groups}'}")
    if item is not None and details:
        lines += action(item)
    if link:
        lines.append(f"Open it: {link}")
    return f"{subject} {what}", "\n".join(lines)


def action(item: Interrupt) -> list[str]:
    """What exactly waits, why, under which digest and until when. What may be a secret, is long, or
    could be taken for a link is left out by name."""
    lines: list[str] = []
    if item.call is not None:
        arguments = item.call.arguments
        lines += [f"  {shown(n)}: {_value(n, v)}" for n, v in [*arguments.items()][:ARGUMENTS]]
        if len(arguments) > ARGUMENTS:
            lines.append(f"  and {len(arguments) - ARGUMENTS} more")
        if item.call.reason:
            lines.append(f"why: {_value('', item.call.reason)}")
    digest = item.digest[:16]
    lines.append(f"digest: {' '.join(digest[n : n + 4] for n in range(0, 16, 4))}")
    if item.expires_at is not None:
        lines.append(f"until: {moment(item.expires_at):%Y-%m-%d %H:%M} UTC")
    return [*lines, "Nothing can be decided here."]


def _value(name: str, value: Any) -> str:
    if SECRET.search(name):
        return "left out, it may be a secret"
    text = json.dumps(value, ensure_ascii=False)
    if len(text) > VALUE:
        return f"left out, {len(text):,} characters"
    if COMMAND.search(text):
        return "left out, it could be taken for a link or a command"
    return shown(text)


def shown(text: str) -> str:
    """A name as it is, without characters that hide, move or command; and not long."""
    return "".join("\ufffd" if _hides(c) else c for c in text[:200])


def _hides(c: str) -> bool:
    blank = c in "\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0"
    selects = "\ufe00" <= c <= "\ufe0f" or "\U000e0100" <= c <= "\U000e01ef"
    return blank or selects or not c.isprintable() or unicodedata.category(c) == "Cf"


async def send(url: str, title: str, text: str) -> None:
    """Hand a message to a service; raises `OSError` if it does not take it."""
    apprise = _apprise()
    service = apprise.Apprise()
    if not service.add(url):
        raise OSError("Apprise no longer supports this address")
    if not await service.async_notify(
        title=title, body=text, body_format=apprise.NotifyFormat.TEXT
    ):
        raise OSError("the service did not accept the message")
