"""An endpoint as the pages show it."""

from __future__ import annotations

import json
from dataclasses import dataclass

from scrapersky.models import WebhookEndpoint, WebhookEvent

EVENTS = {
    WebhookEvent.LEAD_COMPLETED: "A business's pages were read, and its lead is complete.",
    WebhookEvent.CONTACT_CREATED: "An address, a number or a profile was found for the first time.",
    WebhookEvent.DOMAIN_COMPLETED: "A site's home page was read: what it is and is made with.",
    WebhookEvent.SITEMAP_CHANGED: "A site lists other pages than at the look before.",
    WebhookEvent.JOB_FINISHED: "A search or a scan has ended, well or not.",
}
"""What one may be told of, in the words of those who choose."""


@dataclass(frozen=True)
class Shown:
    endpoint: WebhookEndpoint

    @property
    def state(self) -> str:
        if not self.endpoint.is_active:
            return "switched off"
        if self.endpoint.failures:
            return "failing"
        return "working" if self.endpoint.last_delivery_at else "not used yet"

    @property
    def tone(self) -> str:
        tones = {"failing": "bad", "working": "good", "switched off": "poor"}
        return tones.get(self.state, "plain")

    @property
    def tries(self) -> str:
        count = self.endpoint.failures
        return "The last try failed" if count == 1 else f"The last {count:,} tries failed"

    @property
    def events_json(self) -> str:
        """For the form that changes them."""
        return json.dumps(self.endpoint.events)
