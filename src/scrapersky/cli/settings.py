"""`scrapersky settings`: list settings with values and origins."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.markup import escape

from scrapersky.cli.output import build_table, out, print_json, print_table
from scrapersky.cli.settings_check import list_effective_settings, load_checked_settings
from scrapersky.operations.configuration import EffectiveSetting
from scrapersky.settings import SettingOrigin, SettingsSource

Changed = Annotated[
    bool, typer.Option("--changed", help="Only settings that differ from their default.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON; values of secrets are omitted.")]


def settings(changed: Changed = False, as_json: AsJson = False) -> int:
    """List every setting with its value and origin. Secrets are hidden."""
    source = SettingsSource()
    effective = list(list_effective_settings(load_checked_settings(source), source))
    visible = [each for each in effective if each.is_set or not changed]
    print_json(visible) if as_json else _print_settings(visible)
    return 0


def _print_settings(lines: list[EffectiveSetting]) -> None:
    if not lines:
        out.print("All settings have their default.")
        return
    table = build_table("Variable", "Value", "From")
    for each in lines:
        table.add_row(each.variable, escape(_format_value(each)), escape(_format_origin(each)))
    print_table(table)


def _format_value(setting: EffectiveSetting) -> str:
    if setting.secret:
        return "set (hidden)" if setting.is_set else "not set"
    return setting.value or ""


def _format_origin(setting: EffectiveSetting) -> str:
    return str(setting.file) if setting.origin is SettingOrigin.FILE else setting.origin.value
