"""The guide's own code, tried on a real delivery."""

from __future__ import annotations

import re
from typing import Any

from scrapersky.db.session import Database
from scrapersky.models import WebhookEvent
from scrapersky.models.webhook_payloads import (
    build_contact_data,
    build_domain_data,
    build_job_data,
    build_lead_data,
    build_sitemap_data,
)
from tests.fake_web import FakeWeb
from tests.integrations.receivers import SECRET, add_endpoint, posting, receiver, tell
from tests.processes import ROOT

GUIDE = (ROOT / "docs/guides/webhooks.md").read_text()


def is_ours() -> Any:
    (code,) = re.findall(r"^```python\n(.*?)^```", GUIDE, re.MULTILINE | re.DOTALL)
    names: dict[str, Any] = {}
    exec(compile(code, "webhooks.md", "exec"), names)
    return names["is_ours"]


async def test_the_guides_python_knows_our_events_from_others(url: str, database: Database) -> None:
    async with FakeWeb() as web:
        hooks = receiver(web)
        await add_endpoint(database, hooks.url)
        await tell(database)
        async with posting(url, database, web) as post:
            await post.work()
    (got,) = hooks.got
    check, headers = is_ours(), dict(got.headers)
    late = {**headers, "X-ScraperSky-Timestamp": "1600000000"}

    assert check(SECRET, headers, got.body)
    assert not check("another", headers, got.body)
    assert not check(SECRET, headers, got.body + b" ")
    assert not check(SECRET, late, got.body)


def test_the_guide_names_every_event_and_all_that_is_told() -> None:
    rows = dict(re.findall(r"^\| `([\w.]+)` \| (.*)$", GUIDE, re.MULTILINE))
    anything: Any = _Row()
    told = {
        "lead.completed": build_lead_data(anything),
        "contact.created": build_contact_data(anything, domain="", page_url=None),
        "domain.completed": build_domain_data(anything),
        "sitemap.changed": build_sitemap_data(
            anything, anything, {"added": 0, "changed": 0, "gone": 0}
        ),
        "job.finished": build_job_data(anything, status="", error=None),
    }

    assert {each.value for each in WebhookEvent} <= set(rows)
    for event, data in told.items():
        named = set(re.findall(r"`(\w+)`", rows[event]))
        assert named == set(data), event


class _Row:
    """Has whatever is asked for."""

    result_data = None

    def __getattr__(self, name: str) -> str:
        return name
