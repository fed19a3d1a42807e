"""Settings that belong together, and the words for what is wrong with them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from typing import ClassVar, get_type_hints

from maverick.config.secret import HIDDEN
from maverick.exceptions import ConfigError, describe_unknown

ARGUMENT = "argument"
"""The source of a value that the program passed."""
DEFAULT = "default"
"""The source of a value that nobody set."""

_LONGEST_QUOTE = 30  # characters; keys are longer, and get pasted where they do not belong


@dataclass(frozen=True, slots=True)
class Rule:
    """What a setting may be; it stands in the annotation of the setting."""

    expected: str
    """What a value has to be, in words for an error."""
    read: Callable[[object], object]
    """Gives the value of what was written, or raises ``ValueError``."""
    secret: bool = False
    """Whether no error may show what was written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """Settings that belong together; a value that does not fit raises a ``ConfigError`` that names it."""

    section: ClassVar[str] = ""
    """What the dotted names of the fields start with."""

    sources: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)
    """The file or variable that each setting came from, by its dotted name."""

    def __post_init__(self) -> None:
        for name, rule in self.rules().items():
            written = getattr(self, name)
            with suppress(ValueError):
                object.__setattr__(self, name, rule.read(written))
                continue
            # Raised out here, because inside the block the new error would keep the old one and the value in it.
            raise self._does_not_fit(name, rule, written)

    @classmethod
    @cache
    def rules(cls) -> Mapping[str, Rule]:
        """What can be set, by name."""
        hints = get_type_hints(cls, include_extras=True)
        return {
            name: rule
            for name, hint in hints.items()
            for rule in getattr(hint, "__metadata__", ())
            if isinstance(rule, Rule)
        }

    @classmethod
    def dotted(cls, name: str) -> str:
        """A field's name as an error or a list of all settings writes it."""
        return f"{cls.section}.{name}" if cls.section else name

    @classmethod
    def names(cls) -> list[str]:
        """The names an unknown one is compared with."""
        return list(cls.rules())

    @classmethod
    def unknown(cls, name: object, source: str) -> ConfigError:
        """The error for a setting that does not exist."""
        shown = name if isinstance(name, str) and len(name) <= _LONGEST_QUOTE else HIDDEN
        problem = describe_unknown(f"{cls.section} setting".strip(), shown, cls.names())
        return ConfigError(
            f"{problem} Correct or remove it (from {source}).", source=source, field=cls.dotted(shown)
        )

    def source_of(self, name: str) -> str:
        """Where the value of a setting came from: a file, a variable, the program, or nowhere."""
        made_here = DEFAULT if getattr(self, name) == getattr(type(self)(), name) else ARGUMENT
        return self.sources.get(self.dotted(name), made_here)

    def _does_not_fit(self, name: str, rule: Rule, written: object) -> ConfigError:
        source = self.sources.get(self.dotted(name), ARGUMENT)
        found = "something else, not shown" if rule.secret else _quoted(written)
        return ConfigError(
            f"{self.dotted(name)}: expected {rule.expected}, got {found} (from {source}). "
            "Correct it there, or remove it to use the default.",
            source=source,
            field=self.dotted(name),
        )


def not_settings(section: str, source: str) -> ConfigError:
    """The error for something that is no list of settings at all."""
    start = f"{section}: expected" if section else "Expected"
    problem = f"{start} settings, each as 'name: value' (from {source}). Look for a missing colon or space."
    return ConfigError(problem, source=source, field=section or None)


def _quoted(value: object) -> str:
    """A value for an error to show, unless it may hold a key or a password, or is no plain value."""
    if isinstance(value, str):
        safe = len(value) <= _LONGEST_QUOTE and "@" not in value
        return repr(value) if safe else f"{len(value)} characters that are not shown"
    if isinstance(value, float) or (isinstance(value, int) and value.bit_length() <= 64):
        return repr(value)
    return f"a value of type {type(value).__name__}"
