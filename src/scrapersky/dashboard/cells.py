"""Render table cells. Text from websites is escaped, shortened and bidi-isolated."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.dashboard import formats
from scrapersky.dashboard.formats import EMPTY_VALUE, render_badge
from scrapersky.dashboard.labels import get_provider_label
from scrapersky.lists import CellKind, Column
from scrapersky.models import User

MAX_TEXT_LENGTH = 70
MAX_TOOLTIP_LENGTH = 200
MAX_LINK_LENGTH = 1_000
"""Longer URLs are shown on the row's detail page only, to keep tables small."""
WIDE_SUBTEXT_LENGTH = 30
"""Longer subtexts make their column wider."""
PLAIN_MARKUP = Markup("{}")

Row = Any
Cell = Callable[[Row, bool], Markup]
"""Renders a row's cell; the second argument says whether the user may change rows."""
ReadRow = Callable[[Row], Any]


def attribute(name: str) -> ReadRow:
    return lambda row: getattr(row, name)


def shorten(text: Any, most: int = MAX_TEXT_LENGTH) -> Markup:
    """Truncate a text, with more of it in the tooltip."""
    if text is None or text == "":
        return formats.EMPTY_VALUE
    whole = " ".join(str(text)[: MAX_TOOLTIP_LENGTH + most].split())
    if len(whole) <= most:
        return Markup("<bdi>{}</bdi>").format(whole)
    more = whole[:MAX_TOOLTIP_LENGTH]
    return Markup('<bdi title="{}">{}…</bdi>').format(more, whole[: most - 1].rstrip())


def render_nowrap(text: Any, most: int = 60) -> Markup:
    """Render a short text without line breaks, such as a phone number."""
    return Markup('<span class="whole">{}</span>').format(shorten(text, most))


def render_number(count: Any) -> Markup:
    return PLAIN_MARKUP.format(formats.format_number(count))


def render_boolean(known: bool | None) -> Markup:
    return formats.EMPTY_VALUE if known is None else Markup("yes") if known else Markup("no")


def render_items(found: Sequence[str] | None, most: int = 2) -> Markup:
    """Render the first items of a list and the number of remaining ones."""
    if not found:
        return formats.EMPTY_VALUE
    more = Markup(' <span class="soft">+{}</span>').format(len(found) - most)
    first = join_lines(shorten(each, 40) for each in found[:most])
    return first + more if len(found) > most else first


def external_link(url: str | None) -> Markup:
    if not url or len(url) > MAX_LINK_LENGTH:
        return shorten(url)
    scheme = formats.get_scheme(url)
    if scheme not in ("http", "https"):
        return shorten(url)
    return formats.LINK.format(url, shorten(url.split("://", 1)[-1].rstrip("/"), 50))


def row_link(path: str, read: ReadRow, *, otherwise: str = "Unnamed", most: int = 60) -> Cell:
    """Render the link to the row's detail page; its text is never empty."""
    link = Markup('<a id="open-{}" data-open href="/{}/{}">{}</a>')

    def cell(row: Row, _: bool) -> Markup:
        said = read(row)
        shown = (
            shorten(said, most)
            if said
            else Markup('<span class="soft">{}</span>').format(otherwise)
        )
        return link.format(row.id, path, row.id, shown)

    return cell


def join_lines(parts: Iterable[Markup]) -> Markup:
    return Markup("<br>").join(parts)


def status_reason(status: str, reason: ReadRow) -> Cell:
    """Render a status badge with the reason below it."""

    def cell(row: Row, _: bool) -> Markup:
        return formats.render_badge(getattr(row, status)) + subtext(reason(row))

    return cell


def subtext(sentence: Any) -> Markup:
    if not sentence:
        return Markup("")
    wide = "why long" if len(str(sentence)) > WIDE_SUBTEXT_LENGTH else "why"
    return Markup('<div class="{}">{}</div>').format(wide, shorten(sentence, 110))


def stage(status: str, error: str, *, failed: str, retry: str) -> Cell:
    """Render the status of a row in a stage; failed rows show the error and a retry button."""

    def cell(row: Row, may_change: bool) -> Markup:
        word = getattr(row, status)
        said = formats.render_badge(word) + subtext(getattr(row, error))
        return said + retry_button(row, retry) if word == failed and may_change else said

    return cell


def retry_button(row: Row, path: str, label: str = "Retry") -> Markup:
    return Markup(
        '<button type="button" class="quiet" data-row-act data-many="{}" data-id="{}">{}</button>'
    ).format(path, row.id, label)


@dataclass(frozen=True)
class RowButton:
    """A button that calls an API route for one row."""

    label: str
    method: str
    path: str
    asks: str
    done: str
    body: Mapping[str, str] | None = None


def row_button(row: Row, act: RowButton) -> Markup:
    body = "" if act.body is None else json.dumps(act.body)
    return Markup(
        '<button type="button" class="quiet" data-row-act data-method="{}" data-path="{}" '
        'data-body="{}" data-ask="{}" data-done="{}" data-id="{}">{}</button>'
    ).format(act.method, act.path, body, act.asks, act.done, row.id, act.label)


RENDERERS: Mapping[CellKind, Callable[[Any], Markup]] = {
    CellKind.TEXT: shorten,
    CellKind.NOWRAP: render_nowrap,
    CellKind.WORD: lambda word: shorten(formats.humanize(word)),
    CellKind.STATUS: formats.render_badge,
    CellKind.LINK: external_link,
    CellKind.NUMBER: render_number,
    CellKind.BOOLEAN: render_boolean,
    CellKind.TIME: formats.format_time,
    CellKind.ITEMS: render_items,
}


def build_cell(column: Column) -> Cell:
    """Return the cell of a declared column, as its hint or its SQL type says."""
    render = RENDERERS[column.cell_kind]
    return lambda row, _: render(column.read(row))


OWN_WEBSITE = "own"


def website(row: Row, _: bool) -> Markup:
    """Render the website, with its kind if it is not the business's own site."""
    if not row.website_url:
        return EMPTY_VALUE
    said = external_link(row.website_url)
    kind = row.website_kind
    return said if kind in (None, OWN_WEBSITE) else said + Markup("<br>") + render_badge(kind)


def address_text(name: str) -> Cell:
    """Render an address in a column wide enough for a street name."""
    kept = Markup('<span class="address">{}</span>')
    return lambda row, _: kept.format(shorten(getattr(row, name), 60))


def provider_list(names: Iterable[str]) -> Markup:
    """Render one provider per line without line breaks inside."""
    kept = Markup('<span class="whole">{}</span>')
    said = [kept.format(shorten(get_provider_label(each))) for each in sorted(names)]
    return join_lines(said) if said else EMPTY_VALUE


def rating(count: str) -> Cell:
    """Render the rating with the number of reviews, read from the attribute `count`."""
    said = Markup('<span class="whole">{} <span class="soft">({})</span></span>')

    def read(row: Row, _: bool) -> Markup:
        if row.rating is None:
            return EMPTY_VALUE
        return said.format(f"{row.rating:.1f}", f"{getattr(row, count) or 0:,}")

    return read


@dataclass(frozen=True)
class CreatedRow:
    """A row and the name of the user who created it."""

    row: Row
    who: str | None

    def __getattr__(self, name: str) -> Any:
        return getattr(self.row, name)


async def add_creator_names(session: AsyncSession, rows: Sequence[Row]) -> list[CreatedRow]:
    ids = {each.created_by for each in rows}
    found = await session.execute(select(User.id, User.name).where(User.id.in_(ids)))
    names: dict[Any, str] = dict(found.all())
    return [CreatedRow(each, names.get(each.created_by)) for each in rows]


def creator(row: Row, _: bool) -> Markup:
    return shorten(row.who, 40)
