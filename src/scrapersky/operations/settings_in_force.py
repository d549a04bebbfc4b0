"""Every setting as it is now and where it comes from; of secrets only whether they are set."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, fields
from pathlib import Path

from pydantic import BaseModel, Field

from scrapersky.pipeline.stage import AnyStage
from scrapersky.settings import Origin, Pace, Settings, SettingsSource, is_secret


class InForce(BaseModel):
    """One setting as it is now."""

    variable: str = Field(examples=["HOST_DELAY_MS"])
    value: str | None = Field(description="As one would write it; never there for a secret.")
    is_set: bool = Field(description="Whether anybody said it; for secrets this is all there is.")
    origin: Origin
    file: Path | None = Field(description="The file it stands in, if that is where it stands.")
    secret: bool


def all_variables(stages: Sequence[AnyStage]) -> Iterator[str]:
    yield from (name.upper() for name in Settings.model_fields if name != "environ")
    for stage in stages:
        yield from (f"{stage.prefix}_{each.name.upper()}" for each in fields(Pace))


def in_force(
    settings: Settings, source: SettingsSource, stages: Sequence[AnyStage]
) -> Iterator[InForce]:
    """In the order they are declared, then stage by stage in the order rows travel."""
    for name in Settings.model_fields:
        if name != "environ":
            yield _one(name.upper(), getattr(settings, name), source, secret=is_secret(name))
    for stage in stages:
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
