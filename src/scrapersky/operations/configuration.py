"""List every setting with its effective value and origin. Secrets only say whether they are set."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, fields
from pathlib import Path

from pydantic import BaseModel, Field

from scrapersky.pipeline.stage import AnyStage
from scrapersky.settings import Pace, SettingOrigin, Settings, SettingsSource, is_secret


class EffectiveSetting(BaseModel):
    """One setting with its effective value."""

    variable: str = Field(examples=["HOST_DELAY_MS"])
    value: str | None = Field(
        description="Effective value, in the form used in the environment. Null for secrets."
    )
    is_set: bool = Field(
        description="Whether a value is set. For secrets, nothing else is returned."
    )
    origin: SettingOrigin
    file: Path | None = Field(description="Path of the file that sets the value, if a file does.")
    secret: bool


def list_variables(stages: Sequence[AnyStage]) -> Iterator[str]:
    yield from (name.upper() for name in Settings.model_fields if name != "environ")
    for stage in stages:
        yield from (f"{stage.prefix}_{each.name.upper()}" for each in fields(Pace))


def list_effective_settings(
    settings: Settings, source: SettingsSource, stages: Sequence[AnyStage]
) -> Iterator[EffectiveSetting]:
    """Yield the settings as declared, then those of each stage in pipeline order."""
    for name in Settings.model_fields:
        if name != "environ":
            yield _build_setting(
                name.upper(), getattr(settings, name), source, secret=is_secret(name)
            )
    for stage in stages:
        for name, value in asdict(stage.get_pace(settings)).items():
            yield _build_setting(f"{stage.prefix}_{name.upper()}", value, source, secret=False)


def _build_setting(
    variable: str, value: object, source: SettingsSource, *, secret: bool
) -> EffectiveSetting:
    origin = source.get_origin(variable)
    file = source.env_file if origin is SettingOrigin.FILE else None
    return EffectiveSetting(
        variable=variable,
        value=None if secret else format_value(value),
        is_set=origin is not SettingOrigin.DEFAULT,
        origin=origin,
        file=file.resolve() if file else None,
        secret=secret,
    )


def format_value(value: object) -> str:
    """Format a value as it would be written in the environment."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:.12g}" if isinstance(value, float) else str(value)
