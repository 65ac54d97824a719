"""An image is shown in the conversation and in what is to be approved; any other file is a download that says what it is."""

import base64
import struct
import zlib
from typing import Any

from playwright.async_api import FilePayload, Locator, expect
from tests.browser.test_told import picture, seen_by_axe
from tests.browser.world import Visit, eventually

from adjourn.core.records import Said, Started

SVG = b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'></svg>"


def png(width: int) -> bytes:
    """A grey square that a browser can show."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    lines = (b"\0" + b"\x88" * width) * width
    head = struct.pack(">IIBBBBB", width, width, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b"")


def given(data: bytes, **more: str) -> dict[str, str]:
    return {"$data": base64.b64encode(data).decode(), **more}


async def drawn(image: Locator, width: int) -> None:
    """The browser has the image."""
    await image.scroll_into_view_if_needed()
    await expect(image).to_have_js_property("complete", True)
    await expect(image).to_have_js_property("naturalWidth", width)


async def test_an_image_is_shown_and_any_other_file_is_a_download(ana: Visit) -> None:
    page = ana.page
    parts: list[Any] = [
        "Read this.",
        given(png(40), name="receipt\u202e.png"),
        given(SVG, type="image/svg+xml", name="a.svg"),
    ]
    run = await ana.world.waiting("looker", parts)
    await ana.inbox(run)
    item = page.locator("article[data-open=true]")
    await drawn(item.get_by_role("img", name="Image receipt⟨U+202E"), 40)
    await expect(item.locator("figcaption")).to_contain_text("image/png, ")
    assert await seen_by_axe(page) == []
    await picture(page, "files-approval")
    await ana.go(f"/runs/{run}/conversation")
    told = page.locator("[data-author=person]")
    await expect(told.locator(".prose")).to_have_text("Read this.")
    await drawn(told.locator("img"), 40)
    svg = told.locator("figure").nth(1)
    await expect(svg).to_contain_text(f"image/svg+xml, {len(SVG)} bytes")
    await expect(svg.locator("img")).to_have_count(0)
    async with page.expect_download() as started:
        await svg.get_by_role("link", name="a.svg").click()
    assert (await (await started.value).path()).read_bytes() == SVG
    assert await seen_by_axe(page) == []
    await picture(page, "files-conversation")


def chosen(name: str, kind: str, data: bytes) -> FilePayload:
    return {"name": name, "mimeType": kind, "buffer": data}


async def test_files_are_given_with_a_start_and_with_what_is_said_or_refused_before_anything_is_recorded(
    ana: Visit,
) -> None:
    page, on = ana.page, ana.world
    photo, sound = chosen("a.png", "image/png", png(30)), chosen("a.wav", "audio/wav", b"RIFF1234WAVE" + bytes(9))
    notes = chosen("notes", "", "über".encode())
    before = len(await on.rt.runs(agent="looker"))
    await page.get_by_role("button", name="Start a run…").click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_role("combobox").select_option("looker")
    await dialog.get_by_role("textbox").first.fill("Read this.")
    files = dialog.get_by_label("Files")
    await files.set_input_files([sound])
    await dialog.get_by_role("button", name="Start").last.click()
    await expect(page.get_by_text("does not take audio/wav")).to_be_visible()
    await dialog.get_by_role("button", name="Remove a.wav").click()
    assert len(await on.rt.runs(agent="looker")) == before
    await files.set_input_files([chosen("big.png", "image/png", png(20) + bytes(700_000))])
    await expect(dialog.get_by_role("alert")).to_have_text("big.png was not taken: at most 700 KB.")
    await files.set_input_files([photo, notes])
    await expect(dialog.get_by_role("button", name="Remove notes")).to_be_visible()
    assert await seen_by_axe(page) == []
    await dialog.get_by_role("button", name="Start").last.click()
    await page.wait_for_url("**/runs/*")
    run = page.url.rpartition("/")[2].partition("?")[0]
    [started] = await on.records(run, Started)
    assert [started.input[0], *[(ref["name"], ref["type"]) for ref in started.input[1:]]] == [
        "Read this.",
        ("a.png", "image/png"),
        ("notes", "text/plain"),
    ]
    await on.status(run, "waiting")
    composer = page.locator("form.composer")
    await composer.get_by_label("Files").set_input_files([sound])
    await page.locator("[data-verb=say-now]").click()
    await expect(page.get_by_text("nothing was said")).to_be_visible()
    await composer.get_by_role("button", name="Remove a.wav").click()
    await composer.get_by_label("Files").set_input_files([photo])
    assert await seen_by_axe(page) == []
    await page.locator("[data-verb=say-now]").click()
    await eventually(lambda: on.records(run, Said))
    [said] = await on.records(run, Said)
    [ref] = said.parts
    assert (ref["name"], said.by) == ("a.png", "ana")
