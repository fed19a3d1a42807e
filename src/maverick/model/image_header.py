"""The size of an image, read from its header: no pixel is ever decoded, so a small file cannot claim much memory."""

from __future__ import annotations

import struct
from struct import unpack_from

_STARTS = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)
_MOST_SEGMENTS = 10_000
"""How many segments of a JPEG are looked through; real ones have a few, or hundreds with a large colour profile."""
_NOT_FRAMES = (0xC4, 0xC8, 0xCC)
"""Markers among those of frames that begin something else: tables."""


def image_type(data: bytes) -> str:
    """The media type of an image by its first bytes; nothing if it is no PNG, JPEG, GIF or WebP."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((media_type for start, media_type in _STARTS if data.startswith(start)), "")


def image_size(data: bytes) -> tuple[int, int] | None:
    """The width and height in pixels that an image declares; ``None`` if it is damaged or cut off."""
    try:
        match image_type(data):
            case "image/png":
                whole, size = data.rfind(b"IEND") > 0, _png(data)
            case "image/jpeg":
                frame, size = _jpeg(data)
                whole = data.rfind(b"\xff\xd9", frame) > 0
            case "image/gif":
                whole, size = True, unpack_from("<HH", data, 6)
            case "image/webp":
                whole, size = unpack_from("<I", data, 4)[0] + 8 <= len(data) + 1, _webp(data)
            case _:
                return None
    except (IndexError, ValueError, struct.error):
        return None
    width, height = size
    return (width, height) if whole and width and height else None


def _png(data: bytes) -> tuple[int, int]:
    if data[12:16] != b"IHDR":
        raise ValueError("no header")
    width, height = unpack_from(">II", data, 16)
    return width, height


def _jpeg(data: bytes) -> tuple[int, tuple[int, int]]:
    """Where the frame of a JPEG begins, and its size."""
    at = 2
    for _ in range(_MOST_SEGMENTS):
        if data[at] != 0xFF:
            break
        marker = data[at + 1]
        if marker == 0xFF:  # any number of them may come before a marker
            at += 1
            continue
        if 0xC0 <= marker <= 0xCF and marker not in _NOT_FRAMES:
            height, width = unpack_from(">HH", data, at + 5)
            return at, (width, height)
        at += 2 + int.from_bytes(data[at + 2 : at + 4])
    raise ValueError("no frame")


def _webp(data: bytes) -> tuple[int, int]:
    match data[12:16]:
        case b"VP8 ":
            width, height = unpack_from("<HH", data, 26)
            return width & 0x3FFF, height & 0x3FFF
        case b"VP8L":
            bits = unpack_from("<I", data, 21)[0]
            return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        case b"VP8X" if len(data) >= 30:
            return int.from_bytes(data[24:27], "little") + 1, int.from_bytes(data[27:30], "little") + 1
    raise ValueError("no frame")
