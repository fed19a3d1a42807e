"""Passwords, kept as scrypt hashes."""

from __future__ import annotations

import hashlib
import hmac
import os
from base64 import b64decode, b64encode

_N, _R, _P = 2**14, 8, 5
"""The work of one hash: about 16 MB and a twentieth of a second."""
_MEMORY = 64 * 2**20


def hash_password(password: str) -> str:
    """A hash to keep: with the cost and the salt in it, so that either may change later."""
    salt = os.urandom(16)
    return "$".join(("scrypt", f"{_N},{_R},{_P}", _text(salt), _text(_derive(password, salt, _N, _R, _P))))


def is_password(password: str, kept: str) -> bool:
    """Whether this is the password a hash was made of."""
    _, cost, salt, derived = kept.split("$")
    n, r, p = map(int, cost.split(","))
    return hmac.compare_digest(_derive(password, b64decode(salt), n, r, p), b64decode(derived))


def _derive(password: str, salt: bytes, n: int, r: int, p: int) -> bytes:
    return hashlib.scrypt(password.encode(), salt=salt, n=n, r=r, p=p, maxmem=_MEMORY, dklen=32)


def _text(data: bytes) -> str:
    return b64encode(data).decode()


NOBODY = f"scrypt${_N},{_R},{_P}${_text(bytes(16))}${_text(bytes(32))}"
"""The hash of no password: checking one against it takes as long as against a real one."""
