"""Where the console of a database is: said by the environment, or by the server that this machine
started last."""

import json
import os
from contextlib import suppress
from typing import Any
from urllib.parse import quote

from adjourn.cli.opened_database import address_of
from adjourn.cli.state_file import state_file
from adjourn.cli.terminal.hints import command
from adjourn.driver.process_identity import is_dead, new_worker_id, retire
from adjourn.errors import Invalid

VARIABLE = "ADJOURN_CONSOLE"


class ConsoleNote:
    """The address of the console that this process serves."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._process = new_worker_id()
        self._written = ""

    def write(self, url: str) -> None:
        """Keep it; a machine that has no place for it goes without."""
        self._written = json.dumps({"url": url, "process": self._process})
        with suppress(OSError, RuntimeError):
            file = state_file(self._address, "console")
            file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            file.write_text(self._written, "utf-8")

    def forget(self) -> None:
        """Remove it, unless another server has written its own since."""
        with suppress(OSError, RuntimeError):
            file = state_file(self._address, "console")
            if file.read_text("utf-8") == self._written:
                file.unlink()
        retire(self._process)


def console_of(db: str | None) -> str:
    """The address of the console of a database, without a slash at its end.

    Raises `Invalid` if none is known.
    """
    if said := os.environ.get(VARIABLE):
        return said.rstrip("/")
    try:
        kept: Any = json.loads(state_file(address_of(db), "console").read_text("utf-8"))
        url, process = str(kept["url"]), str(kept["process"])
    except (OSError, RuntimeError, ValueError, TypeError, KeyError):
        url, process = "", ""
    if url and not is_dead(process):
        return url.rstrip("/")
    raise Invalid(
        "no console address is known for this database",
        advice=f"set {VARIABLE} to its address, or serve one: {command(db, 'serve')}",
    )


def run_page(db: str | None, run_id: str) -> str:
    """The address of a run's page in the console. Raises as `console_of`."""
    return f"{console_of(db)}/runs/{quote(run_id, safe='')}"
