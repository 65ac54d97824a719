"""Opens a link that is a secret: a browser's arguments can be read by everybody on the machine, so
it gets a file."""

import os
import threading
import webbrowser
from collections.abc import Generator
from contextlib import contextmanager, suppress
from html import escape
from pathlib import Path

NAME = "open.html"
PAGE = (
    '<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0; '
    'url={link}"><title>Adjourn</title>\n'
)


@contextmanager
def opened(link: str, folder: Path) -> Generator[None]:
    """Show `link` in a browser, by way of a page in `folder` that only its owner can read; the page
    is gone afterwards."""
    page = folder / NAME
    with suppress(FileNotFoundError):
        page.unlink()
    file = os.open(page, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    with os.fdopen(file, "w", encoding="utf-8") as text:
        text.write(PAGE.format(link=escape(link, quote=True)))
    threading.Thread(
        target=webbrowser.open, args=(page.resolve().as_uri(),), name="adjourn-browser", daemon=True
    ).start()
    try:
        yield
    finally:
        with suppress(FileNotFoundError):
            page.unlink()
