from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maverick import Document, Image
from maverick.exceptions import InvalidInputError
from maverick.model.media import MAX_BYTES, media_from_bytes, media_from_path
from media_files import gif, jpeg, pdf, png, webp

IMAGES: dict[str, tuple[Callable[[int, int], bytes], str]] = {
    "png": (png, "image/png"),
    "jpeg": (jpeg, "image/jpeg"),
    "gif": (gif, "image/gif"),
    "webp": (webp, "image/webp"),
    "webp-lossy": (lambda width, height: webp(width, height, form=b"VP8 "), "image/webp"),
    "webp-lossless": (lambda width, height: webp(width, height, form=b"VP8L"), "image/webp"),
}


@pytest.mark.parametrize("name", IMAGES)
def test_the_type_and_size_of_an_image_are_found_from_its_content(name: str, tmp_path: Path) -> None:
    make, media_type = IMAGES[name]
    file = tmp_path / "shelf.dat"
    file.write_bytes(make(1200, 31))

    image = Image.from_path(file)

    assert (image.media_type, image.pixels, image.name) == (media_type, (1200, 31), "shelf.dat")
    assert image.blob is not None
    assert image.blob.data == file.read_bytes()
    assert media_from_path(str(file)) == image


@pytest.mark.parametrize("pages", [1, 12])
def test_a_pdf_knows_its_pages_and_a_text_is_a_document_too(pages: int) -> None:
    assert Document.from_bytes(pdf(pages)).pages == pages
    assert Document.from_bytes("Größe: 3".encode()).media_type == "text/plain"


@pytest.mark.parametrize(
    ("part", "least", "most"),
    [
        (Image.from_bytes(png(280, 280)), 100, 100),
        (Image.from_bytes(png(2, 2, says=(8000, 8000))), 1_000, 6_000),
        (Image.from_url("https://example.org/a.png"), 1_000, 6_000),
        (Document.from_bytes(pdf(10)), 15_000, 40_000),
        (Document.from_bytes(b"word " * 3_000), 3_000, 6_000),
    ],
)
def test_media_says_about_how_many_tokens_it_takes(part: Image | Document, least: int, most: int) -> None:
    assert least <= part.tokens <= most


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "is empty"),
        (png(2, 2, says=(60_000, 60_000)), "60000 × 60000 pixels"),
        (png(2, 2, says=(0, 5)), "damaged or cut off"),
        (png()[:20], "damaged or cut off"),
        (png()[:-20], "damaged or cut off"),
        (jpeg()[:-2], "damaged or cut off"),
        (b"\xff\xd8" + b"\xff\xe0\0\0" * 500_000, "damaged or cut off"),
        (b"\xff\xd8" + b"\xff" * 2_000_000, "damaged or cut off"),
        (webp()[:25], "damaged or cut off"),
        (b"RIFF\0\0\0\0WEBPVP9 ", "damaged or cut off"),
        (b"GIF89a\x01", "damaged or cut off"),
        (pdf()[:-10], "cut off"),
        (b"\x7fELF\0\0\0", "is neither"),
        (b"MZ\xff\xfe", "is neither"),
        (b"   \n", "is neither"),
        (b"hello, I am a text", "is neither"),
    ],
)
def test_damaged_or_hostile_content_is_refused_with_the_reason(data: bytes, said: str) -> None:
    began = time.monotonic()

    with pytest.raises(InvalidInputError, match=said) as caught:
        media_from_bytes(data, name="shelf.png")

    assert str(caught.value).startswith("shelf.png")
    assert time.monotonic() - began < 30


@pytest.mark.parametrize("data", [b"MZ\xff\xfe", b"   \n"])
def test_what_is_no_text_is_refused_as_one(data: bytes) -> None:
    with pytest.raises(InvalidInputError, match=r"notes\.txt is not a PDF or a text in UTF-8"):
        media_from_bytes(data, name="notes.txt")


def test_a_file_that_is_something_else_than_it_is_sent_as_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="not a PNG, JPEG, GIF or WebP image"):
        Image.from_bytes(pdf(), name="shelf.png")
    with pytest.raises(InvalidInputError, match="not a PDF or a text"):
        Document.from_bytes(png(), name="list.pdf")


def _sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(2 * 2**30)


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(path))


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (_sparse, r"2048 MB, and no model takes more than 50 MB"),
        (os.mkfifo, r"^shelf.png is not a file\.$"),
        (Path.mkdir, "is not a file"),
        (_socket, "is not a file"),
        (lambda path: path.symlink_to("/dev/zero"), "is not a file"),
        (lambda path: None, "No such file"),
        (lambda path: path.symlink_to(path), "cannot be read"),
    ],
)
def test_only_a_regular_file_that_is_not_too_large_is_read(
    make: Callable[[Path], Any], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # the path of a socket is short
    make(Path("shelf.png"))

    with pytest.raises(InvalidInputError, match=said):
        Image.from_path("shelf.png")
    if Path("shelf.png").is_file():
        Path("shelf.png").unlink()  # what tests leave behind is looked through, and this is 2 GB of nothing


def test_content_in_memory_has_the_same_bound() -> None:
    with pytest.raises(InvalidInputError, match="no model takes more"):
        Document.from_bytes(bytes(MAX_BYTES + 1))


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("data:image/png;base64,AAAA", "Image.from_bytes"),
        ("file:///etc/passwd", "Image.from_path"),
        ("shelf.png", "Image.from_path"),
        ("https://", "https://"),
        ("https://ana:secret@example.org/a.png", "password"),
        ("https://[example", "not an address"),
        ("https://example.org/a b.png", "https://"),
        (None, "not an address"),
    ],
)
def test_only_an_address_on_the_web_without_a_password_is_given_to_a_provider(url: Any, said: str) -> None:
    with pytest.raises(InvalidInputError, match=said) as caught:
        Image.from_url(url)

    assert caught.value.field == "url"
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("fields", [{}, {"url": "https://example.org", "file_id": "file_1"}])
def test_media_has_its_content_in_one_place(fields: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError, match="only one of them"):
        Image(**fields)


def test_media_that_was_written_without_its_size_can_be_read() -> None:
    written = b'{"type": "image", "url": "https://example.org/a.png"}'

    assert msgspec.json.decode(written, type=Image) == Image.from_url("https://example.org/a.png")


@given(st.sampled_from(sorted(IMAGES)), st.binary(max_size=60), st.integers(0, 80))
def test_whatever_bytes_follow_there_is_an_image_or_a_clear_error(name: str, noise: bytes, at: int) -> None:
    data = IMAGES[name][0](40, 30)

    try:
        found = media_from_bytes(data[:at] + noise + data[at:], name="it")
    except InvalidInputError:
        return
    assert found.tokens > 0
