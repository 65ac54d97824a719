"""What a server's tool has given, as what is recorded and what a model reads."""

import base64
import binascii
import hashlib
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from adjourn.core.files import File, media_type_of
from adjourn.errors import Invalid

if TYPE_CHECKING:
    from mcp_types import CallToolResult


def recorded(result: "CallToolResult") -> Any:
    """The result: its structured content, else its text, else its parts one by one. Images,
    recordings and PDF documents are files; what else is not text is described, never copied."""
    parts = [
        _part(block.model_dump(by_alias=True, mode="json", exclude_none=True))
        for block in result.content
    ]
    texts = [part["text"] for part in parts if part["type"] == "text"]
    plain = len(texts) == len(parts)
    if result.structured_content is not None:
        if plain:
            return result.structured_content
        others = [part for part in parts if part["type"] != "text"]
        return {"structured": result.structured_content, "content": others}
    if plain:
        return "\n".join(texts)
    items = [part["text"] if part["type"] == "text" else part.get("file", part) for part in parts]
    if all(isinstance(item, str | File) for item in items):
        return items
    return {"content": parts}


def error_text(result: "CallToolResult") -> str:
    """What a tool that failed says."""
    texts = [block.text for block in result.content if block.type == "text"]
    return "\n".join(texts) or "the tool failed and did not say why"


def _part(block: dict[str, Any]) -> dict[str, Any]:
    kind = block["type"]
    if kind == "text":
        return {"type": "text", "text": block["text"]}
    if kind in ("image", "audio"):
        return {"type": kind, **_described(kind, block.get("mimeType", ""), block["data"])}
    if kind == "resource_link":
        kept = ("uri", "name", "title", "description", "mimeType", "size")
        return {"type": kind, **{key: block[key] for key in kept if key in block}}
    if kind == "resource":
        resource = block["resource"]
        about = {key: resource[key] for key in ("uri", "mimeType") if key in resource}
        if "text" in resource:
            return {"type": kind, **about, "text": resource["text"]}
        return {
            "type": kind,
            **about,
            **_described("file", about.get("mimeType", ""), resource["blob"]),
        }
    return {"type": kind, "note": f"a part of the kind {kind!r}, which was left out"}


def _described(kind: str, media: str, data: str) -> dict[str, Any]:
    """Bytes that are not recorded: what they are, how many, and by what they can be known."""
    try:
        raw = base64.b64decode(data, validate=True)
    except (ValueError, binascii.Error):
        return {"note": f"an {kind} that cannot be read: it is not base64"}
    if kind != "file" or media_type_of(raw):
        with suppress(Invalid):
            return {"file": File(raw, media)}
    name = {"image": "an image", "audio": "a recording", "file": "a file"}[kind]
    return {
        "mimeType": media,
        "bytes": len(raw),
        "sha256": hashlib.sha256(raw).hexdigest(),
        "note": f"{name} of {len(raw):,} bytes ({media or 'unknown type'}); its content is not shown",
    }
