"""Files in pydantic-ai's terms, and whether a provider takes them. Needs pydantic-ai."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pydantic_ai import messages as theirs
from pydantic_ai.models import Model as ProviderModel

from adjourn.core.files import FILE, RASTER, File, described, kind_of, parts_of
from adjourn.core.messages import (
    FilePart,
    ModelRequest,
    ToolResult,
    UserMessage,
    files_in,
    is_only_named,
)
from adjourn.errors import Invalid, ModelError

_FLAGS = {
    "image": "supports_image_input",
    "audio": "supports_audio_file_input",
    "document": "supports_document_input",
    "video": "supports_video_input",
}
"""How a profile says that a model takes files of a kind."""
_HEIF = ("image/heic", "image/heif")
_CHAT_AUDIO = ("audio/wav", "audio/mpeg")
"""What OpenAI's chat format has a word for."""


def check_taken(leaves: Iterable[ProviderModel], request: ModelRequest, name: str) -> None:
    """Raise `ModelError` if the request has a file that the provider does not take: before anything
    is sent, and never sending something else in its place."""
    files: list[dict[str, Any]] = []
    for ref in files_in(request.messages):
        if ref[FILE] in request.files:
            files.append(ref)
        elif not is_only_named(ref, request.messages):
            raise ModelError(
                f"{name} was not called: the bytes of {described(ref)} are missing",
                kind="missing_file",
            )
    if not files:
        return
    used = list(leaves)
    for ref in files:
        if why := refusal(used, ref, request.files[ref[FILE]], name):
            raise ModelError(
                f"{why}; nothing was sent. Use a model that takes "
                f"{kind_of(ref['type'])} files of this type, or leave the file out",
                kind="unsupported_file",
            )


def refusal(leaves: Iterable[ProviderModel], ref: Mapping[str, Any], data: bytes, name: str) -> str:
    """That a file is not taken; "" if each of these takes it."""
    if all(_is_taken(leaf, ref["type"], data) for leaf in leaves):
        return ""
    return f"{name} does not take {described(dict(ref))}"


def _is_taken(model: ProviderModel, media_type: str, data: bytes) -> bool:
    content = theirs.BinaryContent(data, media_type=media_type)
    if not (content.is_image or content.is_audio or content.is_document or content.is_video):
        return False
    profile: Any = model.profile
    if not profile.get(_FLAGS[kind_of(media_type)], True):
        return False
    if content.is_image:
        return media_type in RASTER or (model.system.startswith("google") and media_type in _HEIF)
    if content.is_audio and type(model).__name__ == "OpenAIChatModel":
        return media_type in _CHAT_AUDIO
    if content.is_document:
        known: Any = profile.get("supported_document_media_types")
        return known is None or media_type in known
    return True


def prompt(message: UserMessage, request: ModelRequest) -> str | list[theirs.UserContent]:
    """What a user said, with files where they stood."""
    if not message.parts:
        return message.text
    return contents(message.parts, request.files)


def result(message: ToolResult, request: ModelRequest, text: str) -> Any:
    """What a tool returned, with its files; `text`: what it is without any."""
    if not message.files:
        return text
    return contents(parts_of(message.content), request.files)


def contents(parts: Sequence[Any], files: Mapping[str, bytes]) -> list[theirs.UserContent]:
    """Texts and files in pydantic-ai's form."""
    found: list[theirs.UserContent] = []
    for part in parts:
        if isinstance(part, str):
            found.append(part)
        elif part[FILE] not in files:
            found.append(f"{described(part)}: its bytes are missing")
        else:
            found.append(
                theirs.BinaryContent(
                    files[part[FILE]],
                    media_type=part["type"],
                    identifier=part[FILE][:12],
                )
            )
    return found


def our_file(part: theirs.FilePart, details: dict[str, Any] | None) -> FilePart:
    """A file that a model made. Its reference carries the bytes to the store."""
    content = part.content
    why: Invalid | None = None
    for media_type in (content.media_type, "", "application/octet-stream"):
        try:
            return FilePart(file=File(content.data, media_type).ref, details=details)
        except Invalid as e:  # it was paid for: its bytes count, not what the provider calls them
            why = why or e
    raise ModelError(
        f"the model answered with a file that cannot be kept: {why}", kind="unrecordable"
    )


def their_file(part: FilePart, request: ModelRequest) -> dict[str, Any] | None:
    """A file that the model made before, in pydantic-ai's form; None if its bytes are gone."""
    data = request.files.get(part.file[FILE])
    if data is None:
        return None
    content = theirs.BinaryContent(data, media_type=part.file["type"])
    return {**(part.details or {}), "part_kind": "file", "content": content}
