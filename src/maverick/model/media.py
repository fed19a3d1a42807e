"""Images and documents in a conversation: from bytes, a file, a URL, or a file that the provider keeps."""

from __future__ import annotations

import hashlib
from base64 import b64encode
from pathlib import Path
from typing import ClassVar, Self

from msgspec import Struct

from maverick.exceptions import InvalidInputError

_IMAGE_STARTS = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)


class Blob:
    """Bytes that are named by their hash, so that a journal keeps them once; encoded for the wire once, too.

    Args:
        data: The bytes; ``None`` for a blob that a journal names and has not loaded yet.
        sha256: Their hash, when it is known.
        size: How many there are, when that is known.
    """

    __slots__ = ("_base64", "_data", "sha256", "size")

    def __init__(self, data: bytes | None, sha256: str = "", size: int = 0) -> None:
        self._data = data
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
            raise InvalidInputError(f"The bytes with the hash {self.sha256[:12]}… have not been loaded.")
        return self._data

    @property
    def base64(self) -> bytes:
        """The bytes in base64, made once."""
        if self._base64 is None:
            self._base64 = b64encode(self.data)
        return self._base64

    def load(self, data: bytes) -> None:
        """Give the blob its bytes.

        Raises:
            InvalidInputError: They are others than the hash says.
        """
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

    @classmethod
    def from_path(cls, path: str | Path) -> Self:
        """The content of a file, which is read now.

        Raises:
            InvalidInputError: It cannot be read, or is of a type that no model takes.
        """
        path = Path(path)
        try:
            data = path.read_bytes()
        except OSError as error:
            raise InvalidInputError(
                f"{path} cannot be read: {error.strerror or error}.", cause=error
            ) from error
        return cls.from_bytes(data, name=path.name)

    @classmethod
    def from_bytes(cls, data: bytes, *, name: str = "") -> Self:
        """Content that is in memory; its type is found from the bytes.

        Raises:
            InvalidInputError: It is of a type that no model takes.
        """
        media_type = cls._type_of(data)
        if not media_type:
            raise InvalidInputError(f"{name or 'The content'} is not {cls.kind}.", field="content")
        return cls(media_type=media_type, blob=Blob(data), name=name)

    @classmethod
    def from_url(cls, url: str, *, name: str = "") -> Self:
        """Content that the provider fetches from an address."""
        return cls(url=url, name=name)

    @classmethod
    def from_file_id(cls, file_id: str, *, name: str = "") -> Self:
        """A file that was uploaded to the provider."""
        return cls(file_id=file_id, name=name)

    @classmethod
    def _type_of(cls, data: bytes) -> str:
        raise NotImplementedError


class Image(_Media, frozen=True, tag="image"):
    """An image: PNG, JPEG, GIF or WebP."""

    kind: ClassVar[str] = "a PNG, JPEG, GIF or WebP image"

    @classmethod
    def _type_of(cls, data: bytes) -> str:
        if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
            return "image/webp"
        return next((media_type for start, media_type in _IMAGE_STARTS if data.startswith(start)), "")


class Document(_Media, frozen=True, tag="document"):
    """A document: a PDF, or plain text in UTF-8."""

    kind: ClassVar[str] = "a PDF or a text in UTF-8"

    @classmethod
    def _type_of(cls, data: bytes) -> str:
        if data.startswith(b"%PDF-"):
            return "application/pdf"
        try:
            text = data.decode()
        except UnicodeDecodeError:
            return ""
        return "" if "\0" in text or not text.strip() else "text/plain"
