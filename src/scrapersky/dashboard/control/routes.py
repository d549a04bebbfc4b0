"""The pages for those who keep it running."""

from __future__ import annotations

from fastapi import APIRouter

from scrapersky.dashboard.control import (
    alert_pages,
    host_pages,
    settings_page,
    stage_pages,
    worker_pages,
)
from scrapersky.dashboard.live import LiveView
from scrapersky.dashboard.page_route import PageRoute

router = APIRouter(route_class=PageRoute)
for each in (stage_pages, worker_pages, host_pages, alert_pages, settings_page):
    router.include_router(each.router)

LIVE_VIEWS: tuple[LiveView, ...] = (
    stage_pages.STAGES_VIEW,
    stage_pages.STAGE_VIEW,
    worker_pages.WORKERS_VIEW,
    host_pages.HOSTS_VIEW,
    alert_pages.ALERTS_VIEW,
)
