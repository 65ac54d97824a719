"""The demo in the browser: what it needs, how it ends, and who can read its token."""

import os
import stat
import sys
import threading
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from tests.cli.conftest import AtTerminal

from adjourn.cli.browser import NAME, opened
from adjourn.demo import stage as demo_stage
from adjourn.errors import Misused


def test_without_the_server_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    with pytest.raises(Misused, match=r"adjourn\[server\].*adjourn demo --terminal"):
        demo_stage.need_server()


def test_at_a_terminal_it_prints_the_address_and_ctrl_c_ends_all_of_it(terminal: AtTerminal) -> None:
    pty = terminal("demo", "--no-open", "--port", "0")
    pty.see("#token=")
    pty.see("Ctrl-C stops it.")
    pty.interrupt()
    pty.see("Ended.")
    assert pty.end() == 0
    assert "Traceback" not in pty.plain


def test_the_token_is_in_no_argument_of_a_browser(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Everybody on a machine can read the arguments of every process."""
    seen, arrived = list[tuple[str, str, int]](), threading.Event()

    def browser(url: str) -> bool:
        page = Path(unquote(urlsplit(url).path))
        seen.append((url, page.read_text(), stat.S_IMODE(page.stat().st_mode)))
        arrived.set()
        return True

    monkeypatch.setattr("webbrowser.open", browser)
    (tmp_path / NAME).write_text("left over")
    with opened('http://127.0.0.1:1/#token=secret"&', tmp_path):
        assert arrived.wait(60)
    [(url, page, mode)] = seen
    assert url.startswith("file://") and "secret" not in url
    assert 'content="0; url=http://127.0.0.1:1/#token=secret&quot;&amp;"' in page
    assert mode == 0o600 or os.name != "posix"
    assert not (tmp_path / NAME).exists()
