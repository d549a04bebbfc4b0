"""Webhooks for a tenant's admins: who is told of what, trying it, and what was told."""

from fastapi import APIRouter

from scrapersky.dashboard.webhooks import delivery, endpoint, endpoints

WEBHOOK_PAGES: tuple[APIRouter, ...] = (endpoints.router, endpoint.router, delivery.router)
