"""Which values of structured data are secrets: those that are named so."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

_PATTERN = r"""(?:^|_)(?:
    auth | authorization | cookie | token
    | (?:password | passwd | passphrase | pwd | secret | credential)s?
    | (?:api | access | private | secret | signing | encryption)_?keys?
)$"""
_WORD_START = r"(?<=[a-z0-9])(?=[A-Z])"


def is_secret_name(name: str) -> bool:
    """Whether something of this name is a secret, such as ``api_key``, ``clientSecret`` or ``X-Auth-Token``."""
    words = re.sub(_WORD_START, "_", name).lower().replace("-", "_").replace(" ", "_")
    return re.search(_PATTERN, words, re.VERBOSE) is not None


def secrets_in(value: object) -> Iterator[str]:
    """The texts in a JSON value that are named as secrets; of ``Bearer …`` the token."""
    if isinstance(value, Mapping):
        for name, item in value.items():
            if isinstance(item, str) and is_secret_name(str(name)):
                yield item.removeprefix("Bearer ")
            else:
                yield from secrets_in(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from secrets_in(item)
