"""The files of the console: compressed for whoever takes that, and sent once."""

import gzip

import httpx
import pytest

from adjourn.server import Serving, static_files

SCRIPT = b"export const one = 1;\n" * 400
FILES = {"index.html": b"<html><script src='/console.js'></script>", "console.js": SCRIPT, "icon.png": b"\x89PNG" * 50}


@pytest.fixture(autouse=True)
def _built(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(static_files, "_files", lambda: FILES)


async def ask(server: Serving, path: str, **headers: str) -> httpx.Response:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    async with httpx.AsyncClient(base_url=server.url) as client, client.stream("GET", path, headers=named) as found:
        found._content = b"".join([piece async for piece in found.aiter_raw()])
        return found


@pytest.mark.parametrize("path", ["/console.js", "/runs/some-run"])
async def test_a_file_is_sent_compressed(server: Serving, path: str) -> None:
    plain = await ask(server, path, accept_encoding="identity")
    small = await ask(server, path, accept_encoding="br, GZIP;q=0.5")
    assert "content-encoding" not in plain.headers
    assert small.headers["content-encoding"] == "gzip"
    assert gzip.decompress(small.content) == plain.content
    assert small.headers["content-type"] == plain.headers["content-type"]
    assert small.headers["vary"] == plain.headers["vary"] and "Accept-Encoding" in small.headers["vary"]
    if path == "/console.js":
        assert len(small.content) < len(SCRIPT) / 10


@pytest.mark.parametrize("offered", ["", "br", "gzip;q=0", "gzip; q=0.0", "x-gzip"])
async def test_whoever_does_not_take_it_gets_the_file_as_it_is(server: Serving, offered: str) -> None:
    found = await ask(server, "/console.js", accept_encoding=offered)
    assert "content-encoding" not in found.headers and found.content == SCRIPT


async def test_a_picture_is_not_compressed_again(server: Serving) -> None:
    found = await ask(server, "/icon.png", accept_encoding="gzip")
    assert "content-encoding" not in found.headers and found.content == FILES["icon.png"]


async def test_what_a_browser_has_is_not_sent_again_in_the_same_form(server: Serving) -> None:
    plain = await ask(server, "/console.js", accept_encoding="identity")
    small = await ask(server, "/console.js", accept_encoding="gzip")
    assert plain.headers["etag"] != small.headers["etag"]
    again = await ask(server, "/console.js", accept_encoding="gzip", if_none_match=small.headers["etag"])
    assert (again.status_code, again.content) == (304, b"")
    other = await ask(server, "/console.js", accept_encoding="gzip", if_none_match=plain.headers["etag"])
    assert (other.status_code, gzip.decompress(other.content)) == (200, SCRIPT)
