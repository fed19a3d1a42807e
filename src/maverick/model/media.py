"""Images and documents in a conversation: from bytes, a file, a URL, or a file that the provider keeps."""

from __future__ import annotations

import hashlib
import re
import stat
import struct
from abc import abstractmethod
from base64 import b64encode
from pathlib import Path
from struct import unpack_from
from typing import ClassVar, Self
from urllib.parse import urlsplit

from msgspec import Struct

from maverick.exceptions import InvalidInputError

MAX_BYTES = 50 * 2**20
"""The largest image or document there can be: no provider takes a larger one in a request."""
_MAX_PIXELS = 100_000_000
"""The most pixels of an image; what a provider takes is less, and a small file can claim many."""
_PATCH = 28
"""Claude counts a token for each square of so many pixels; OpenAI's squares have 32."""
_MOST_IMAGE_TOKENS = 5_000
"""A larger image is made smaller by the provider before the model sees it."""
_UNSEEN_IMAGE = 1_600
_PAGE_TOKENS = 2_500
"""A page of a PDF is sent to the model as an image and as its text."""
_PAGE_BYTES = 50_000
"""About how large a page is, where the pages cannot be counted."""
_NOT_TEXT = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".pdf")
"""Names of files that are not meant as text, even if their content could be."""
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
_PAGE = rb"/Type\s*/Page(?![a-zA-Z])"


class Blob:
    """Bytes that are named by their hash, so that a journal keeps them once; encoded for the wire once, too.

    Args:
        data: The bytes; ``None`` for a blob that a journal names and has not loaded yet.
        sha256: Their hash, when it is known.
        size: How many there are, when that is known.
        recorded: Whether an entry of a journal names it. Who knows no more than a hash does not get the bytes from there.
    """

    __slots__ = ("_base64", "_data", "is_recorded", "sha256", "size")

    def __init__(
        self, data: bytes | None, sha256: str = "", size: int = 0, *, recorded: bool = False
    ) -> None:
        self._data = data
        self.is_recorded = recorded
        self._base64: bytes | None = None
        self.sha256 = sha256 if data is None else hashlib.sha256(data).hexdigest()
        self.size = size if data is None else len(data)

    @property
    def is_loaded(self) -> bool:
        """Whether the bytes are here."""
        return self._data is not None

    @property
    def data(self) -> bytes:
        """The bytes."""
        if self._data is None:
            raise InvalidInputError(
                f"The bytes with the hash {self.sha256[:12]}… have not been loaded. Read them with journal.load_blobs([…])."
            )
        return self._data

    @property
    def base64(self) -> bytes:
        """The bytes in base64, made once."""
        if self._base64 is None:
            self._base64 = b64encode(self.data)
        return self._base64

    def load(self, data: bytes) -> None:
        """Give the blob its bytes; others than the hash says are refused."""
        if hashlib.sha256(data).hexdigest() != self.sha256:
            raise InvalidInputError(f"The bytes do not have the hash {self.sha256[:12]}….")
        self._data, self.size = data, len(data)

    def __eq__(self, other: object) -> bool:
        return self.sha256 == other.sha256 if isinstance(other, Blob) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.sha256)

    def __repr__(self) -> str:
        return f"Blob({self.sha256[:12]}…, {self.size} bytes)"


class _Media(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """What images and documents share: where the content is. One of ``blob``, ``url`` and ``file_id`` is set."""

    kind: ClassVar[str]

    media_type: str = ""
    """Such as ``image/png``; found from the content where there is content."""
    blob: Blob | None = None
    """The content itself."""
    url: str = ""
    """An address that the provider fetches it from."""
    file_id: str = ""
    """The id of a file that was uploaded to the provider."""
    name: str = ""
    """The name of the file, which the model may be told."""

    def __post_init__(self) -> None:
        if (self.blob is not None) + bool(self.url) + bool(self.file_id) != 1:
            name = type(self).__name__
            raise InvalidInputError(
                f"{name}: give it its content, a url or a file_id, and only one of them. "
                f"{name}.from_path(…), from_bytes, from_url and from_file_id do.",
                field="content",
            )

    @classmethod
    def from_path(cls, path: str | Path) -> Self:
        """The content of a file, which is read now.

        Raises:
            InvalidInputError: It cannot be read, is too large, damaged, or of a type that no model takes.
        """
        return cls.from_bytes(_read(Path(path)), name=Path(path).name)

    @classmethod
    @abstractmethod
    def from_bytes(cls, data: bytes, *, name: str = "") -> Self:
        """Content that is in memory; its type is found from the bytes."""

    @classmethod
    def from_url(cls, url: str, *, name: str = "") -> Self:
        """Content that the provider fetches from an address; nothing is fetched here.

        Raises:
            InvalidInputError: It is no address on the web, or has a password in it.
        """
        return cls(url=_checked_url(url, cls.__name__), name=name)

    @classmethod
    def from_file_id(cls, file_id: str, *, name: str = "") -> Self:
        """A file that was uploaded to the provider."""
        return cls(file_id=file_id, name=name)


class Image(_Media, frozen=True, tag="image"):
    """An image: PNG, JPEG, GIF or WebP."""

    kind: ClassVar[str] = "a PNG, JPEG, GIF or WebP image"

    pixels: tuple[int, int] | None = None
    """Its width and height, where its content is known."""

    @classmethod
    def from_bytes(cls, data: bytes, *, name: str = "") -> Self:
        """Content that is in memory; its type and size are found from the bytes, and no pixel is decoded.

        Raises:
            InvalidInputError: It is too large, damaged, or not an image that a model takes.
        """
        what = _checked_content(data, name)
        media_type = image_type(data)
        if not media_type:
            raise InvalidInputError(f"{what} is not {cls.kind}.", field="content")
        pixels = image_size(data)
        if pixels is None:
            problem = f"{what} begins like {media_type} but is damaged or cut off. Save or fetch it again."
            raise InvalidInputError(problem, field="content")
        if pixels[0] * pixels[1] > _MAX_PIXELS:
            raise InvalidInputError(
                f"{what} has {pixels[0]} × {pixels[1]} pixels, more than any model takes. Make it smaller.",
                field="content",
            )
        return cls(media_type=media_type, blob=Blob(data), name=name, pixels=pixels)

    @property
    def tokens(self) -> int:
        """About how many tokens it takes."""
        if self.pixels is None:
            return _UNSEEN_IMAGE
        width, height = self.pixels
        return min(-(-width // _PATCH) * -(-height // _PATCH), _MOST_IMAGE_TOKENS)


class Document(_Media, frozen=True, tag="document"):
    """A document: a PDF, or plain text in UTF-8."""

    kind: ClassVar[str] = "a PDF or a text in UTF-8"

    pages: int = 0
    """How many pages a PDF has, as far as it says so openly; about as many as its size suggests otherwise."""

    @classmethod
    def from_bytes(cls, data: bytes, *, name: str = "") -> Self:
        """Content that is in memory; whether it is a PDF or a text is found from the bytes.

        Raises:
            InvalidInputError: It is too large, damaged, or neither a PDF nor a text in UTF-8.
        """
        what = _checked_content(data, name)
        if data.startswith(b"%PDF-"):
            if b"%%EOF" not in data:
                raise InvalidInputError(
                    f"{what} is a PDF that is cut off. Save or fetch it again.", field="content"
                )
            pages = sum(1 for _ in re.finditer(_PAGE, data)) or len(data) // _PAGE_BYTES + 1
            return cls(media_type="application/pdf", blob=Blob(data), name=name, pages=pages)
        try:
            text = data.decode()
        except UnicodeDecodeError:
            text = "\0"
        if "\0" in text or not text.strip():
            raise InvalidInputError(f"{what} is not {cls.kind}.", field="content")
        return cls(media_type="text/plain", blob=Blob(data), name=name)

    @property
    def tokens(self) -> int:
        """About how many tokens it takes."""
        if self.blob is not None and not self.pages:
            return self.blob.size // 3 + 1
        return max(self.pages, 1) * _PAGE_TOKENS


def media_from_bytes(data: bytes, *, name: str = "") -> Image | Document:
    """The image or document that the bytes are; others are refused, as in ``from_bytes``."""
    if image_type(data):
        return Image.from_bytes(data, name=name)
    is_text = b"\0" not in data[:8000] and not name.lower().endswith(_NOT_TEXT)
    if data and not is_text and not data.startswith(b"%PDF-"):
        raise InvalidInputError(
            f"{name or 'The content'} is neither {Image.kind}, nor {Document.kind}.", field="content"
        )
    return Document.from_bytes(data, name=name)


def media_from_path(path: str | Path) -> Image | Document:
    """The image or document in a file, which is read now; others are refused, as in ``from_path``."""
    return media_from_bytes(_read(Path(path)), name=Path(path).name)


def _read(path: Path) -> bytes:
    """The bytes of a regular file; that it is not too large is known before it is read."""
    try:
        found = path.stat()
        is_file = stat.S_ISREG(found.st_mode)  # opening a pipe would wait for a writer
        if is_file and found.st_size <= MAX_BYTES:
            with path.open("rb") as file:
                return file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InvalidInputError(f"{path} cannot be read: {reason}. Check the path.", field="path") from error
    if is_file:
        raise _too_large(str(path), found.st_size)
    raise InvalidInputError(f"{path} is not a file.", field="path")


def _checked_content(data: bytes, name: str) -> str:
    """What the content is called, once it is known to be there and not too large."""
    what = name or "The content"
    if not isinstance(data, bytes):
        raise InvalidInputError(f"{what}: expected bytes, got {type(data).__name__}.", field="content")
    if not data:
        raise InvalidInputError(f"{what} is empty.", field="content")
    if len(data) > MAX_BYTES:
        raise _too_large(what, len(data))
    return what


def _too_large(what: str, size: int) -> InvalidInputError:
    return InvalidInputError(
        f"{what} has {size / 2**20:.0f} MB, and no model takes more than {MAX_BYTES // 2**20} MB in a request. "
        "Make it smaller, or upload it to the provider and use from_file_id.",
        field="content",
    )


def _checked_url(url: str, kind: str) -> str:
    try:
        parts = urlsplit(url)
        has_host, has_password = bool(parts.hostname), "@" in parts.netloc
    except (ValueError, AttributeError, TypeError) as error:
        raise InvalidInputError(f"{kind}.from_url: this is not an address.", field="url") from error
    if parts.scheme == "data":
        problem = f"{kind}.from_url: a data: URL has its content in it. Decode it and use {kind}.from_bytes."
        raise InvalidInputError(problem, field="url")
    if parts.scheme not in ("http", "https") or not has_host or any(c.isspace() for c in url):
        raise InvalidInputError(
            f"{kind}.from_url: expected an address that begins with https:// or http://. "
            f"For a file of this machine use {kind}.from_path.",
            field="url",
        )
    if has_password:
        raise InvalidInputError(
            f"{kind}.from_url: the address has a name or a password in it, which the provider would see. "
            f"Fetch it yourself and use {kind}.from_bytes.",
            field="url",
        )
    return url


def image_type(data: bytes) -> str:
    """The media type of an image by its first bytes; nothing if it is no PNG, JPEG, GIF or WebP."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((media_type for start, media_type in _STARTS if data.startswith(start)), "")


def image_size(data: bytes) -> tuple[int, int] | None:
    """The width and height in pixels that an image declares; ``None`` if it is damaged or cut off.

    No pixel is ever decoded, so a small file cannot claim much memory.
    """
    try:
        match image_type(data):
            case "image/png" if data[12:16] == b"IHDR":
                whole, size = data.rfind(b"IEND") > 0, unpack_from(">II", data, 16)
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
