"""The settings a command starts with, all of them looked at before anything is begun."""

from __future__ import annotations

from collections.abc import Iterator

from scrapersky.cli.setting_clashes import contradictions, out_of_bounds
from scrapersky.cli.setting_names import Names, first_complaint
from scrapersky.errors import SettingsError
from scrapersky.operations import settings_in_force
from scrapersky.operations.settings_in_force import InForce
from scrapersky.settings import Settings, SettingsSource, load_settings
from scrapersky.stages import STAGES

__all__ = ["InForce", "all_variables", "in_force", "load_checked_settings"]


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
    return settings_in_force.all_variables(STAGES)


def in_force(settings: Settings, source: SettingsSource) -> Iterator[InForce]:
    return settings_in_force.in_force(settings, source, STAGES)
