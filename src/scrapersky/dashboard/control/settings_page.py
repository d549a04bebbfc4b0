"""Every setting in force in this process, grouped; of secrets only whether they are set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fastapi import APIRouter
from fastapi.responses import HTMLResponse

from scrapersky.dashboard.control.health_line import health_line
from scrapersky.dashboard.control.origins import origin_in_words, started_with
from scrapersky.dashboard.control.setting_words import groups, meanings, paces
from scrapersky.dashboard.page_route import PageRoute
from scrapersky.dashboard.rendering import Showing
from scrapersky.http.auth import OperatorAdmin
from scrapersky.http.context import Overview
from scrapersky.operations.settings_in_force import InForce, as_written, in_force
from scrapersky.pipeline.report import standing
from scrapersky.pipeline.stage import AnyStage
from scrapersky.settings import Origin, Settings

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
async def settings_page(actor: OperatorAdmin, show: Showing, session: Overview) -> HTMLResponse:
    context = show.context
    now = await standing(session, context.stages, context.settings)
    return show.page(
        "control/settings.html",
        title="Settings",
        health=health_line(context, now),
        groups=setting_groups(context.settings, context.stages),
    )


def setting_groups(settings: Settings, stages: Sequence[AnyStage]) -> list[SettingGroup]:
    source = started_with(settings)
    found = {each.variable: each for each in in_force(settings, source, stages)}
    made = [
        SettingGroup(title, tuple(_line(found[name.upper()], settings, name) for name in names))
        for title, names in groups().items()
    ]
    return made + [_of_stage(stage, settings, found) for stage in stages]


def _of_stage(stage: AnyStage, settings: Settings, found: dict[str, InForce]) -> SettingGroup:
    lines = []
    for name, means in paces().items():
        each = found[f"{stage.prefix}_{name.upper()}"]
        value, origin = each.value or "", origin_in_words(each.origin)
        lines.append(SettingLine(each.variable, value, origin, means, each.is_set))
    return SettingGroup(stage.name, tuple(lines))


def _line(each: InForce, settings: Settings, name: str) -> SettingLine:
    value = getattr(settings, name)
    origin, changed = origin_in_words(each.origin), each.is_set
    if each.origin is Origin.DEFAULT and _differs(name, value):
        origin, changed = "set at the start", True
    shown = _whether_set(value) if each.secret else each.value or ""
    return SettingLine(each.variable, shown, origin, meanings().get(name, ""), changed)


def _differs(name: str, value: object) -> bool:
    """Whoever starts the program from Python can give values that stand in no environment."""
    default = Settings.model_fields[name].get_default(call_default_factory=True)
    return as_written(value) != as_written(default)


def _whether_set(value: object) -> str:
    return "set (hidden)" if value else "not set"
