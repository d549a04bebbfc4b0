"""What must be true when all is over, whatever went wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from uuid import UUID

from sqlalchemy import func, select

from scrapersky.db.session import Database
from scrapersky.demo.provider import PlacesProvider
from scrapersky.models import (
    CostEntry,
    CostMonth,
    CostState,
    Domain,
    Job,
    JobType,
    LocalBusiness,
    Page,
    Place,
    SearchPlace,
    SitemapFile,
    SitemapUrl,
    WebhookDelivery,
)
from scrapersky.pipeline.tables import StageEvent
from tests.chaos.receiver import Receiver
from tests.chaos.sites import CHILDREN, HOST_LIMIT, URLS, Site
from tests.chaos.towns import Town


@dataclass(frozen=True)
class Audit:
    database: Database
    said: str
    """The run's figures, for whoever has to find out what went wrong."""

    async def jobs(self, accepted: set[UUID]) -> None:
        """What was promised has ended, scans and searches alike."""
        rescues = select(func.count()).where(StageEvent.kind == "rescued")
        async with self.database.reading() as session:
            found = await session.execute(select(Job.id, Job.status))
            statuses = {job_id: status for job_id, status in found}  # noqa: C416
            rescued = await session.scalar(rescues)
        assert accepted <= set(statuses), self.said
        assert set(statuses.values()) == {"complete"}, self.said
        assert rescued, f"{self.said}: nobody was killed in the middle of anything"

    async def scans(self, sites: Sequence[Site]) -> None:
        """Each URL is stored once, is counted as new once over all scans, and is one page."""
        added = func.sum(Job.result_data["changes"]["added"].as_integer())
        scans = Job.job_type == JobType.SITEMAP
        async with self.database.reading() as session:
            urls = await session.scalar(select(func.count()).select_from(SitemapUrl))
            distinct = await session.scalar(select(func.count(SitemapUrl.url.distinct())))
            files = await session.scalar(select(func.count()).select_from(SitemapFile))
            pages = await session.scalar(select(func.count()).select_from(Page))
            per_domain = set(await session.scalars(select(Domain.sitemap_urls)))
            new = set(await session.scalars(select(added).where(scans).group_by(Job.domain_id)))
        assert (urls, distinct, pages) == (len(sites) * URLS,) * 3, self.said
        assert files == len(sites) * (CHILDREN + 1), self.said
        assert per_domain == {URLS}, self.said
        assert new == {URLS}, self.said
        assert max(each.most_at_once for each in sites) <= HOST_LIMIT, self.said

    async def searches(self, towns: Sequence[Town]) -> None:
        """Each place is stored once, is one business, and stands once in each search for it."""
        known = Counter(place.place_id for town in towns for place in town.places)
        per_town = {len(town.places) for town in towns}
        by_search = select(func.count()).select_from(SearchPlace).group_by(SearchPlace.search_id)
        async with self.database.reading() as session:
            stored = (await session.execute(select(Place.place_id, Place.local_business_id))).all()
            businesses = set(await session.scalars(select(LocalBusiness.id)))
            found = list(await session.scalars(by_search))
            asked = select(func.count()).where(Job.job_type == JobType.PLACE_SEARCH)
            searches = await session.scalar(asked)
        assert Counter(each.place_id for each in stored) == known, self.said
        assert Counter(each.local_business_id for each in stored) == Counter(businesses), self.said
        assert (len(found), set(found)) == (searches, per_town), self.said

    async def money(self, provider: PlacesProvider, *, cap: Decimal) -> None:
        """The ledger never says less than the provider; the bill is looked at first, for whoever
        works meanwhile is charged before the provider hears of it."""
        billed = provider.bill.usd
        counted = select(func.sum(CostEntry.usd)).where(CostEntry.state != CostState.NOT_BILLED)
        async with self.database.reading() as session:
            ledger = await session.scalar(counted) or Decimal(0)
            spent = await session.scalar(select(CostMonth.spent_usd)) or Decimal(0)
        assert billed <= ledger <= cap, self.said
        assert billed <= spent <= cap, self.said

    async def deliveries(self, receiver: Receiver) -> None:
        """That a job is complete was told once, and whatever was told has been received."""
        how = WebhookDelivery.payload["status"].astext
        told = select(WebhookDelivery.id, WebhookDelivery.status, WebhookDelivery.subject_id, how)
        async with self.database.reading() as session:
            rows = (await session.execute(told.order_by(WebhookDelivery.id))).all()
            jobs = {each.id: each for each in await session.scalars(select(Job))}
        assert {each.status for each in rows} == {"delivered"}, self.said
        assert {each.id for each in rows} == set(receiver.taken), self.said
        for job_id, job in jobs.items():
            ends = [end for _, _, subject, end in rows if subject == job_id]
            assert ends.count("complete") == 1, f"{self.said}: {job.job_type} {job_id} told {ends}"
