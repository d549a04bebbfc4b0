"""One row of every kind per tenant, each with a marker that no other tenant may see."""

from __future__ import annotations

from datetime import date, timedelta
from uuid import UUID

from sqlalchemy import func
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.auth.service import create_api_key
from scrapersky.db.base import Base, uuid7
from scrapersky.models import (
    Actor,
    AuditEntry,
    Batch,
    BatchJob,
    Budget,
    BulkAction,
    BulkActionRows,
    BusinessSighting,
    Contact,
    ContactEvidence,
    CostEntry,
    CostMonth,
    Domain,
    IdempotencyKey,
    Job,
    Lead,
    LocalBusiness,
    MergeCandidate,
    Page,
    Place,
    Role,
    SavedSearch,
    SearchPlace,
    SearchTile,
    SignInDevice,
    SitemapFile,
    SitemapUrl,
    Suppression,
    User,
    UserSession,
    WebhookDelivery,
    WebhookEndpoint,
)
from scrapersky.models.stage_names import SITEMAP_STAGE
from scrapersky.pipeline.tables import DeadLetter, Host
from scrapersky.scraper.http.urls import url_digest

MARK = "first-owner"
NAMES = (
    "user",
    "domain",
    "job",
    "batch",
    "file",
    "page",
    "letter",
    "action",
    "contact",
    "lead",
    "suppression",
    "webhook",
    "delivery",
    "search",
    "place",
    "business",
    "double",
    "sighting",
    "candidate",
)
SITE = f"{MARK}.example"
URL = f"https://{SITE}/sitemap.xml"


async def add_belongings(
    session: AsyncSession, actor: Actor, *, job_status: str = "failed"
) -> dict[str, str]:
    """Makes them; answers what stands for each in a path, a query or a body."""
    key, _ = await create_api_key(session, actor, name=MARK, role=Role.VIEWER)
    ids = {name: uuid7() for name in NAMES}
    for row in _rows(actor, ids, job_status):
        await session.merge(row)  # of a few a tenant has one only, however often this is called
        await session.flush()
    return {
        "key_id": str(key.id),
        "tenant_id": str(actor.tenant_id),
        **{f"{name}_id": str(row_id) for name, row_id in ids.items()},
        "sitemap_file_id": str(ids["file"]),
        "sitemap_id": str(ids["file"]),
        "actor": str(ids["user"]),
        "name": SITEMAP_STAGE,
        "stage": SITEMAP_STAGE,
        "host": f"{ids['domain']}.{SITE}",
        "since": "2020-01-01T00:00:00Z",
    }


def _rows(actor: Actor, ids: dict[str, UUID], job_status: str) -> list[Base]:
    """In the order in which one may point at another."""
    tenant = {"tenant_id": actor.tenant_id}
    owned = {**tenant, "created_by": actor.user_id}
    of_url = {"url": URL, "url_digest": url_digest(URL)}
    in_domain = {"domain_id": ids["domain"], **of_url, **owned}
    return [
        User(id=ids["user"], name=f"{MARK} {ids['user']}", role=Role.CURATOR, **tenant),
        UserSession(
            user_id=ids["user"],
            role=Role.CURATOR,
            token_hash=ids["user"].bytes,
            client=MARK,
            expires_at=func.now() + timedelta(days=1),
            **tenant,
        ),
        SignInDevice(token_hash=ids["user"].bytes, user_id=ids["user"], **tenant),
        Host(host=f"{ids['domain']}.{SITE}"),
        Domain(id=ids["domain"], domain=f"{ids['domain']}.{SITE}", **owned),
        Batch(id=ids["batch"], max_pages=1, accepted=1, rejected=0, **owned),
        _job(ids, job_status, owned),
        BatchJob(
            batch_id=ids["batch"],
            position=1,
            domain=SITE,
            job_id=ids["job"],
            already_active=False,
        ),
        SitemapFile(
            id=ids["file"],
            discovery_method="manual",
            status="ok",
            job_id=ids["job"],
            last_processed_at=func.now(),
            **in_domain,
        ),
        SitemapUrl(sitemap_id=ids["file"], first_seen=func.now(), **of_url),
        Page(id=ids["page"], sitemap_file_id=ids["file"], path_depth=1, **in_domain),
        *_contact(ids, owned),
        *_action(ids, owned),
        _letter(ids, tenant),
        *_webhook(ids, owned),
        *_search(ids, owned),
        *_businesses(ids, owned),
        *_costs(ids, owned),
        IdempotencyKey(
            key=f"{MARK} {ids['job']}",
            fingerprint=b"",
            status=200,
            headers={},
            body=MARK.encode(),
            created_at=func.now(),
            expires_at=func.now(),
            **tenant,
        ),
        AuditEntry(
            actor_id=actor.user_id,
            via="api",
            action=f"{MARK}.do",
            subject_kind=MARK,
            details={},
            **tenant,
        ),
    ]


def _job(ids: dict[str, UUID], status: str, owned: dict[str, UUID]) -> Job:
    return Job(
        id=ids["job"],
        job_type="sitemap",
        subject=f"{ids['job']}.{SITE}",
        params={"domain": SITE},
        status=status,
        domain_id=ids["domain"],
        **owned,
    )


def _contact(ids: dict[str, UUID], owned: dict[str, UUID]) -> list[Base]:
    """Found on the page, with what that makes of the site."""
    value = f"{ids['contact']}@{SITE}"
    return [
        Contact(
            id=ids["contact"],
            domain_id=ids["domain"],
            page_id=ids["page"],
            kind="email",
            value=value,
            method="mailto",
            confidence=0.9,
            **owned,
        ),
        ContactEvidence(
            contact_id=ids["contact"],
            page_id=ids["page"],
            method="mailto",
            snippet=MARK,
            confidence=0.9,
            tenant_id=owned["tenant_id"],
        ),
        Lead(id=ids["lead"], domain_id=ids["domain"], name=MARK, best_email=value, **owned),
        Suppression(
            id=ids["suppression"],
            kind="domain",
            value=f"{ids['domain']}.{SITE}",
            digest=ids["lead"].bytes,
            **owned,
        ),
    ]


def _action(ids: dict[str, UUID], owned: dict[str, UUID]) -> list[Base]:
    """Somebody decided about the page."""
    return [
        BulkAction(
            id=ids["action"],
            kind="page",
            to_status="Selected",
            details={"note": MARK},
            updated_count=1,
            queued_count=0,
            **owned,
        ),
        BulkActionRows(action_id=ids["action"], part=1, before_status="New", row_ids=[ids["page"]]),
    ]


def _webhook(ids: dict[str, UUID], owned: dict[str, UUID]) -> list[Base]:
    """Was told of the lead."""
    return [
        WebhookEndpoint(
            id=ids["webhook"],
            url=f"https://{SITE}/hook",
            secret=MARK,
            events=["lead.completed"],
            description=MARK,
            **owned,
        ),
        WebhookDelivery(
            id=ids["delivery"],
            endpoint_id=ids["webhook"],
            host=SITE,
            event="lead.completed",
            subject_id=ids["lead"],
            payload={"name": MARK},
            status="delivered",
            tenant_id=owned["tenant_id"],
        ),
    ]


def _search(ids: dict[str, UUID], owned: dict[str, UUID]) -> list[Base]:
    """Found one place, in one tile, and is repeated."""
    subject = f"{MARK} {ids['search']}"
    params = {"business_type": MARK, "location": MARK, "provider": "osm", "max_results": 10}
    in_search = {"search_id": ids["search"], "tenant_id": owned["tenant_id"]}
    return [
        Job(
            id=ids["search"],
            job_type="place_search",
            subject=subject,
            params=params,
            status="complete",
            **owned,
        ),
        Place(
            id=ids["place"],
            provider="google",
            place_id=f"ChIJ-{ids['place']}",
            name=MARK,
            search_id=ids["search"],
            **owned,
        ),
        SearchPlace(place_id=ids["place"], position=1, sighted="new", **in_search),
        SearchTile(path="", south=51, west=12, north=52, east=13, note=MARK, **in_search),
        SavedSearch(
            subject=subject,
            params=params,
            repeat_days=30,
            next_run_at=func.now() + timedelta(days=30),
            **owned,
        ),
    ]


def _businesses(ids: dict[str, UUID], owned: dict[str, UUID]) -> list[Base]:
    """One that two told of, and one that may be the same."""
    tenant = {"tenant_id": owned["tenant_id"]}
    told = {"business_id": ids["business"], "matched_by": "first", **tenant}
    return [
        LocalBusiness(id=ids["business"], business_name=MARK, **owned),
        LocalBusiness(id=ids["double"], business_name=MARK, **owned),
        BusinessSighting(
            id=ids["sighting"],
            provider="google",
            source_key=f"ChIJ-{ids['place']}",
            place_id=ids["place"],
            facts={"name": MARK},
            **told,
        ),
        BusinessSighting(
            provider="csv", source_key=f"{ids['sighting']}", facts={"name": MARK}, **told
        ),
        MergeCandidate(
            id=ids["candidate"],
            left_id=min(ids["business"], ids["double"]),
            right_id=max(ids["business"], ids["double"]),
            score=0.5,
            reasons=[MARK],
            **tenant,
        ),
    ]


def _costs(ids: dict[str, UUID], owned: dict[str, UUID]) -> list[Base]:
    """What the search came to, in a month long ago."""
    tenant, month = {"tenant_id": owned["tenant_id"]}, date(2020, 1, 1)
    return [
        Budget(monthly_cap_usd=1, changed_by=owned["created_by"], **tenant),
        CostMonth(month=month, spent_usd=1, requests=1, **tenant),
        CostEntry(
            provider="google",
            sku="text_search.enterprise",
            month=month,
            usd=1,
            is_free=False,
            search_id=ids["search"],
            place_id=ids["place"],
            note=MARK,
            **tenant,
        ),
    ]


def _letter(ids: dict[str, UUID], tenant: dict[str, UUID]) -> DeadLetter:
    return DeadLetter(
        id=ids["letter"],
        stage=SITEMAP_STAGE,
        row_id=ids["job"],
        attempts=1,
        error_class="Rejected",
        error=MARK,
        traceback=MARK,
        worker="here 1",
        **tenant,
    )
