"""Who took which rows out as a file stands in the audit log, with how many there were.

It is noted when the file has come to its end, or was cut off: only then the number is known. Until
then nothing is held; the entry has a transaction of its own. A file whose entry cannot be stored
does not come to its end.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass

from scrapersky.db.session import Database
from scrapersky.http.exports import Counts
from scrapersky.http.lists.exporting import Export, ExportAsked
from scrapersky.logging import get_logger
from scrapersky.models import Actor, record

EXPORTED = "list.export"

log = get_logger(__name__)


@dataclass(frozen=True)
class Noting:
    """One export, for the audit log."""

    database: Database
    export: Export
    actor: Actor
    asked: ExportAsked
    counts: Counts
    """Of what was written so far."""

    async def pieces(self, source: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
        """The same bytes."""
        try:
            async with aclosing(source):
                async for piece in source:
                    yield piece
        except BaseException:
            await self._note_cut_off()
            raise
        await self._note(complete=True)

    async def _note_cut_off(self) -> None:
        """What cut it off is what is told, should this fail, too."""
        try:
            await self._note(complete=False)
        except Exception:
            log.exception("an export that was cut off is not in the audit log", **self._facts())

    async def _note(self, *, complete: bool) -> None:
        async with self.database.transaction() as session:
            record(session, self.actor, EXPORTED, None, **self._facts(), complete=complete)

    def _facts(self) -> dict[str, object]:
        listing, asked = self.export.listing, self.asked
        narrowed = listing.filter_model(**asked.given)
        return {
            "kind": self.export.rows,
            "filter": narrowed.model_dump(mode="json", exclude_none=True),
            "sort": asked.sort or listing.default_sort,
            "format": asked.format.value,
            "columns": [each.name for each in self.export.fields(asked.columns)],
            "rows": self.counts.rows,
        }
