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
from functools import cache

from maverick.model.secret_names import is_secret_name

REDACTED = "[redacted]"

_NO_PLACEHOLDER = r"(?!\$[A-Z_{(]|[<{]|\[redacted)"

_PATTERNS = (
    # A private key in PEM form; if its end is missing, all that follows.
    r"""
        (?P<before>) -----BEGIN\ [A-Z\ ]*PRIVATE\ KEY----- .*? (?: -----END\ [A-Z\ ]*PRIVATE\ KEY----- | \Z )
    """,
    # "password": "…" as in JSON, in JSON inside JSON (\"…\") and in Python; the end may be cut off.
    r"""
        (?i: (?P<before>
            (?P<quote> \\{0,7}["'] )
            [\w.-]* (?: password | passwd | passphrase | secret | token | authorization | (?:api|access|private)[_-]?key )
            (?P=quote) \s*:\s* (?P<open> \\{0,7}["'] )
        ) )
        (?! (?P=open) ) (?: \\(?:.|\Z) | [^\\] )+? (?= (?P=open) | \Z )
    """,
    # Authorization: … and x-api-key: …
    rf"""
        (?i: (?<![\w-]) (?P<before> (?: (?:proxy-)?authorization | (?:[\w-]{{1,40}}-)?api-key ) :\s* )
        (?: (?: bearer | basic | token ) \s+ )?+ )
        {_NO_PLACEHOLDER} [^\s"',]+
    """,
    # Cookie: …
    rf"""
        (?i: (?<![\w-]) (?P<before> (?:set-)?cookie:[\ ]? ) ) {_NO_PLACEHOLDER} [^\s"'=]+=[^\r\n"']*
    """,
    # API_KEY=… as in .env files and shell commands
    rf"""
        (?<![A-Za-z0-9_])
        (?P<before>
            [A-Z0-9_]* (?: (?:API|ACCESS|SECRET|PRIVATE)_KEY | TOKEN | SECRET | PASSWORD | PASSWD ) = ["']?
        )
        {_NO_PLACEHOLDER} [^\s"'&;]+
    """,
    # scheme://user:…@host
    rf"""
        (?P<before> \w://[^\s/:@]*: ) {_NO_PLACEHOLDER} [^\s/@]+ (?=@)
    """,
    # ?token=… in an address
    rf"""
        (?i: (?P<before> [?&] (?: api_?key | (?:\w+_)?token | secret | password | signature | sig ) = ) )
        {_NO_PLACEHOLDER} [^&\s"'#]+
    """,
    # Bearer …, if it has a digit, capital or joint in it or is very long: "bearer bonds" is prose.
    r"""
        \b (?P<before> (?i:bearer) \s+ ) (?= \S*[0-9A-Z_-] | \S{20} ) [\w.~+/-]{6,} =*
    """,
    # Keys that their services mark, and JSON web tokens.
    r"""
        (?P<before>) (?<![\w-]) (?:
            sk-(?!learn)[\w-]{8,} | [rs]k_(?:live|test)_\w{8,} | gh[oprsu]_\w{16,} | github_pat_\w{16,}
            | glpat-[\w-]{16,} | xox[a-z]-[\w-]{8,} | hf_[A-Za-z0-9]{16,} | AIza[\w-]{30,} | A(?:KI|SI)A[A-Z0-9]{16}
            | eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*
        )
    """,
)
_REPLACEMENT = rf"\g<before>{REDACTED}"


def redact_text(text: str) -> str:
    """The text with every recognised secret replaced."""
    before = None
    while text != before:  # what one pattern leaves may be what another looks for
        before = text
        for pattern in _patterns():
            text = pattern.sub(_REPLACEMENT, text)
    return text


@cache
def _patterns() -> tuple[re.Pattern[str], ...]:
    # Compiled on use: every command would wait for them, and few need them.
    return tuple(re.compile(pattern, re.VERBOSE | re.DOTALL) for pattern in _PATTERNS)


def redact(value: object) -> object:
    """A value that ``json.loads`` could have returned with every recognised secret replaced."""
    match value:
        case str():
            return redact_text(value)
        case Mapping():
            return {
                redact_text(key): REDACTED if is_secret_name(key) and _tells_something(item) else redact(item)
                for key, item in value.items()
            }
        case list() | tuple():
            return [redact(item) for item in value]
    return value


def _tells_something(value: object) -> bool:
    return value is not None and value != "" and not isinstance(value, bool)
