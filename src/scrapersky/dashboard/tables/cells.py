"""How the cells of tables read. What sites say is shown inert, short, and cannot break the row."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from scrapersky.dashboard import wording
from scrapersky.dashboard.tables.table import Cell, Row

SHOWN_CHARACTERS = 70
POINTED_AT_CHARACTERS = 200
LINKED_CHARACTERS = 1_000
"""Longer addresses are on the row's own page: a table of them would weigh too much."""
LONG_CHARACTERS = 30
"""A sentence below a value that is longer has its column made wider."""
JUST = Markup("{}")

Read = Callable[[Row], Any]


def value(name: str) -> Read:
    return lambda row: getattr(row, name)


def brief(text: Any, most: int = SHOWN_CHARACTERS) -> Markup:
    """The beginning of a text; some more of it when one points at it."""
    if text is None or text == "":
        return wording.NOTHING
    whole = " ".join(str(text)[: POINTED_AT_CHARACTERS + most].split())
    if len(whole) <= most:
        return Markup("<bdi>{}</bdi>").format(whole)
    more = whole[:POINTED_AT_CHARACTERS]
    return Markup('<bdi title="{}">{}…</bdi>').format(more, whole[: most - 1].rstrip())


def text(name: str, most: int = SHOWN_CHARACTERS) -> Cell:
    return lambda row, _: brief(getattr(row, name), most)


def whole(name: str, most: int = 20) -> Cell:
    """A short text that is not divided, such as a phone number."""
    kept = Markup('<span class="whole">{}</span>')
    return lambda row, _: kept.format(brief(getattr(row, name), most))


def number(name: str) -> Cell:
    return lambda row, _: JUST.format(wording.number(getattr(row, name)))


def url_total(name: str) -> Cell:
    return lambda row, _: JUST.format(wording.url_total(getattr(row, name)))


def moment(name: str) -> Cell:
    return lambda row, _: wording.moment(getattr(row, name))


def badge(name: str) -> Cell:
    return lambda row, _: wording.badge(getattr(row, name))


def word(name: str) -> Cell:
    return lambda row, _: brief(wording.in_words(getattr(row, name)))


def yes_or_no(name: str) -> Cell:
    def read(row: Row, _: bool) -> Markup:
        known = getattr(row, name)
        return wording.NOTHING if known is None else Markup("yes") if known else Markup("no")

    return read


def several(name: str, most: int = 2) -> Cell:
    """The first ones of a list, and how many more there are."""

    def read(row: Row, _: bool) -> Markup:
        found: list[str] = list(getattr(row, name) or ())
        if not found:
            return wording.NOTHING
        more = Markup(' <span class="soft">+{}</span>').format(len(found) - most)
        first = lines(brief(each, 40) for each in found[:most])
        return first + more if len(found) > most else first

    return read


def site(name: str) -> Cell:
    """An address on the web, which opens in a window of its own."""
    return lambda row, _: outside(getattr(row, name))


def outside(url: str | None) -> Markup:
    if not url or len(url) > LINKED_CHARACTERS:
        return brief(url)
    scheme = wording.urlsplit_scheme(url)
    if scheme not in ("http", "https"):
        return brief(url)
    return wording.LINK.format(url, brief(url.split("://", 1)[-1].rstrip("/"), 50))


def opens(path: str, read: Read, *, otherwise: str = "without a name", most: int = 60) -> Cell:
    """The link to the row's own page; its text is never empty."""
    link = Markup('<a id="open-{}" data-open href="/{}/{}">{}</a>')

    def cell(row: Row, _: bool) -> Markup:
        said = read(row)
        shown = (
            brief(said, most) if said else Markup('<span class="soft">{}</span>').format(otherwise)
        )
        return link.format(row.id, path, row.id, shown)

    return cell


def lines(parts: Iterable[Markup]) -> Markup:
    return Markup("<br>").join(parts)


def with_reason(status: str, reason: Read) -> Cell:
    """A word, and below it why."""

    def cell(row: Row, _: bool) -> Markup:
        return wording.badge(getattr(row, status)) + below(reason(row))

    return cell


def below(sentence: Any) -> Markup:
    if not sentence:
        return Markup("")
    wide = "why long" if len(str(sentence)) > LONG_CHARACTERS else "why"
    return Markup('<div class="{}">{}</div>').format(wide, brief(sentence, 110))


def stage(status: str, error: str, *, failed: str, retry: str) -> Cell:
    """Where a row stands in a stage; one that failed says why and can be tried again."""

    def cell(row: Row, may_change: bool) -> Markup:
        word = getattr(row, status)
        said = wording.badge(word) + below(getattr(row, error))
        return said + again(row, retry) if word == failed and may_change else said

    return cell


def again(row: Row, path: str, label: str = "Retry") -> Markup:
    return Markup(
        '<button type="button" class="quiet" data-row-act data-many="{}" data-id="{}">{}</button>'
    ).format(path, row.id, label)


@dataclass(frozen=True)
class RowAct:
    """A button for one row, by a route of the API that is about this one."""

    label: str
    method: str
    path: str
    asks: str
    done: str
    body: Mapping[str, str] | None = None


def row_act(row: Row, act: RowAct) -> Markup:
    body = "" if act.body is None else json.dumps(act.body)
    return Markup(
        '<button type="button" class="quiet" data-row-act data-method="{}" data-path="{}" '
        'data-body="{}" data-ask="{}" data-done="{}" data-id="{}">{}</button>'
    ).format(act.method, act.path, body, act.asks, act.done, row.id, act.label)
