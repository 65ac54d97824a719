"""Files as the content blocks of LangChain's messages, there and back."""

# LangGraph's own types are unknown in part.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from collections.abc import Iterable, Mapping
from typing import Any, cast

from langchain_core.messages import AIMessage, BaseMessage

from adjourn.core.files import File
from adjourn.guests.guest_files import bytes_of, file_of, in_base64, kind, stowed

_NAMES = {"image": "image", "audio": "audio", "video": "video", "document": "file"}


def blocks(parts: Iterable[Any], files: Mapping[str, bytes]) -> list[dict[str, Any]]:
    """Texts and files as content blocks."""
    found: list[dict[str, Any]] = []
    for part in parts:
        if isinstance(part, str):
            found.append({"type": "text", "text": part})
            continue
        data = in_base64(bytes_of(part, files))
        block = {"type": _NAMES[kind(part)], "base64": data, "mime_type": part["type"]}
        if part.get("name") and block["type"] == "file":
            block["filename"] = part["name"]
        found.append(block)
    return found


def _files(messages: Iterable[Any]) -> list[File]:
    """The files in the content of messages."""
    found: list[File] = []
    for message in messages:
        content: Any = message.content if isinstance(message, BaseMessage) else ()
        for block in content if isinstance(content, list) else ():
            if isinstance(block, dict) and (file := _file(cast("dict[str, Any]", block))):
                found.append(file)
    return found


def _file(block: dict[str, Any]) -> File | None:
    url: Any = block.get("image_url")
    if isinstance(url, dict):
        url = cast("dict[str, Any]", url).get("url")
    data = block.get("base64") or block.get("data") or url
    if not isinstance(data, str) or data.startswith("http"):
        return None
    return file_of(data, str(block.get("mime_type", "")), str(block.get("filename", "")))


def made_files(values: Mapping[str, Any], known: Mapping[str, bytes]) -> list[File]:
    """What the models of the graph made."""
    said = [one for one in values.get("messages") or () if isinstance(one, AIMessage)]
    found = {file.digest: file for file in _files(said)}
    return [file for digest, file in found.items() if digest not in known]


def with_files(plain: list[Any], outputs: Iterable[Any]) -> dict[str, Any]:
    """What a tool gave to the graph itself, with its files beside it."""
    files = _files(outputs)
    if not files:
        return {"graph": plain}
    return {"graph": stowed(plain, {file.digest: file.data for file in files}), "files": files}
