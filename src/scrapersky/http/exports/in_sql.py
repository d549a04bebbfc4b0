"""The rules of `values` as SQL, so that the database can write the text of an export itself."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from sqlalchemy import ColumnElement, Text, case, cast, func, or_

from scrapersky.http.exports.columns import Kind
from scrapersky.http.exports.values import BETWEEN_TEXTS, FORMULA_SIGNS, LINE_SIGNS, PHONES, UNSEEN

Value = ColumnElement[Any]

_UNSEEN_STORED = UNSEEN.replace("\0", "")
_FORMULA = f"^(?:[{LINE_SIGNS}]|[{_UNSEEN_STORED}]*[{re.escape(FORMULA_SIGNS)}])"
_PHONES = f"^(?:{PHONES})$"


def csv_cell(value: Value, kind: Kind, *, only: bool = False) -> Value:
    """What COPY writes as our own writer would. Nothing and an empty text look the same in CSV;
    as the `only` cell of a line they are written as quotes, for an empty line would be no row."""
    text = _TEXTS[kind](value)
    return func.coalesce(cast(text, Text), "") if only else text


def json_value(value: Value, kind: Kind) -> Value:
    """What PostgreSQL's JSON has as ours would."""
    return _moment(value) if kind is Kind.moment else value


def harmless(text: Value) -> Value:
    """With an apostrophe before what looks like a formula; most texts are known by their first
    letter not to."""
    first = func.ascii(text)
    ordinary = or_(first.between(ord("A"), 127), first.between(ord("0"), ord("<")))
    formula = text.regexp_match(_FORMULA) & ~text.regexp_match(_PHONES)
    return case((ordinary, text), (formula, "'" + text), else_=func.nullif(text, ""))


def _as_it_is(value: Value) -> Value:
    return value


def _plain(value: Value) -> Value:
    return cast(value, Text)


def _moment(value: Value) -> Value:
    """By way of JSON: other texts of a time depend on what the server is set to."""
    quoted = cast(func.to_json(func.timezone("UTC", value)), Text)
    return func.btrim(quoted, '"') + "+00:00"


def _date(value: Value) -> Value:
    return func.to_char(value, "YYYY-MM-DD")


_TEXTS: Mapping[Kind, Callable[[Value], Value]] = {
    Kind.text: lambda value: harmless(cast(value, Text)),
    Kind.integer: _as_it_is,
    Kind.number: _as_it_is,
    Kind.boolean: _plain,
    Kind.moment: _moment,
    Kind.date: _date,
    Kind.texts: lambda value: harmless(func.array_to_string(value, BETWEEN_TEXTS)),
}
