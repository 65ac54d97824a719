"""Files in the items of the OpenAI Agents SDK. Needs it."""

from collections.abc import Iterable, Mapping
from typing import Any

from agents.models.openai_responses import OpenAIResponsesModel

from adjourn.core.files import FILE, described
from adjourn.errors import ModelError
from adjourn.guests.guest_files import bytes_of, data_url, in_base64, kind, subtype
from adjourn.guests.hot_history import HeardHistory

Item = dict[str, Any]
HEARD = {"audio/wav": "wav", "audio/mpeg": "mp3"}
"""Audio for which the chat format has a word; that of responses has none."""


def refusal(ref: Mapping[str, Any], models: Iterable[Any]) -> str:
    """That one of these models does not take a file; else ""."""
    if kind(ref) in ("image", "document"):
        return ""
    if ref["type"] in HEARD and not any(isinstance(one, OpenAIResponsesModel) for one in models):
        return ""
    return (
        f"the OpenAI Agents SDK does not take {described(dict(ref))}: it takes images and documents, "
        "and with OpenAIChatCompletionsModel WAV and MP3"
    )


def check_taken(refs: Iterable[Mapping[str, Any]], models: Iterable[Any]) -> None:
    """Raise `ModelError` for the first file that one of these models does not take."""
    used = list(models)
    for ref in refs:
        if why := refusal(ref, used):
            raise ModelError(f"{why}; nothing was sent", kind="unsupported_file")


def new_files(heard: HeardHistory) -> list[Mapping[str, Any]]:
    """The files of what is new in a conversation."""
    found = [part for part in heard.parts if not isinstance(part, str)]
    for result in heard.results:
        found += result.files
    return found


def user_item(parts: Iterable[Any], files: Mapping[str, bytes]) -> Item:
    """Texts and files, as what a user says; raises `ModelError` for what has no form there."""
    content: list[Item] = []
    for part in parts:
        if isinstance(part, str):
            content.append({"type": "input_text", "text": part})
            continue
        check_taken([part], ())
        if kind(part) == "image":
            url = data_url(part, files)
            content.append({"type": "input_image", "image_url": url, "detail": "auto"})
        elif kind(part) == "document":
            name = part.get("name") or f"{part[FILE][:12]}.{subtype(part)}"
            data = data_url(part, files)
            content.append({"type": "input_file", "filename": name, "file_data": data})
        else:
            sound = {"data": in_base64(bytes_of(part, files)), "format": HEARD[part["type"]]}
            content.append({"type": "input_audio", "input_audio": sound})
    return {"role": "user", "content": content}
