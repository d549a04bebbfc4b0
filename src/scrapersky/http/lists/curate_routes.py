"""The route by which people decide about many rows of a list; the same for every kind."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any

from fastapi import APIRouter, Body, Depends
from pydantic import Field, create_model

from scrapersky.http.auth import Curator
from scrapersky.http.context import Transaction
from scrapersky.http.errors import problem_responses
from scrapersky.http.lists.bulk import BulkAsked, BulkIn, read_bulk
from scrapersky.http.lists.curating import ROWS_AT_ONCE, CurateOut, Curation, curate
from scrapersky.http.lists.listing import with_model


@dataclass(frozen=True)
class CurateAsked:
    """Which rows, and what was decided about them."""

    status: str
    rows: BulkAsked


class CurateIn(BulkIn):
    """Which rows, and what they are to be."""

    status: StrEnum


def curate_asked(curation: Curation) -> Callable[..., CurateAsked]:
    """A dependency that reads a decision about rows of this list."""
    said = "What was decided. `Selected` queues the row's next stage." if curation.queues else None
    most: Any = Field(default=ROWS_AT_ONCE, ge=1, le=ROWS_AT_ONCE, description="Rows at most.")
    narrowed: Any = (curation.listing.filter_model | None, Field(default=None))
    model: Any = create_model(
        f"Curate{curation.listing.name}In",
        __base__=CurateIn,
        filter=narrowed,
        status=(_decisions(curation), Field(description=said or "What was decided.")),
        limit=(int, most),
    )

    def read(wanted: CurateIn) -> CurateAsked:
        rows = read_bulk(curation.listing, wanted, but=["status"])
        return CurateAsked(wanted.status.value, rows)

    return with_model(read, "wanted", model, Body())


def _decisions(curation: Curation) -> Any:
    """The words of the kind that people choose from, as a type: others are refused with a 422."""
    words = {each.name: each.value for each in curation.words if each in curation.decisions}
    same = len(words) == len(curation.words)
    return curation.words if same else StrEnum(f"{curation.listing.name}Decision", words)


def curation_routes(curation: Curation) -> APIRouter:
    """To be included in the feature's router, before any route that takes an id."""
    refusals = problem_responses(400, 401, 403, 409, 415, 422)
    router = APIRouter(tags=["curation"], responses=refusals)
    noun = curation.kind.replace("_", " ")
    asked = curate_asked(curation)

    @router.post("/curate", name=f"curate_{curation.kind}s", summary=f"Decide about many {noun}s")
    async def curate_rows(
        actor: Curator, session: Transaction, wanted: Annotated[CurateAsked, Depends(asked)]
    ) -> CurateOut:
        """By ids or by the filters of the list, all in one transaction. Rows that have the status
        already are left alone. What was done can be undone by `action_id`."""
        return await curate(session, actor, curation, wanted.status, wanted.rows)

    return router
