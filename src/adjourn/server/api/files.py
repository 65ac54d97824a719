"""Files over HTTP: given with the input of a run, and fetched again."""

import base64
import binascii
from typing import Any, cast

from starlette.responses import Response

from adjourn.core.files import FILE, RASTER, File, media_type_of
from adjourn.core.messages import files_in
from adjourn.driver.run_files import run_files
from adjourn.errors import Invalid, NotFound
from adjourn.runtime.erasure_verbs import check_content
from adjourn.server.api_request import ApiRequest, operation

DATA = "$data"
"""The key by which a file is given: its bytes as base64; beside it `type` and `name`."""
SANDBOX = "default-src 'none'; sandbox"


def given_files(value: Any) -> Any:
    """An input with the files that it gives; raises `Invalid`."""
    if isinstance(value, list):
        return [given_files(part) for part in cast("list[Any]", value)]
    if not isinstance(value, dict):
        return value
    known = cast("dict[str, Any]", value)
    if DATA not in known:
        return {key: given_files(part) for key, part in known.items()}
    data, kind, name = known[DATA], known.get("type", ""), known.get("name", "")
    if known.keys() - {DATA, "type", "name"} or not all(
        isinstance(part, str) for part in (data, kind, name)
    ):
        raise Invalid(
            f"a file has {DATA!r}, 'type' and 'name', which are strings, and no other fields"
        )
    return decoded_file(data, kind, name)


def decoded_file(data: str, kind: str, name: str) -> File:
    """A file from base64; raises `Invalid`."""
    try:
        return File(base64.b64decode(data, validate=True), kind, name)
    except (ValueError, binascii.Error) as e:
        if isinstance(e, Invalid):
            raise
        raise Invalid("the bytes of a file must be base64") from None


@operation(
    "GET /runs/{run_id}/blobs/{digest}",
    "read",
    {"type": "string", "format": "binary"},
    problems=(409,),
    kind="*/*",
)
async def get_blob(c: ApiRequest) -> Any:
    """The bytes of a file that the run refers to.

    Also of a turn before it, as far as its conversation has that. A browser shows only images that
    are nothing but pixels, by what their bytes are; anything else is a download.
    """
    run, digest = c.path["run_id"], c.path["digest"]
    data = (await c.rt.store.blobs(run, [digest])).get(digest) or await _earlier(c, run, digest)
    if data is None:
        raise NotFound(f"run {run!r:.80} has no file {digest!r:.80}")
    kind = media_type_of(data)
    headers = {"Cache-Control": "private, no-store", "Content-Security-Policy": SANDBOX}
    if kind not in RASTER:
        kind = "application/octet-stream"
        headers["Content-Disposition"] = f'attachment; filename="{digest[:16]}"'
    return Response(data, media_type=kind, headers=headers)


async def _earlier(c: ApiRequest, run: str, digest: str) -> bytes | None:
    """A file of the turns before a run. They may be another's, and go on after this one began: so
    only what was said to this run, which is what its conversation shows."""
    check_content(run, await c.rt.store.load(run))
    _, state = await c.app.folds.of(run)
    said = await c.rt.worker.earlier.conversation(state)
    if all(ref[FILE] != digest for ref in files_in(said)):
        return None
    return (await run_files(c.rt.store, state.started, [digest])).get(digest)
