"""The console's files. The addresses of its places are the page itself; all others are not found."""

import gzip
import hashlib
import re
from functools import cache, lru_cache
from html import escape
from importlib import resources

from starlette.requests import Request
from starlette.responses import Response

from adjourn.server.problem import Problem, check_reading

KINDS = {
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "svg": "image/svg+xml",
    "png": "image/png",
    "ico": "image/x-icon",
    "json": "application/json",
    "webmanifest": "application/manifest+json",
}
INDEX = "index.html"
ALREADY_SMALL = frozenset({"png", "ico"})
"""Kinds that compression does not make smaller."""
PLACES = frozenset({"", "inbox", "runs", "compare", "numbers", "workers", "audit", "settings"})
"""How the addresses of the console's places begin; `console/src/main.tsx` has the same."""


@cache
def _files() -> dict[str, bytes]:
    folder = resources.files("adjourn.server") / "static"
    if not folder.is_dir():
        return {}
    return {
        f.name: f.read_bytes()
        for f in folder.iterdir()
        if f.is_file() and f.name.rpartition(".")[2] in KINDS
    }


def page(request: Request, path: list[str]) -> Response:
    """A file by its name, or the page."""
    check_reading(request)
    files = _files()
    if len(path) == 1 and path[0] in files:
        name = path[-1]
    elif path[0] in PLACES:
        name = INDEX
    else:
        return _nothing(request.scope.get("root_path", ""))
    if name not in files:
        raise Problem(
            404,
            "no_console",
            "the console was not built",
            advice="run `make console`, or use the API under /api/v1",
        )
    if name != INDEX:
        body = files[name]
    else:
        body = _at(files[name], request.scope.get("root_path", ""))
    kind = name.rpartition(".")[2]
    headers = {"Cache-Control": "no-cache"}
    if kind not in ALREADY_SMALL and _takes_gzip(request):
        headers["Content-Encoding"] = "gzip"
        body = _compressed(body)
    tag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
    headers["ETag"] = tag
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    return Response(body, media_type=KINDS[kind], headers=headers)


def _takes_gzip(request: Request) -> bool:
    for offered in request.headers.get("accept-encoding", "").split(","):
        coding, _, weight = offered.partition(";")
        if coding.strip().lower() == "gzip":
            return re.fullmatch(r"q=0(\.0*)?", weight.strip()) is None
    return False


@lru_cache(maxsize=64)
def _compressed(body: bytes) -> bytes:
    return gzip.compress(body, mtime=0)


def _nothing(root: str) -> Response:
    """The page of an address that nothing is at."""
    home = escape(root.rstrip("/"), quote=True)
    body = (
        f'<!doctype html><title>Not found</title><h1>Not found</h1><p><a href="{home}/">Adjourn</a>'
    )
    headers = {"Cache-Control": "no-store"}
    return Response(body, 404, media_type=KINDS["html"], headers=headers)


def _at(body: bytes, root: str) -> bytes:
    """The page, where the application is mounted: its files are there too, and `data-base` tells
    its script."""
    base = escape(root.rstrip("/"), quote=True).encode()
    body = body.replace(b"<html", b'<html data-base="' + base + b'"', 1)
    return body.replace(b'src="/', b'src="' + base + b"/").replace(
        b'href="/', b'href="' + base + b"/"
    )
