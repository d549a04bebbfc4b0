"""`scrapersky settings`: what is in force, and where each value comes from."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.markup import escape

from scrapersky.cli.output import out, print_json, print_table, table
from scrapersky.cli.settings_in_force import InForce, in_force, load_checked_settings
from scrapersky.settings import Origin, SettingsSource

Changed = Annotated[bool, typer.Option("--changed", help="Only those that are not the default.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON; secrets have no value there.")]


def settings(changed: Changed = False, as_json: AsJson = False) -> int:
    """Show every setting, its value and where that comes from; secrets stay hidden."""
    source = SettingsSource()
    found = list(in_force(load_checked_settings(source), source))
    shown = [each for each in found if each.is_set or not changed]
    print_json(shown) if as_json else _print_settings(shown)
    return 0


def _print_settings(shown: list[InForce]) -> None:
    if not shown:
        out.print("Every setting has its default.")
        return
    made = table("Variable", "Value", "From")
    for each in shown:
        made.add_row(each.variable, escape(_value(each)), escape(_origin(each)))
    print_table(made)


def _value(setting: InForce) -> str:
    if setting.secret:
        return "set (hidden)" if setting.is_set else "not set"
    return setting.value or ""


def _origin(setting: InForce) -> str:
    return str(setting.file) if setting.origin is Origin.FILE else setting.origin.value
