"""Who did something, by name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.dashboard.tables import cells
from scrapersky.dashboard.tables.table import Row
from scrapersky.models import User


@dataclass(frozen=True)
class Named:
    """A row, and the name of the one who made it."""

    row: Row
    who: str | None

    def __getattr__(self, name: str) -> Any:
        return getattr(self.row, name)


async def with_names(session: AsyncSession, rows: Sequence[Row]) -> list[Named]:
    ids = {each.created_by for each in rows}
    found = await session.execute(select(User.id, User.name).where(User.id.in_(ids)))
    names: dict[Any, str] = dict(found.all())
    return [Named(each, names.get(each.created_by)) for each in rows]


def who(row: Row, _: bool) -> Markup:
    return cells.brief(row.who, 40)
