"""Whose rows a list shows and a bulk act changes; the one place that decides it."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, or_, true

from scrapersky.models import Actor


def owned_by(model: Any, actor: Actor) -> ColumnElement[bool]:
    """The actor's tenant's. Rows that are nobody's belong to those who run the installation."""
    tenant = getattr(model, "tenant_id", None)
    if tenant is None:
        return true()
    mine: ColumnElement[bool] = tenant == actor.tenant_id
    may_be_nobodys = model.__table__.c.tenant_id.nullable
    return or_(mine, tenant.is_(None)) if may_be_nobodys and actor.is_operator else mine
