"""Small images and documents for tests, and damaged ones."""

from __future__ import annotations

import struct
import zlib


def png(
    width: int = 40, height: int = 30, *, says: tuple[int, int] | None = None, noise: bytes = b""
) -> bytes:
    """A PNG of one colour; ``says`` is another size for its header, ``noise`` is what a comment in it holds."""
    rows = (b"\0" + b"\x80\x40\xc0" * width) * height
    header = struct.pack(">IIBBBBB", *(says or (width, height)), 8, 2, 0, 0, 0)
    chunks = [
        (b"IHDR", header),
        (b"tEXt", b"Comment\0" + noise),
        (b"IDAT", zlib.compress(rows)),
        (b"IEND", b""),
    ]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
        for kind, body in chunks
    )


def jpeg(width: int = 40, height: int = 30) -> bytes:
    """The frame of a JPEG behind two other segments, without a picture in it."""
    frame = struct.pack(">BHH", 8, height, width) + b"\x01\x01\x11\0"
    segments = [(0xE0, b"JFIF\0\x01\x01\0\0\x01\0\x01\0\0"), (0xC4, b"\0" * 17), (0xC2, frame)]
    body = b"".join(
        b"\xff" + bytes([kind]) + struct.pack(">H", len(data) + 2) + data for kind, data in segments
    )
    return b"\xff\xd8" + body + b"\xff\xda\0\x02\x11\x22\xff\xd9"


def gif(width: int = 40, height: int = 30) -> bytes:
    """A GIF without a picture in it."""
    return b"GIF89a" + struct.pack("<HH", width, height) + b"\0\0\0;"


def webp(width: int = 40, height: int = 30, *, form: bytes = b"VP8X") -> bytes:
    """A WebP without a picture in it, in one of its three forms."""
    if form == b"VP8X":
        body = b"\0\0\0\0" + (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
    elif form == b"VP8L":
        body = b"\x2f" + struct.pack("<I", (width - 1) | (height - 1) << 14) + b"\0" * 5
    else:
        body = b"\0\0\0\x9d\x01\x2a" + struct.pack("<HH", width, height)
    chunk = form + struct.pack("<I", len(body)) + body
    return b"RIFF" + struct.pack("<I", len(chunk) + 4) + b"WEBP" + chunk


def pdf(pages: int = 1) -> bytes:
    """A PDF of empty pages."""
    kids = " ".join(f"{3 + page} 0 R" for page in range(pages))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {pages} >>",
        *["<< /Type /Page /Parent 2 0 R /MediaBox [0 0 200 200] >>"] * pages,
    ]
    body, places = "%PDF-1.4\n", []
    for number, content in enumerate(objects, 1):
        places.append(len(body))
        body += f"{number} 0 obj\n{content}\nendobj\n"
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    size = len(objects) + 1
    return (
        f"{body}xref\n0 {size}\n0000000000 65535 f \n{table}"
        f"trailer\n<< /Size {size} /Root 1 0 R >>\nstartxref\n{len(body)}\n%%EOF\n"
    ).encode()
