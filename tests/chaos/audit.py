"""Invariants that are checked at the end of a chaos run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from uuid import UUID

from sqlalchemy import func, select

from scrapersky.db.session import Database
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
from scrapersky.pipeline.tables import DeadLetter, StageEvent
from scrapersky.testing import PlacesProvider
from tests.chaos.receiver import Receiver
from tests.chaos.sites import CHILDREN, URLS, Site
from tests.chaos.towns import Town

HOSTS_FAULTS = frozenset({"ConnectionFailed", "HostClosed", "ScanFailed", "TimedOut"})
"""Error classes of dead letters that a sick site, provider or receiver may cause. All others are
our own: a lost worker (WorkerDied), an outage (DatabaseUnavailable), a bug."""


@dataclass
class Audit:
    """Looks at everything before it complains: one run in a thousand may show a fault, so each has
    to tell all it can."""

    database: Database
    said: str
    """The run's figures, for whoever has to find out what went wrong."""
    failures: list[str] = field(default_factory=list)
    letters: Counter[str] = field(default_factory=Counter)
    """Dead letters by error class, once `dead_letters` has looked."""

    def check(self, what: str, found: object, wanted: object) -> None:
        if found != wanted:
            self.failures.append(f"{what}: {found!r}, and not {wanted!r}")

    def check_that(self, is_true: object, what: str) -> None:
        if not is_true:
            self.failures.append(what)

    def fail(self, what: str) -> None:
        self.failures.append(what)

    @contextmanager
    def collecting(self, what: str) -> Iterator[None]:
        """Note an error of the block as a failure and go on: what happens later counts, too."""
        try:
            yield
        except Exception as error:
            self.fail(f"{what}: {type(error).__name__}: {error}")

    def conclude(self) -> None:
        assert not self.failures, "\n".join([self.said, *self.failures])

    async def jobs(self, accepted: set[UUID]) -> None:
        """What was promised has ended, scans and searches alike."""
        rescues = select(func.count()).where(StageEvent.kind == "rescued")
        async with self.database.reading() as session:
            found = await session.execute(select(Job.id, Job.status))
            statuses = {job_id: status for job_id, status in found}  # noqa: C416
            rescued = await session.scalar(rescues)
        self.check("accepted jobs that are gone", accepted - set(statuses), set())
        self.check("jobs by status", Counter(statuses.values()), {"complete": len(statuses)})
        self.check_that(rescued, "nobody was killed in the middle of anything")

    async def dead_letters(self) -> None:
        """Rows are given up for what hosts do, and never for an outage or a lost worker. Letters
        that were replayed since are judged, too: their rows stay in the table."""
        columns = DeadLetter.stage, DeadLetter.row_id, DeadLetter.error_class, DeadLetter.error
        events = select(StageEvent.kind, StageEvent.error, func.count())
        by_kind = events.group_by(StageEvent.kind, StageEvent.error)
        async with self.database.reading() as session:
            letters = (await session.execute(select(*columns))).all()
            self.letters = Counter(each.error_class for each in letters)
            for each in letters:
                if each.error_class in HOSTS_FAULTS and "database" not in each.error.lower():
                    continue
                history = await session.execute(by_kind.where(StageEvent.row_id == each.row_id))
                before = "".join(
                    f"\n    {count}× {kind}: {error}" for kind, error, count in history
                )
                letter = f"{each.stage}: {each.error_class}: {each.error}"
                self.fail(f"dead letter of {letter}{before}")

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
        wanted = (len(sites) * URLS,) * 3
        self.check("URLs, different ones, pages", (urls, distinct, pages), wanted)
        self.check("sitemaps", files, len(sites) * (CHILDREN + 1))
        self.check("URLs per domain", per_domain, {URLS})
        self.check("new URLs per domain", new, {URLS})

    def politeness(self, sites: Sequence[Site]) -> None:
        """As the sites saw it, however the workers agree on it."""
        for each in sites:
            for moment in each.crowded:
                self.failures.append(f"{each.host.name} was asked too much at once: {moment}")

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
        self.check("places", Counter(each.place_id for each in stored), known)
        by_business = Counter(each.local_business_id for each in stored)
        self.check("businesses", by_business, Counter(businesses))
        self.check("places per search", (len(found), set(found)), (searches, per_town))

    async def money(self, provider: PlacesProvider, *, cap: Decimal) -> None:
        """The ledger never says less than the provider; the bill is looked at first, for whoever
        works meanwhile is charged before the provider hears of it."""
        billed = provider.bill.usd
        counted = select(func.sum(CostEntry.usd)).where(CostEntry.state != CostState.NOT_BILLED)
        async with self.database.reading() as session:
            ledger = await session.scalar(counted) or Decimal(0)
            spent = await session.scalar(select(CostMonth.spent_usd)) or Decimal(0)
        self.check_that(billed <= ledger <= cap, f"billed {billed}, ledger {ledger}, cap {cap}")
        self.check_that(billed <= spent <= cap, f"billed {billed}, spent {spent}, cap {cap}")

    async def deliveries(self, receiver: Receiver) -> None:
        """That a job is complete was told once, and whatever was told has been received."""
        how = WebhookDelivery.payload["status"].astext
        told = select(WebhookDelivery.id, WebhookDelivery.status, WebhookDelivery.subject_id, how)
        async with self.database.reading() as session:
            rows = (await session.execute(told.order_by(WebhookDelivery.id))).all()
            jobs = {each.id: each for each in await session.scalars(select(Job))}
        self.check("deliveries", Counter(each.status for each in rows), {"delivered": len(rows)})
        self.check("events received", set(receiver.taken), {each.id for each in rows})
        for job_id, job in jobs.items():
            ends = [end for _, _, subject, end in rows if subject == job_id]
            self.check(f"{job.job_type} {job_id} told", ends.count("complete"), 1)
