"""Signing in, and who may: users, keys, the audit log, one's own account."""

from fastapi import APIRouter

from scrapersky.dashboard.team import account, audit_log, keys, sign_in, users

TEAM_PAGES: tuple[APIRouter, ...] = (
    sign_in.router,
    users.router,
    keys.router,
    audit_log.router,
    account.router,
)
