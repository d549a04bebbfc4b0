"""API schemas of place searches."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import Annotated, Any
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, computed_field

from scrapersky.jobs.listing import EXAMPLE_ID
from scrapersky.jobs.schemas import JobOut, job_fields
from scrapersky.lists.filters import FilterText
from scrapersky.models import Job, Place, SavedSearch, SearchPlace, SearchTile
from scrapersky.places.budget.estimates import CostEstimate
from scrapersky.places.schemas import PlaceOut
from scrapersky.places.search.coverage import SearchCoverage


class EstimateOut(BaseModel):
    """Estimated cost of a search."""

    model_config = ConfigDict(from_attributes=True)

    requests_min: int
    requests_max: int
    usd_min: Decimal
    usd_max: Decimal
    free_left: int = Field(description="How many of the requests are free this month.")
    spent_usd: Decimal = Field(description="Spent this month.")
    cap_usd: Decimal
    fits: bool = Field(description="Whether even the highest estimate stays within the budget.")
    sentence: str


class DryRunOut(BaseModel):
    estimate: EstimateOut


class SearchReference(BaseModel):
    """The search, as `search_id` and as `job_id`."""

    search_id: UUID = Field(examples=[EXAMPLE_ID])

    @computed_field(description="Same as `search_id`: a search is a job.", examples=[EXAMPLE_ID])  # type: ignore[prop-decorator]
    @property
    def job_id(self) -> UUID:
        return self.search_id


class SearchOut(SearchReference):
    status: str = Field(examples=["pending"])
    status_url: str = Field(examples=[f"/api/v3/places/search/{EXAMPLE_ID}"])
    created_at: datetime
    already_active: bool = Field(description="True if the same search was already active.")
    estimate: EstimateOut


class CoverageOut(BaseModel):
    """Coverage of the area and its results."""

    total: int = Field(description="Number of final tiles.")
    done: int
    known: int = Field(description="Tiles with known places only, which cost nothing.")
    saturated: int = Field(description="Tiles with more places than were returned.")
    not_asked: int
    waiting: int
    split: int = Field(description="Tiles that were split.")
    joined: int = Field(description="Tiles fetched together with their neighbours.")
    found: int
    new: int = Field(description="Places that no search had found before.")
    known_before: int
    covered: bool
    sentence: str


class TileOut(BaseModel):
    """One part of the area."""

    model_config = ConfigDict(from_attributes=True)

    path: str = Field(description="Path of quarters, then the slice number.")
    south: float
    west: float
    north: float
    east: float
    state: str = Field(examples=["done"])
    found: int
    new: int
    requests: int
    paid_requests: int
    note: str | None


class SearchStatus(JobOut):
    """Progress and results of a search."""

    search_id: UUID = Field(description="Same as its `job_id`.", examples=[EXAMPLE_ID])
    subject: str = Field(examples=["bakeries in leipzig"])
    coverage: CoverageOut
    fits: int
    changed: int
    requests: int
    paid_requests: int
    cost_usd: Decimal = Field(description="So far.")
    attribution: str | None = Field(description="Text to show with the places, if required.")


class SearchBrief(SearchReference):
    """A search in the list."""

    subject: str
    provider: str | None
    status: str
    progress: float
    phase: str | None
    found: int | None
    new: int | None
    fits: int | None
    covered: bool | None
    cost_usd: float | None
    error: str | None
    params: dict[str, Any]
    created_by: UUID
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None


class SearchHitOut(PlaceOut):
    """A place in a search's result."""

    position: int = Field(description="Position in the provider's order.")
    fits: bool = Field(description="Whether the place passes the search's filters.")
    sighted: str = Field(
        description="Whether the place was new, changed or known.", examples=["new"]
    )
    changes: dict[str, Any] = Field(description="{field: [before, after]}")
    tile: str


class SavedSearchOut(BaseModel):
    """A search that is repeated every N days."""

    model_config = ConfigDict(from_attributes=True)

    id: UUID
    subject: str
    params: dict[str, Any]
    repeat_days: int
    next_run_at: datetime
    last_search_id: UUID | None
    is_active: bool
    created_by: UUID
    created_at: datetime


def estimate_out(estimate: CostEstimate) -> EstimateOut:
    return EstimateOut.model_validate(estimate)


def search_out(job: Job, estimate: CostEstimate, *, already_active: bool) -> SearchOut:
    return SearchOut(
        search_id=job.id,
        status=job.status,
        status_url=search_url(job.id),
        created_at=job.created_at,
        already_active=already_active,
        estimate=estimate_out(estimate),
    )


def search_url(search_id: UUID) -> str:
    return f"/api/v3/places/search/{search_id}"


def coverage_out(covered: SearchCoverage) -> CoverageOut:
    states = ("done", "known", "saturated", "not_asked", "waiting", "split", "joined")
    return CoverageOut(
        **{state: covered.tiles.get(state, 0) for state in states},
        total=covered.parts,
        found=covered.found,
        new=covered.new,
        known_before=covered.found - covered.new,
        covered=covered.is_complete,
        sentence=covered.sentence,
    )


def search_status(job: Job, covered: SearchCoverage) -> SearchStatus:
    fields = {**job_fields(job), "status_url": search_url(job.id)}
    return SearchStatus(
        **fields,
        search_id=job.id,
        subject=job.subject,
        coverage=coverage_out(covered),
        fits=covered.fits,
        changed=covered.changed,
        requests=covered.requests,
        paid_requests=covered.paid_requests,
        cost_usd=covered.cost_usd,
        attribution=(job.result_data or {}).get("attribution"),
    )


def search_brief(job: Job) -> SearchBrief:
    result = job.result_data or {}
    counted = ("found", "new", "fits", "covered", "cost_usd")
    own = SearchBrief.model_fields.keys() - {*counted, "search_id", "provider"}
    return SearchBrief(
        search_id=job.id,
        provider=job.params.get("provider"),
        **{name: result.get(name) for name in counted},
        **{name: getattr(job, name) for name in own},
    )


def search_hit_out(link: SearchPlace, place: Place) -> SearchHitOut:
    own = ("position", "fits", "sighted", "changes", "tile")
    return SearchHitOut(
        **PlaceOut.model_validate(place).model_dump(exclude={"attribution"}),
        **{name: getattr(link, name) for name in own},
    )


def tile_out(tile: SearchTile) -> TileOut:
    return TileOut.model_validate(tile)


def saved_search_out(saved: SavedSearch) -> SavedSearchOut:
    return SavedSearchOut.model_validate(saved)


MAX_RESULTS_LIMIT = 100_000
Days = Annotated[int, Field(strict=True, ge=1, le=3_650)]


class SearchProvider(StrEnum):
    GOOGLE = "google"
    OSM = "osm"


class AreaIn(BaseModel):
    """A rectangle in degrees. Across the date line its west is greater than its east."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    south: float
    west: float
    north: float
    east: float


class PointIn(BaseModel):
    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    latitude: float
    longitude: float


class FiltersIn(BaseModel):
    """Filters for the results. Other places are stored but not processed further."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    has_website: bool | None = Field(
        default=None, description="True: only with a website. False: only without."
    )
    has_phone: bool | None = Field(
        default=None, description="True: only with a phone number. False: only without."
    )
    min_rating: float | None = Field(default=None, ge=0, le=5)
    open: bool | None = Field(default=None, description="Business status, not opening hours.")


class SearchIn(BaseModel):
    """What to search for, and where: a location name (optionally with a radius around its centre),
    a center with a radius, or an area.
    """

    model_config = ConfigDict(
        extra="forbid",
        allow_inf_nan=False,
        json_schema_extra={
            "examples": [
                {
                    "business_type": "bakeries",
                    "location": "Leipzig",
                    "provider": "osm",
                    "max_results": 200,
                    "filters": {"has_website": True},
                }
            ]
        },
    )

    business_type: FilterText = Field(
        description="Business type in your own words.", examples=["bakeries"]
    )
    location: FilterText | None = Field(
        default=None, description="Location name. With an area or a center it is only a label."
    )
    radius_km: float | None = Field(default=None, gt=0)
    center: PointIn | None = None
    area: AreaIn | None = None
    provider: SearchProvider = SearchProvider.GOOGLE
    max_results: Annotated[int, Field(strict=True, ge=1, le=MAX_RESULTS_LIMIT)] | None = Field(
        default=None, description="Maximum number of places. Defaults to PLACE_SEARCH_MAX_RESULTS."
    )
    filters: FiltersIn = Field(default_factory=FiltersIn)
    language: str | None = Field(default=None, pattern=r"^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$")
    region: str | None = Field(default=None, pattern=r"^[A-Za-z]{2}$", examples=["DE"])
    go_on: bool = Field(default=True, description="Process the found places further, up to leads.")
    repeat_days: Days | None = Field(
        default=None, description="Repeat every N days and report changes."
    )
    dry_run: bool = Field(default=False, description="Estimate the cost without searching.")


class RepeatIn(BaseModel):
    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"every_days": 30}]})

    every_days: Days
