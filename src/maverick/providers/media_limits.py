"""What providers take of images and documents in one request, checked before anything is sent. No I/O here.

The numbers are those of the vendors' pages on vision, PDFs and file inputs. A conversation is sent again in each turn,
so its media is counted as it grows (:class:`MediaTally`): each part once.
"""

from __future__ import annotations

from msgspec import Struct

from maverick.exceptions import InvalidInputError
from maverick.model import Document, Image, Message, Role, Text
from maverick.model.message import Part, describe_part

_MB = 2**20


class MediaLimits(Struct, frozen=True, kw_only=True):
    """What one provider takes."""

    provider: str
    """Its name in errors."""
    image_base64: int
    """The most bytes of an image in base64."""
    image_side: int | None = None
    """The most pixels of an image's width or height."""
    many_images: int | None = None
    """From more than so many images in a request, :attr:`many_images_side` holds instead."""
    many_images_side: int | None = None
    images: int
    """The most images of a request."""
    pages: int | None = None
    """The most pages of a request's PDFs."""
    total_base64: int
    """The most bytes of all media of a request in base64."""


CLAUDE = MediaLimits(
    provider="Claude",
    image_base64=10 * _MB,
    image_side=8000,
    many_images=20,
    many_images_side=2000,
    images=600,
    pages=600,
    total_base64=31 * _MB,  # of a request of 32 MB, so that a megabyte is left for words
)
OPENAI = MediaLimits(provider="OpenAI", image_base64=512 * _MB, images=1500, total_base64=512 * _MB)


class MediaTally:
    """The media of a conversation so far, held to the limits of a provider."""

    __slots__ = ("_base64", "_images", "_largest_side", "_limits", "_pages")

    def __init__(self, limits: MediaLimits) -> None:
        self._limits = limits
        self._images = self._pages = self._base64 = self._largest_side = 0

    def admit(self, message: Message) -> tuple[Part, ...]:
        """The parts of a message that is new, as they can be sent.

        What a tool returned and the provider does not take becomes a text that says so: the model can do something
        else, and the run is not lost. What a person sent is refused.
        """
        parts = message.parts
        if len(parts) == 1 and type(parts[0]) is Text:  # nearly always
            return parts
        return tuple(
            [
                self.admit_part(part, message.role) if isinstance(part, Image | Document) else part
                for part in parts
            ]
        )

    def admit_part(self, part: Image | Document, role: Role) -> Image | Document | Text:
        """The same for one part of a message of this role."""
        refusal = self._refusal(part)
        if not refusal:
            self._count(part)
            return part
        if role is Role.TOOL_RESULT:
            return Text(f"{describe_part(part)[:-1]}: left out, {refusal}]")
        what = part.name or f"The {type(part).__name__.lower()}"
        raise InvalidInputError(f"{what}: {refusal}", field="messages")

    def _refusal(self, part: Image | Document) -> str:
        """Why the provider does not take a part after those it has, if it does not."""
        limits, who = self._limits, self._limits.provider
        size = _base64_size(part)
        most = limits.image_base64 if isinstance(part, Image) else limits.total_base64
        if size > most:
            return f"it is larger than {who} takes, which is {most * 3 // 4 / _MB:.1f} MB. Make it smaller."
        if self._base64 + size > limits.total_base64:
            return (
                f"all images and documents together are larger than {who} takes in a request, which is "
                f"{limits.total_base64 * 3 // 4 // _MB} MB. Send less, or upload them and use from_file_id."
            )
        return self._image_refusal(part) if isinstance(part, Image) else self._document_refusal(part)

    def _image_refusal(self, image: Image) -> str:
        limits, who = self._limits, self._limits.provider
        if self._images >= limits.images:
            return f"{who} takes {limits.images} images in a request, and there are so many already."
        many = limits.many_images is not None and self._images >= limits.many_images
        side, most = max(image.pixels or (0,)), limits.image_side
        if many and limits.many_images_side is not None:
            side, most = max(side, self._largest_side), limits.many_images_side
        if most is None or side <= most:
            return ""
        among = f" among more than {limits.many_images} images" if many else ""
        return f"{who} takes images of {most} pixels a side{among}, and one has {side}. Make it smaller."

    def _document_refusal(self, document: Document) -> str:
        most = self._limits.pages
        if most is None or self._pages + document.pages <= most:
            return ""
        return (
            f"{self._limits.provider} takes {most} pages of PDFs in a request, and with this one there are "
            f"{self._pages + document.pages}. Send fewer pages."
        )

    def _count(self, part: Image | Document) -> None:
        self._base64 += _base64_size(part)
        if isinstance(part, Image):
            self._images += 1
            self._largest_side = max(self._largest_side, *(part.pixels or (0,)))
        else:
            self._pages += part.pages


def _base64_size(part: Image | Document) -> int:
    return 0 if part.blob is None else -(-part.blob.size // 3) * 4
