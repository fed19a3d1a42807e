"""Looks into images and documents as a vendor does: whether they are what they say, and how large."""

from __future__ import annotations

import base64
import binascii
import struct
import zlib
from functools import lru_cache

MAX_IMAGE = 10 * 1024 * 1024
MAX_PDF = 32 * 1024 * 1024


class MediaRefusedError(Exception):
    """It is not what it says, or too large."""


@lru_cache(64)
def check_image(data: str, media_type: str, most_pixels: int) -> None:
    """Check an image in base64: its type, by its content, and how many pixels its sides may have.

    Raises:
        MediaRefusedError: The vendor would refuse it.
    """
    raw = _decoded(data)
    if len(data) > MAX_IMAGE:
        raise MediaRefusedError(f"image exceeds 10 MB maximum: {len(data)} bytes > {MAX_IMAGE} bytes")
    found, pixels = _look(raw)
    if not found:
        raise MediaRefusedError("Could not process image")
    if found != media_type:
        raise MediaRefusedError(
            f"The image was specified using the {media_type} media type, but appears to be {found}"
        )
    if max(pixels) > most_pixels:
        raise MediaRefusedError(
            f"At least one of the image dimensions exceed max allowed size: {most_pixels} pixels"
        )


@lru_cache(64)
def check_pdf(data: str) -> None:
    """Check a PDF in base64.

    Raises:
        MediaRefusedError: The vendor would refuse it.
    """
    raw = _decoded(data)
    if not raw.startswith(b"%PDF-"):
        raise MediaRefusedError("The PDF specified was not valid.")
    if len(raw) > MAX_PDF:
        raise MediaRefusedError("PDF exceeds the maximum size")


def check_data_url(url: str, allowed: frozenset[str], most_pixels: int = 100_000) -> None:
    """Check media that is written into a URL, as OpenAI takes it.

    Raises:
        MediaRefusedError: The vendor would refuse it.
    """
    head, comma, data = url.partition(";base64,")
    media_type = head.removeprefix("data:")
    if not comma or not head.startswith("data:") or media_type not in allowed:
        raise MediaRefusedError(f"Expected a base64-encoded data URL with one of {sorted(allowed)}")
    if media_type == "application/pdf":
        check_pdf(data)
    elif media_type.startswith("image/"):
        check_image(data, media_type, most_pixels)


def _decoded(data: str) -> bytes:
    try:
        raw = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError) as error:
        raise MediaRefusedError("invalid base64 data") from error
    if not raw:
        raise MediaRefusedError("empty data")
    return raw


def _look(raw: bytes) -> tuple[str, tuple[int, int]]:
    if raw.startswith(b"\x89PNG\r\n\x1a\n") and len(raw) >= 24 and _has_pixels(raw):
        return "image/png", struct.unpack(">II", raw[16:24])
    if raw[:6] in (b"GIF87a", b"GIF89a") and len(raw) >= 10:
        return "image/gif", struct.unpack("<HH", raw[6:10])
    if raw[:4] == b"RIFF" and raw[8:12] == b"WEBP":
        return "image/webp", (1, 1)
    if raw.startswith(b"\xff\xd8\xff"):
        return "image/jpeg", _jpeg_pixels(raw)
    return "", (0, 0)


def _has_pixels(raw: bytes) -> bool:
    """Whether the pixels of a PNG can be unpacked."""
    place, packed = 8, b""
    while place + 8 <= len(raw):
        (length,) = struct.unpack(">I", raw[place : place + 4])
        if raw[place + 4 : place + 8] == b"IDAT":
            packed += raw[place + 8 : place + 8 + length]
        place += length + 12
    try:
        zlib.decompress(packed)
    except zlib.error:
        return False
    return True


def _jpeg_pixels(raw: bytes) -> tuple[int, int]:
    place = 2
    while place + 9 <= len(raw) and raw[place] == 0xFF:
        marker, length = raw[place + 1], struct.unpack(">H", raw[place + 2 : place + 4])[0]
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack(">HH", raw[place + 5 : place + 9])
            return width, height
        place += 2 + length
    return 1, 1
