"""Every setting, as a page and as `.env.example`."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from textwrap import wrap
from typing import Any, Literal, get_args, get_origin

from pydantic.fields import FieldInfo

from scrapersky.cli.settings_check import RESERVED_PREFIXES
from scrapersky.pipeline.stage import AnyStage
from scrapersky.settings import Pace, Settings
from scrapersky.stages import STAGES
from scripts.reference.markdown import code, one_line, page, table
from scripts.reference.source import docstrings_of_fields, groups_of_fields


@dataclass(frozen=True)
class Setting:
    """One environment variable."""

    variable: str
    default: str
    """As written in the environment; empty if the default is not a fixed text."""
    shown_default: str
    values: str
    meaning: str


def settings_by_group() -> dict[str, list[Setting]]:
    meanings = docstrings_of_fields(Settings)
    return {
        group: [
            _setting(name, Settings.model_fields[name], meanings.get(name, "")) for name in all_
        ]
        for group, all_ in groups_of_fields(Settings).items()
    }


def _setting(name: str, info: FieldInfo, meaning: str) -> Setting:
    if info.default_factory is not None:
        shown, default = one_line(inspect.getdoc(info.default_factory) or ""), ""
    else:
        default = as_written(info.default)
        shown = code(default) or "empty"
    return Setting(name.upper(), default, shown, _values(info), meaning)


def stage_settings(stage: AnyStage) -> list[Setting]:
    meanings = docstrings_of_fields(Pace)
    found = []
    for each in fields(Pace):
        default = as_written(getattr(stage.pace, each.name))
        variable = f"{stage.prefix}_{each.name.upper()}"
        kind = "whole number above 0" if each.type == "int" else "number above 0"
        found.append(Setting(variable, default, code(default), kind, meanings.get(each.name, "")))
    return found


def all_settings() -> list[Setting]:
    ours = [each for group in settings_by_group().values() for each in group]
    return [*ours, *(each for stage in STAGES for each in stage_settings(stage))]


def all_variables() -> list[str]:
    return [each.variable for each in all_settings()]


def as_written(value: object) -> str:
    """Format a default as it would be written in the environment."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)


def _values(info: FieldInfo) -> str:
    kind: Any = info.annotation
    if get_origin(kind) is Literal:
        return ", ".join(code(each) for each in get_args(kind))
    names = {bool: "true or false", int: "whole number", float: "number", str: "text"}
    name = names.get(kind) or ("UUID" if "UUID" in str(kind) else "path")
    return " ".join([name, *_bounds(info)])


def _bounds(info: FieldInfo) -> Iterator[str]:
    words = {"ge": "from", "gt": "above", "le": "to", "lt": "below"}
    for attribute, word in words.items():
        for each in info.metadata:
            if (bound := getattr(each, attribute, None)) is not None:
                yield f"{word} {bound:,}"


def settings_page() -> str:
    return page(
        [
            "# Settings",
            "",
            "Settings are environment variables, or lines of a file `.env` in the working "
            "directory. The environment takes precedence over the file, and an empty value counts "
            "as unset. [`.env.example`](../../.env.example) lists all settings, ready to be "
            "copied; "
            "`scrapersky settings` shows the effective values and their origin, without secrets.",
            "",
            "The program refuses to start, with a message that names the variable, if a value is "
            "invalid, if two values contradict each other, or if a variable looks like a setting "
            "but is not one. The rules for names are:",
            "",
            f"- Names that start with {_families()} or with a stage's prefix, or end like a "
            "stage's "
            "setting (`…_SCHEDULER_BATCH_SIZE`), are reserved: an unknown one is refused.",
            "- Any other name is refused only if it is a likely misspelling of a setting "
            "(`DATABSE_URL`), or differs from a longer one in a single word "
            "(`HOST_DELAY_SECONDS`). Variables of other programs, such as `HOST`, `HOSTNAME`, "
            "`LOG_DIR` or `DATABASE_URL_TEST`, and those that Kubernetes sets for its services, "
            "are ignored.",
            "- In `.env`, which belongs to this program, the first rule applies to every word that "
            "a setting starts with (`HOST_`, `AUTH_`, `JWT_`, …).",
            "- `SCRAPERSKY_FOREIGN_VARIABLES` lists exceptions.",
            "",
        ],
        *(_settings_section(f"## {name}", all_) for name, all_ in settings_by_group().items()),
        [
            "## Stages",
            "",
            f"Each [stage](stages.md) has {len(fields(Pace))} settings under its own prefix.",
            "",
        ],
        *(_settings_section(f"### {each.name}", stage_settings(each)) for each in STAGES),
    )


def _families() -> str:
    ours = sorted(RESERVED_PREFIXES & {each.partition("_")[0] for each in all_variables()})
    return ", ".join(code(f"{each}_") for each in ours)


def _settings_section(title: str, settings: Sequence[Setting]) -> list[str]:
    rows = [(code(s.variable), s.shown_default, s.values, s.meaning) for s in settings]
    return [title, "", *table(("Variable", "Default", "Values", "Meaning"), rows)]


def env_example() -> str:
    groups = {
        **settings_by_group(),
        **{f"Stage {each.name}": stage_settings(each) for each in STAGES},
    }
    head = [
        "# Every setting with its default. Copy this file to .env and uncomment what you change.",
        "# Generated by scripts/make_reference.py, like docs/reference/settings.md.",
    ]
    lines = [line for name, all_ in groups.items() for line in _env_group(name, all_)]
    return "\n".join([*head, *lines]) + "\n"


def _env_group(name: str, settings: Sequence[Setting]) -> Iterator[str]:
    yield from ("", f"## {name}")
    for each in settings:
        hint = "" if each.default or each.shown_default == "empty" else each.shown_default
        yield ""
        yield from wrap(
            " ".join(filter(None, (each.meaning, hint))),
            width=98,
            initial_indent="# ",
            subsequent_indent="# ",
        )
        yield f"#{each.variable}={each.default}"
