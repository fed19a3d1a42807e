"""Hides keys, tokens and passwords in what is about to be written down.

A secret is known by its shape (``sk-…``, ``Bearer …``, a private key), by what stands before it in a text
(``Authorization: …``, ``API_KEY=…``, ``"password": "…"``, ``scheme://user:…@host``), or by its name in structured
data. What is hidden stays hidden the same way if it is hidden again, so that a request made from recorded
answers is equal to the request that was recorded. Placeholders such as ``$API_KEY`` and ``{token}`` are no
secrets. A secret told in plain prose cannot be recognised.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

REDACTED = "[redacted]"

_SECRET_NAME = re.compile(
    r"""(?:^|_)(?:
        auth | authorization | cookie | token
        | (?:password | passwd | passphrase | pwd | secret | credential)s?
        | (?:api | access | private | secret | signing | encryption)_?keys?
    )$""",
    re.VERBOSE,
)
_WORD_START = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")

_NAME_IN_TEXT = (
    r"(?:password|passwd|passphrase|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|authorization)"
)
_NO_PLACEHOLDER = r"(?!\$[\w{(]|[<{]|\[redacted)"

_RULES = (
    # A private key in PEM form; what comes after a missing end is taken for the key.
    (r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", REDACTED),
    # "password": "…", as in JSON, JSON inside JSON (\"…\") and Python; the end may be cut off.
    (
        rf"(?i)((\\*[\"'])[\w.-]*{_NAME_IN_TEXT}\2\s*:\s*(\\*[\"']))(?:\\.|[^\\])*?(\3|\Z)",
        rf"\g<1>{REDACTED}\g<4>",
    ),
    # Authorization: Bearer …, x-api-key: …
    (
        r"(?i)\b((?:proxy-)?authorization:\s*|(?:[\w-]+-)?api-key:\s*|(?:set-)?cookie:\s*)"
        rf"(?:(?:bearer|basic|token)\s+)?{_NO_PLACEHOLDER}[^\s\"',]+",
        rf"\g<1>{REDACTED}",
    ),
    # API_KEY=…, as in .env files and shell commands
    (
        r"(?<![A-Za-z0-9_])([A-Z0-9_]*(?:API_KEY|ACCESS_KEY|SECRET_KEY|PRIVATE_KEY|TOKEN|SECRET|PASSWORD|PASSWD)=[\"']?)"
        rf"{_NO_PLACEHOLDER}[^\s\"'&;]+",
        rf"\g<1>{REDACTED}",
    ),
    # scheme://user:password@host
    (rf"(\w://[^\s/:@]*:){_NO_PLACEHOLDER}[^\s/@]+(?=@)", rf"\g<1>{REDACTED}"),
    # ?token=… in an address
    (
        rf"(?i)([?&](?:api_?key|(?:\w+_)?token|secret|password|signature|sig)=){_NO_PLACEHOLDER}[^&\s\"'#]+",
        rf"\g<1>{REDACTED}",
    ),
    # Bearer …: a word with a digit, a capital or a joint in it, or a very long one; "bearer bonds" is prose.
    (r"\b((?i:bearer)\s+)(?=\S*[0-9A-Z_-]|\S{20})[\w.~+/-]{6,}=*", rf"\g<1>{REDACTED}"),
    # Keys that services mark as theirs, and JSON web tokens
    (
        r"""(?x)(?<![\w-])(?:
            sk-(?!learn)[\w-]{8,} | [rs]k_(?:live|test)_\w{8,} | gh[oprsu]_\w{16,} | github_pat_\w{16,} | glpat-[\w-]{16,}
            | xox[a-z]-[\w-]{8,} | hf_[A-Za-z0-9]{16,} | AIza[\w-]{30,} | A(?:KI|SI)A[A-Z0-9]{16}
            | eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*
        )""",
        REDACTED,
    ),
)
_COMPILED = tuple((re.compile(pattern, re.DOTALL), replacement) for pattern, replacement in _RULES)


def redact_text(text: str) -> str:
    """The text with every recognised secret replaced."""
    for pattern, replacement in _COMPILED:
        text = pattern.sub(replacement, text)
    return text


def redact(value: Any, *, by_name: bool = True) -> Any:
    """A JSON value with every recognised secret replaced.

    Args:
        value: What ``json.loads`` could have returned.
        by_name: Whether what stands under a key such as ``password`` is a secret. In a JSON schema it is a
            description of one.
    """
    match value:
        case str():
            return redact_text(value)
        case Mapping():
            return {
                redact_text(key): REDACTED
                if by_name and item not in (None, "") and is_secret_name(key)
                else redact(item, by_name=by_name)
                for key, item in value.items()
            }
        case list() | tuple():
            return [redact(item, by_name=by_name) for item in value]
    return value


def is_secret_name(name: str) -> bool:
    """Whether something of this name is a secret, such as ``api_key``, ``clientSecret`` or ``X-Auth-Token``."""
    words = _WORD_START.sub("_", name).lower().replace("-", "_").replace(" ", "_")
    return _SECRET_NAME.search(words) is not None
