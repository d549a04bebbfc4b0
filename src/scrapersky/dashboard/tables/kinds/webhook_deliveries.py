"""What an endpoint was told, or is to be told."""

from __future__ import annotations

from uuid import UUID

from markupsafe import Markup

from scrapersky.dashboard.tables import cells
from scrapersky.dashboard.tables.table import Act, Column, Nothing, Row, Table
from scrapersky.dashboard.wording import NOTHING, badge, moment
from scrapersky.http.lists import Listing
from scrapersky.models import DELIVERY_WORDS, WebhookEvent
from scrapersky.models.stage_names import DELIVERY_STAGE

AGAIN = f"/stages/{DELIVERY_STAGE}/rows/reset"
ENDED = (DELIVERY_WORDS.done, DELIVERY_WORDS.failed, DELIVERY_WORDS.skipped)
ABOUT = {
    WebhookEvent.LEAD_COMPLETED: "leads",
    WebhookEvent.CONTACT_CREATED: "contacts",
    WebhookEvent.DOMAIN_COMPLETED: "domains",
    WebhookEvent.SITEMAP_CHANGED: "domains",
    WebhookEvent.JOB_FINISHED: "jobs",
}


def subject_path(event: str, subject_id: UUID | None) -> str:
    """Where what it is about is shown; nothing where there is no such page."""
    kind = ABOUT.get(WebhookEvent(event))
    return f"/{kind}/{subject_id}" if kind and subject_id else ""


def _about(row: Row, _: bool) -> Markup:
    path = subject_path(row.event, row.subject_id)
    if not path:
        return NOTHING
    return Markup('<a href="{}">the {}</a>').format(path, path.split("/")[1].removesuffix("s"))


def _state(row: Row, _: bool) -> Markup:
    said = badge(row.status) + cells.below(row.error)
    if row.status != DELIVERY_WORDS.queued or not row.attempts:
        return said
    return said + Markup('<div class="why">again {}</div>').format(moment(row.due_at))


def _again(row: Row, may_change: bool) -> Markup:
    if row.status not in ENDED or not may_change:
        return Markup("")
    path = f"/webhook-deliveries/{row.id}/redeliver"
    return cells.row_act(row, cells.RowAct("Redeliver", "POST", path, "", "It is queued again."))


def deliveries_table(listing: Listing) -> Table:
    """Over the list of one endpoint's deliveries."""
    return Table(
        kind="webhook-deliveries",
        title="Deliveries",
        noun="delivery",
        says="",
        listing=listing,
        search="",
        segments="status",
        acts=(Act("Redeliver", AGAIN, "queued again", key="r", by_filter=False),),
        labels={
            "status": "State",
            "created": "When",
            "error": "Error says",
            "has_error": "Has an error",
        },
        columns=(
            Column("event", "Event", cells.opens("webhook-deliveries", cells.value("event"))),
            Column("status", "State", _state),
            Column("answer", "Answer", cells.number("response_status"), number=True),
            Column("attempts", "Tries", cells.number("attempts"), sort="attempts", number=True),
            Column("about", "About", _about),
            Column("created_at", "Happened", cells.moment("created_at"), sort="created_at"),
            Column("delivered_at", "Taken", cells.moment("delivered_at"), sort="delivered_at"),
            Column("again", "Again", _again),
        ),
        nothing=Nothing(
            "It was told nothing yet. Send it a test, or wait: as soon as one of its events "
            "happens, it stands here."
        ),
    )
