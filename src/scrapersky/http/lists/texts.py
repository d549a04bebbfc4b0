"""What people may give in a filter: moments, ages, and texts that can be looked for."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, PlainSerializer, WithJsonSchema
from pydantic_core import PydanticCustomError
from sqlalchemy import ColumnElement, DateTime, Interval, func, literal

MAX_TEXT_CHARACTERS = 500
MAX_AGE = timedelta(days=36_500)
YEARS = range(1900, 9000)
"""What both Python and PostgreSQL can turn into any time zone."""

UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
AGE = re.compile(r"(\d{1,9})([smhdw])\Z")


def read_moment(given: Any) -> datetime | timedelta:
    """`2026-11-01T12:00:00Z`, or an age: `90m`, `2d`."""
    if isinstance(given, datetime | timedelta):
        return given
    text = str(given).strip()
    found = AGE.match(text)
    age = timedelta(**{UNITS[found[2]]: int(found[1])}) if found and len(found[1]) < 8 else None
    moment = age or _datetime(text)
    if isinstance(moment, timedelta) and moment <= MAX_AGE:
        return moment
    if isinstance(moment, datetime) and moment.year in YEARS:
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    raise PydanticCustomError(
        "moment", "write a moment such as 2026-11-01T12:00:00Z, or an age such as 90m, 12h or 2d"
    )


def _datetime(text: str) -> datetime | None:
    try:
        # A plus sign in a query string arrives as a space.
        return datetime.fromisoformat(text.replace(" ", "+") if "T" in text else text)
    except ValueError:
        return None


def as_sql(moment: datetime | timedelta) -> ColumnElement[Any]:
    """An age is counted back from the database's now."""
    if isinstance(moment, timedelta):
        return func.now() - literal(moment, Interval)
    return literal(moment, DateTime(timezone=True))


def _storable(text: str) -> str:
    if "\x00" in text or any("\ud800" <= each <= "\udfff" for each in text):
        raise PydanticCustomError("text", "it holds a character that no stored text can hold")
    return text


def _spelled(moment: datetime | timedelta) -> str:
    return f"{moment.total_seconds():.0f}s" if isinstance(moment, timedelta) else str(moment)


Moment = Annotated[
    datetime | timedelta,
    BeforeValidator(read_moment),
    PlainSerializer(_spelled),
    WithJsonSchema({"type": "string", "examples": ["2d", "2026-11-01T12:00:00Z"]}),
]
Text = Annotated[
    str, Field(min_length=1, max_length=MAX_TEXT_CHARACTERS), AfterValidator(_storable)
]
