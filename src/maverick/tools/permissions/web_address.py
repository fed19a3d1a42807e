"""A web address in its canonical spelling, which is what rules look at and what is sent."""

from __future__ import annotations

import re
from ipaddress import IPv4Address, IPv6Address
from string import ascii_letters, digits
from typing import Self
from urllib.parse import quote, unquote, urlsplit

from msgspec import Struct
from msgspec.structs import replace

_USUAL_PORTS = {"http": 80, "https": 443}
_NAME = r"[a-z0-9_-]+(\.[a-z0-9_-]+)*"
_NUMBER = r"[0-9]+|0x[0-9a-f]*"
_UNRESERVED = frozenset(f"{ascii_letters}{digits}-._~")
_TO_SPELL = r"%([0-9A-Fa-f]{2})|[^A-Za-z0-9._~!$&'()*+,;=:@/?-]"
"""Characters with more than one spelling: encoded ones, and those that have to be encoded."""


class WebAddress(Struct, frozen=True):
    """An address without its default port, its fragment, and the dots in its path."""

    scheme: str
    host: str
    port: int | None
    """``None`` if it is the default of the scheme."""
    path: str
    query: str
    """With its question mark, if there is any."""

    @classmethod
    def read(cls, text: str) -> Self | None:
        """Parse an address; ``None`` if it is invalid, or hides its host."""
        if any(sign.isspace() or sign == "\\" for sign in text):
            return None
        try:
            parts = urlsplit(text)
            if "@" in parts.netloc:
                return None
            port = None if parts.port == _USUAL_PORTS.get(parts.scheme) else parts.port
            host = _one_host(parts.hostname or "")
            path, query = _spelt(parts.path) or "/", _spelt(parts.query)
        except ValueError:
            return None
        return cls(parts.scheme, host, port, _without_dots(path), f"?{query}" if query else "")

    def __str__(self) -> str:
        place = self.host if self.port is None else f"{self.host}:{self.port}"
        return f"{self.scheme}://{place}{self.path}{self.query}"

    @property
    def same_page(self) -> frozenset[Self]:
        """This address, and the ones that servers usually redirect it to: with a slash at its end, and with encryption."""
        slashed = self if self.path.endswith("/") else replace(self, path=f"{self.path}/")
        pages = {self, slashed}
        if self.scheme == "http" and self.port is None:
            pages |= {replace(page, scheme="https") for page in pages}
        return frozenset(pages)

    @property
    def readings(self) -> set[str]:
        """Every spelling of this address that a rule may use, and what a careless server may read it as."""
        pages = self.same_page | {replace(page, query="") for page in self.same_page}
        pages |= {
            replace(page, path=_without_dots(_decoded(page.path)), query=unquote(page.query))
            for page in pages
        }
        pages |= {replace(page, path=re.sub("/+", "/", page.path)) for page in pages}
        with_ports = {replace(page, port=page.port or _USUAL_PORTS.get(page.scheme)) for page in pages}
        return set(map(str, pages | with_ports))

    @property
    def is_plain(self) -> bool:
        """Whether every server reads it alike: no encoded characters in it lead upwards."""
        decoded = _decoded(self.path)
        return _without_dots(decoded) == decoded


def _one_host(name: str) -> str:
    """The canonical spelling of a host; a ``ValueError`` if it is invalid, or only some programs understand it."""
    if ":" in name and "%" not in name:  # after a percent sign is a network card of this machine
        return f"[{IPv6Address(name)}]"
    host = name.lower().removesuffix(".")
    if not re.fullmatch(_NAME, host):
        raise ValueError(f"{name} is not a host")
    # No domain ends with a number, but some programs take one for an address.
    return str(IPv4Address(host)) if re.fullmatch(_NUMBER, host.rpartition(".")[2]) else host


def _spelt(text: str) -> str:
    """A path or a query with exactly those characters encoded that have to be."""
    return re.sub(_TO_SPELL, _spelling, text)


def _spelling(found: re.Match[str]) -> str:
    if found[1] is None:
        return quote(found[0], safe="")
    sign = chr(int(found[1], 16))
    return sign if sign in _UNRESERVED else found[0].upper()


def _decoded(path: str) -> str:
    return unquote(path).replace("\\", "/")


def _without_dots(path: str) -> str:
    """A path without ``.`` and ``..``, which lead no higher than the top."""
    _, *parts = path.split("/")
    names: list[str] = []
    for part in parts:
        if part == "..":
            del names[-1:]
        elif part != ".":
            names.append(part)
    if parts[-1:] in ([".."], ["."]):
        names.append("")
    return f"/{'/'.join(names)}"
