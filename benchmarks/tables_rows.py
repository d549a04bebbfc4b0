"""Contacts by the million, with the sites and pages they stand on, made by the database itself."""

from __future__ import annotations

from typing import Any

import asyncpg

from scrapersky.auth.service import get_system_actor
from scrapersky.db.session import Database, get_libpq_url
from scrapersky.models import Actor
from scrapersky.settings import SettingsSource, load_settings

CONTACTS_PER_SITE = 4

DOMAINS = """
INSERT INTO domains (id, tenant_id, created_by, domain, title, created_at)
SELECT uuidv7(), $1, $2, 'business-' || n || '.example', 'Business number ' || n,
       now() - make_interval(secs => n)
FROM generate_series(1, $3::int) n
"""
PAGES = """
INSERT INTO pages (id, tenant_id, created_by, domain_id, url, url_digest, path_depth, host)
SELECT uuidv7(), tenant_id, created_by, id, 'https://' || domain || '/contact',
       decode(md5(domain), 'hex'), 1, domain
FROM domains
"""
CONTACTS = """
INSERT INTO contacts (id, tenant_id, created_by, domain_id, page_id, kind, value, raw, name, role,
                      email_type, is_role_address, same_site, method, snippet, confidence,
                      sightings, last_seen_at, created_at, contact_curation_status)
SELECT uuidv7(), d.tenant_id, d.created_by, d.id, p.id, k.kind,
       CASE k.n WHEN 1 THEN 'info@' || d.domain
                WHEN 2 THEN 'mara.berger.' || right(d.id::text, 6) || '@' || d.domain
                WHEN 3 THEN '+4930' || (hashtext(d.domain)::bigint + 3000000000)
                ELSE 'https://social.example/' || d.domain END,
       k.raw, CASE k.n WHEN 2 THEN 'Mara Berger' END, CASE k.n WHEN 2 THEN 'Owner, manager' END,
       k.email_type, k.n = 1, k.n < 3, k.method,
       'Write to us or call: we bake "every day", also on Sundays.', k.confidence,
       1 + k.n, d.created_at + interval '1 day', d.created_at + make_interval(secs => k.n / 10.0),
       CASE WHEN k.n = 1 THEN 'New' ELSE 'Skipped' END
FROM domains d
JOIN pages p ON p.domain_id = d.id
CROSS JOIN (VALUES (1, 'email', 'mailto', 0.95, 'SERVICE', 'info (at) business'),
                   (2, 'email', 'json_ld', 0.9, 'CORPORATE', 'mara (at) business'),
                   (3, 'phone', 'tel', 0.9, NULL, '030 / 1234-5'),
                   (4, 'social', 'link', 0.7, NULL, NULL))
     AS k (n, kind, method, confidence, email_type, raw)
ORDER BY d.created_at
"""
SUPPRESSIONS = """
INSERT INTO suppressions (id, tenant_id, created_by, kind, value, digest)
SELECT uuidv7(), $1, $2, kind, value, sha256(convert_to(value, 'UTF8'))
FROM (SELECT 'email' AS kind, 'info@business-' || n * 7 || '.example' AS value
      FROM generate_series(1, $3::int) n
      UNION ALL
      SELECT 'domain', 'unwanted-' || n || '.example' FROM generate_series(1, $3::int / 10) n) s
"""


async def actor_of(database: Database) -> Actor:
    settings = load_settings(SettingsSource(environ={}, env_file=None))
    async with database.reading() as session:
        return await get_system_actor(session, settings)


async def connected(database: Database) -> Any:
    """A bare connection, for what is measured beside us."""
    return await asyncpg.connect(get_libpq_url(database.url))


async def add_contacts(database: Database, rows: int) -> None:
    actor = await actor_of(database)
    owned = (actor.tenant_id, actor.user_id)
    connection = await connected(database)
    await connection.execute("SET synchronous_commit = off")
    await connection.execute(DOMAINS, *owned, rows // CONTACTS_PER_SITE)
    await connection.execute(PAGES)
    await connection.execute(CONTACTS)
    for table in ("domains", "pages", "contacts"):
        await connection.execute(f"VACUUM ANALYZE {table}")
    await connection.execute("CHECKPOINT")
    await connection.close()


async def add_suppressions(database: Database, how_many: int) -> None:
    actor = await actor_of(database)
    connection = await connected(database)
    await connection.execute(SUPPRESSIONS, actor.tenant_id, actor.user_id, how_many)
    await connection.execute("ANALYZE suppressions")
    await connection.close()
