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
    """As one would write it; empty where the default is no fixed text."""
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
    """A default as it would stand in the environment."""
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
            "Settings are environment variables, or lines of a file `.env` in the folder the "
            "program is started in; the environment wins over the file, and an empty value counts "
            "as none. [`.env.example`](../../.env.example) lists them all, ready to be copied; "
            "`scrapersky settings` shows what is in force and where each value comes from, "
            "without the secrets.",
            "",
            "A start is refused, with one sentence that names the variable, when a value cannot "
            "be, when two values cannot work together, and when a variable looks like one of ours "
            "and is none. For names the rule is:",
            "",
            f"- A name that begins with {_families()}, or with a stage's prefix, or ends as a "
            "stage's setting does (`…_SCHEDULER_BATCH_SIZE`), is ours alone: it is a setting, or "
            "it is refused.",
            "- Any other name is refused only when it is a slip away from one (`DATABSE_URL`), "
            "or differs from a longer one in a single word (`HOST_DELAY_SECONDS`). Variables of "
            "other programs, such as `HOST`, `HOSTNAME`, `LOG_DIR` or `DATABASE_URL_TEST`, and "
            "what Kubernetes sets for its services, are left alone.",
            "- In `.env`, which is written for this program, the first rule goes for every word "
            "that one of our settings begins with (`HOST_`, `AUTH_`, `JWT_`, …).",
            "- `SCRAPERSKY_FOREIGN_VARIABLES` names exceptions.",
            "",
        ],
        *(_settings_section(f"## {name}", all_) for name, all_ in settings_by_group().items()),
        [
            "## Stages",
            "",
            f"Each [stage](stages.md) has {len(fields(Pace))} settings under a prefix of its own.",
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
        "# Every setting with its default. Copy this file to .env and take the # off what you",
        "# change. Made by scripts/make_reference.py; docs/reference/settings.md says the same.",
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
