"""The settings page: effective settings with origin and meaning; secrets are masked."""

from __future__ import annotations

import ast
import inspect
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cache

from fastapi import APIRouter
from fastapi.responses import HTMLResponse

from scrapersky.dashboard.page_route import PageRoute
from scrapersky.dashboard.rendering import Renderer
from scrapersky.dashboard.views.health import build_health_line
from scrapersky.http.auth import OperatorAdmin
from scrapersky.http.context import Overview
from scrapersky.operations.configuration import (
    EffectiveSetting,
    format_value,
    list_effective_settings,
)
from scrapersky.pipeline.report import load_status
from scrapersky.pipeline.stage import AnyStage
from scrapersky.settings import Pace, SettingOrigin, Settings, SettingsSource


@dataclass(frozen=True)
class StartupSettingsSource(SettingsSource):
    """Settings as read at startup; later changes of the file apply after a restart."""

    file_said: Mapping[str, str] = field(default_factory=dict)

    def from_file(self) -> dict[str, str]:
        return dict(self.file_said)


def get_startup_source(settings: Settings) -> StartupSettingsSource:
    read = settings.environ
    return StartupSettingsSource(
        environ={name: value for name, value in read.items() if name in os.environ},
        file_said={name: value for name, value in read.items() if name not in os.environ},
    )


def get_origin_label(origin: SettingOrigin) -> str:
    return {
        SettingOrigin.DEFAULT: "default",
        SettingOrigin.FILE: ".env",
        SettingOrigin.ENVIRONMENT: "environment",
    }[origin]


@cache
def get_meanings() -> dict[str, str]:
    return _parse_attribute_docs(Settings)


@cache
def get_pace_meanings() -> dict[str, str]:
    """Return the description of each pace value."""
    docs = _parse_attribute_docs(Pace)
    return {each.name: docs.get(each.name, "") for each in fields(Pace)}


@cache
def get_groups() -> dict[str, tuple[str, ...]]:
    """Group the names under the comment above them, in declaration order."""
    groups: dict[str, tuple[str, ...]] = {}
    title = "Other"
    for line in inspect.getsource(Settings).splitlines():
        text = line.strip()
        name = text.partition(":")[0]
        if text.startswith("# "):
            title = text.removeprefix("# ")
        elif name in Settings.model_fields and name != "environ":
            groups[title] = (*groups.get(title, ()), name)
    return groups


def _parse_attribute_docs(kind: type) -> dict[str, str]:
    """Parse the docstrings below fields, which Python discards."""
    declared = ast.parse(inspect.getsource(kind)).body[0]
    assert isinstance(declared, ast.ClassDef)
    docs = {}
    for above, below in zip(declared.body, declared.body[1:], strict=False):
        if isinstance(above, ast.AnnAssign) and isinstance(above.target, ast.Name):
            docs[above.target.id] = _parse_doc(below)
    return {name: text for name, text in docs.items() if text}


def _parse_doc(node: ast.stmt) -> str:
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return " ".join(str(node.value.value).split())
    return ""


router = APIRouter(route_class=PageRoute)


@dataclass(frozen=True)
class SettingLine:
    variable: str
    shown: str
    origin: str
    means: str
    changed: bool


@dataclass(frozen=True)
class SettingGroup:
    title: str
    lines: tuple[SettingLine, ...]


@router.get("/settings")
async def settings_page(actor: OperatorAdmin, show: Renderer, session: Overview) -> HTMLResponse:
    context = show.context
    now = await load_status(session, context.stages, context.settings)
    return show.page(
        "control/settings.html",
        title="Settings",
        health=build_health_line(context, now),
        groups=build_setting_groups(context.settings, context.stages),
    )


def build_setting_groups(settings: Settings, stages: Sequence[AnyStage]) -> list[SettingGroup]:
    source = get_startup_source(settings)
    by_variable = {
        each.variable: each for each in list_effective_settings(settings, source, stages)
    }
    groups = [
        SettingGroup(
            title, tuple(_build_line(by_variable[name.upper()], settings, name) for name in names)
        )
        for title, names in get_groups().items()
    ]
    return groups + [_build_stage_group(stage, settings, by_variable) for stage in stages]


def _build_stage_group(
    stage: AnyStage, settings: Settings, settings_by_name: dict[str, EffectiveSetting]
) -> SettingGroup:
    lines = []
    for name, means in get_pace_meanings().items():
        each = settings_by_name[f"{stage.prefix}_{name.upper()}"]
        value, origin = each.value or "", get_origin_label(each.origin)
        lines.append(SettingLine(each.variable, value, origin, means, each.is_set))
    return SettingGroup(stage.name, tuple(lines))


def _build_line(each: EffectiveSetting, settings: Settings, name: str) -> SettingLine:
    value = getattr(settings, name)
    origin, changed = get_origin_label(each.origin), each.is_set
    if each.origin is SettingOrigin.DEFAULT and _differs_from_default(name, value):
        origin, changed = "set at startup", True
    text = _mask_secret(value) if each.secret else each.value or ""
    return SettingLine(each.variable, text, origin, get_meanings().get(name, ""), changed)


def _differs_from_default(name: str, value: object) -> bool:
    """Return whether the value differs from the default: programs that embed ScraperSky can pass
    values that are in no environment.
    """
    default = Settings.model_fields[name].get_default(call_default_factory=True)
    return format_value(value) != format_value(default)


def _mask_secret(value: object) -> str:
    return "set (hidden)" if value else "not set"
