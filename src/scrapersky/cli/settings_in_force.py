"""The settings a command starts with, all of them looked at before anything is begun."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, fields
from pathlib import Path

from pydantic import BaseModel, Field

from scrapersky.cli.setting_clashes import contradictions, out_of_bounds
from scrapersky.cli.setting_names import Names, first_complaint
from scrapersky.errors import SettingsError
from scrapersky.settings import (
    Origin,
    Pace,
    Settings,
    SettingsSource,
    is_secret,
    load_settings,
)
from scrapersky.stages import STAGES


class InForce(BaseModel):
    """One setting as it is now."""

    variable: str = Field(examples=["HOST_DELAY_MS"])
    value: str | None = Field(description="As one would write it; never there for a secret.")
    is_set: bool = Field(description="Whether anybody said it; for secrets this is all there is.")
    origin: Origin
    file: Path | None = Field(description="The file it stands in, if that is where it stands.")
    secret: bool


def load_checked_settings(source: SettingsSource | None = None) -> Settings:
    """As `load_settings`, which looks at each value by itself; here they must also go together, a
    variable that is nearly one of ours is refused, and every stage's pace is read at once."""
    source = source or SettingsSource()
    settings = load_settings(source)
    named = first_complaint(_names(settings), source.environ, source.from_file())
    for complaint in (named, *out_of_bounds(settings), *contradictions(settings)):
        if complaint is not None:
            raise SettingsError(complaint)
    for stage in STAGES:
        stage.paced(settings)
    if settings.fetch_ca_file is not None and not settings.fetch_ca_file.is_file():
        raise SettingsError(f"FETCH_CA_FILE names {settings.fetch_ca_file}, which is no file.")
    return settings


def _names(settings: Settings) -> Names:
    foreign = (each.strip() for each in settings.scrapersky_foreign_variables.split(","))
    prefixes = tuple(stage.prefix for stage in STAGES)
    return Names(frozenset(all_variables()), prefixes, frozenset(foreign))


def all_variables() -> Iterator[str]:
    yield from (name.upper() for name in Settings.model_fields if name != "environ")
    for stage in STAGES:
        yield from (f"{stage.prefix}_{each.name.upper()}" for each in fields(Pace))


def in_force(settings: Settings, source: SettingsSource) -> Iterator[InForce]:
    """In the order they are declared, then stage by stage in the order rows travel."""
    for name in Settings.model_fields:
        if name != "environ":
            yield _one(name.upper(), getattr(settings, name), source, secret=is_secret(name))
    for stage in STAGES:
        for name, value in asdict(stage.paced(settings)).items():
            yield _one(f"{stage.prefix}_{name.upper()}", value, source, secret=False)


def _one(variable: str, value: object, source: SettingsSource, *, secret: bool) -> InForce:
    origin = source.origin_of(variable)
    file = source.env_file if origin is Origin.FILE else None
    return InForce(
        variable=variable,
        value=None if secret else as_written(value),
        is_set=origin is not Origin.DEFAULT,
        origin=origin,
        file=file.resolve() if file else None,
        secret=secret,
    )


def as_written(value: object) -> str:
    """As it would stand in the environment."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:.12g}" if isinstance(value, float) else str(value)
