"""The code of the webhook guide works on a real delivery."""

from __future__ import annotations

import re
from base64 import b64encode
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from scrapersky.db.session import Database
from scrapersky.models import WebhookEvent
from scrapersky.models.webhook_payloads import (
    build_alert_data,
    build_contact_data,
    build_domain_data,
    build_job_data,
    build_lead_data,
    build_sitemap_data,
)
from tests.fake_web import FakeWeb
from tests.processes import ROOT
from tests.webhooks.receivers import SECRET, Got, add_endpoint, posting, receiver, tell

GUIDE = (ROOT / "docs/guides/webhooks.md").read_text()


def run_example(name: str) -> Any:
    """What the guide's Python defines under this name."""
    blocks = re.findall(r"^```python\n(.*?)^```", GUIDE, re.MULTILINE | re.DOTALL)
    (code,) = [each for each in blocks if re.search(rf"^(def )?{name}\b", each, re.MULTILINE)]
    names: dict[str, Any] = {}
    exec(compile(code, "webhooks.md", "exec", dont_inherit=True), names)
    return names[name]


async def deliver(url: str, database: Database, **endpoint: Any) -> Got:
    async with FakeWeb() as web:
        hooks = receiver(web)
        await add_endpoint(database, hooks.url, **endpoint)
        await tell(database)
        async with posting(url, database, web) as post:
            await post.work()
    (got,) = hooks.got
    return got


async def test_the_guides_receiver_takes_our_events_and_no_others(
    url: str, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    got = await deliver(url, database)
    monkeypatch.setenv("SCRAPERSKY_SECRET", SECRET)
    transport = httpx.ASGITransport(run_example("app"))
    async with httpx.AsyncClient(transport=transport, base_url="http://hooks.example") as client:
        answers = [
            await client.post("/catch", content=body, headers=dict(got.headers))
            for body in (got.body, got.body.replace(b"complete", b"failed  "))
        ]

    assert [each.status_code for each in answers] == [204, 401]


async def test_the_guides_python_without_a_library_knows_our_events_from_others(
    url: str, database: Database
) -> None:
    other = "whsec_" + b64encode(b"another").decode()
    in_a_day = datetime.now(UTC) + timedelta(days=1)
    rotated = {"previous_secret": other, "previous_secret_expires_at": in_a_day}
    got = await deliver(url, database, **rotated)
    check, headers = run_example("is_ours"), dict(got.headers)
    late = {**headers, "webhook-timestamp": "1600000000"}

    assert check(SECRET, headers, got.body)
    assert check(other, headers, got.body)
    assert not check("whsec_" + b64encode(b"a third").decode(), headers, got.body)
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
        "alert.fired": build_alert_data(anything),
        "alert.resolved": build_alert_data(anything),
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
