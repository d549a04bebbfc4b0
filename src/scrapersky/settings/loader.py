"""Load the settings from the environment and `.env`."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from dotenv import dotenv_values
from pydantic import ValidationError

from scrapersky.errors import SettingsError
from scrapersky.redaction import find_secrets, register_secrets
from scrapersky.settings.model import Settings

SECRET_WORDS = {"SECRET", "PASSWORD", "TOKEN", "KEY", "URL", "WEBHOOK", "CREDENTIALS"}
"""Words that mark a setting as secret: it is shown as set or not set, never with its value."""
NON_SECRET_WORDS = {"PUBLIC", "BASE"}
"""Exceptions to `SECRET_WORDS`: half of a key pair, or the URL of a service, which may not carry a
password.
"""


class SettingOrigin(StrEnum):
    """Where the value of a setting came from."""

    DEFAULT = "default"
    FILE = "file"
    ENVIRONMENT = "environment"


@dataclass(frozen=True)
class SettingsSource:
    """The sources that settings are read from. Tests pass their own."""

    environ: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    env_file: Path | None = Path(".env")

    def from_file(self) -> dict[str, str]:
        if self.env_file is None or not self.env_file.is_file():
            return {}
        try:
            said = dotenv_values(self.env_file)
        except (OSError, UnicodeError) as error:
            raise SettingsError(f"{self.env_file} cannot be read: {error}.") from error
        return {name: value for name, value in said.items() if value is not None}

    def merge(self) -> dict[str, str]:
        return {**self.from_file(), **self.environ}

    def get_origin(self, variable: str) -> SettingOrigin:
        """Return where the value comes from.

        An empty value counts as unset, even if it overrides one in the file.
        """
        if not self.merge().get(variable, "").strip():
            return SettingOrigin.DEFAULT
        return SettingOrigin.ENVIRONMENT if variable in self.environ else SettingOrigin.FILE


def load_settings(source: SettingsSource | None = None, **overrides: Any) -> Settings:
    """Read the settings; raise an error that names the variable of an invalid value."""
    environ = (source or SettingsSource()).merge()
    values: dict[str, Any] = {"environ": environ}
    for name in Settings.model_fields:
        if name != "environ" and environ.get(name.upper(), "").strip():
            values[name] = environ[name.upper()].strip()
    values |= overrides
    # Register the secrets first, so that no later message can show them.
    register_secrets(_secret_values(values))
    try:
        return Settings(**values)
    except ValidationError as error:
        raise SettingsError(_format_first_error(error)) from None


def is_secret(name: str) -> bool:
    """Return whether the field's value must never be shown; URLs may carry passwords and tokens."""
    info = Settings.model_fields.get(name)
    words = set(name.upper().split("_"))
    telling = bool(words & SECRET_WORDS) and not words & NON_SECRET_WORDS
    if info is None:
        return telling
    return not info.repr or (telling and info.annotation is str)


def _secret_values(values: Mapping[str, Any]) -> Iterator[str]:
    for name, value in values.items():
        if name != "environ" and isinstance(value, str) and is_secret(name):
            info = Settings.model_fields.get(name)
            yield from find_secrets(value, whole=info is not None and not info.repr)


def _format_first_error(error: ValidationError) -> str:
    first = error.errors()[0]
    reason = first["msg"].removeprefix("Value error, ").rstrip(".")
    if not first["loc"]:
        return f"{reason}."
    name = str(first["loc"][0])
    given = "what it is" if is_secret(name) else repr(first["input"])
    return f"{name.upper()} cannot be {given}: {reason}."
