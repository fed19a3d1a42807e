"""Settings that belong together, and the words for what is wrong with them."""

from __future__ import annotations

from typing import ClassVar, Self, get_args

from pydantic import (
    BaseModel,
    ConfigDict,
    ModelWrapValidatorHandler,
    SecretStr,
    ValidationError,
    ValidationInfo,
    model_validator,
)

from maverick.exceptions import ConfigError, describe_unknown

ARGUMENT = "argument"
"""The source of a value that the program passed."""
HIDDEN = "***"
"""What is shown in place of a secret."""

_LONGEST_QUOTE = 30  # characters; keys are longer, and get pasted where they do not belong


class Section(BaseModel):
    """Settings that belong together; a value that does not fit raises a ``ConfigError`` that names it.

    A field's ``description`` is what a value has to be: the error says it.
    """

    model_config = ConfigDict(
        allow_inf_nan=False, extra="forbid", frozen=True, hide_input_in_errors=True, str_strip_whitespace=True
    )

    section: ClassVar[str] = ""
    """What the dotted names of the fields start with."""

    @model_validator(mode="wrap")
    @classmethod
    def _name_what_is_wrong(
        cls, values: object, validate: ModelWrapValidatorHandler[Self], info: ValidationInfo
    ) -> Self:
        try:
            return validate(values)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
        # Raised out here, because inside the clause the new error would keep the old one and the value in it.
        if not first["loc"]:
            raise not_settings(cls.section, ARGUMENT)
        name = str(first["loc"][0])
        source = (info.context or {}).get(cls.dotted(name), ARGUMENT)
        if name not in cls.model_fields:
            raise cls.unknown(name, source)
        raise cls._does_not_fit(name, first["input"], source)

    @classmethod
    def dotted(cls, name: str) -> str:
        """A field's name as an error or a list of all settings writes it."""
        return f"{cls.section}.{name}" if cls.section else name

    @classmethod
    def names(cls) -> list[str]:
        """The names an unknown one is compared with."""
        return list(cls.model_fields)

    @classmethod
    def unknown(cls, name: object, source: str) -> ConfigError:
        """The error for a setting that does not exist."""
        shown = name if isinstance(name, str) and len(name) <= _LONGEST_QUOTE else HIDDEN
        problem = describe_unknown(f"{cls.section} setting".strip(), shown, cls.names())
        return ConfigError(
            f"{problem} Correct or remove it (from {source}).", source=source, field=cls.dotted(shown)
        )

    @classmethod
    def _does_not_fit(cls, name: str, value: object, source: str) -> ConfigError:
        field = cls.model_fields[name]
        secret = SecretStr in (field.annotation, *get_args(field.annotation))
        found = "something else, not shown" if secret else _quoted(value)
        return ConfigError(
            f"{cls.dotted(name)}: expected {field.description}, got {found} (from {source}). "
            "Correct it there, or remove it to use the default.",
            source=source,
            field=cls.dotted(name),
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
