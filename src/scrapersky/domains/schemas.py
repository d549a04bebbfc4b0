"""API schemas of domains."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from scrapersky.domains.listing import DOMAINS
from scrapersky.lists import RowSchema


class DomainOut(RowSchema, columns=DOMAINS.all_columns):
    tech_stack: list[dict[str, Any]] = Field(
        description="Each with name, category, version and evidence."
    )
    email_addresses: list[str]
    phone_numbers: list[str]


class DomainDetail(DomainOut):
    """A domain with the fields that are too large for a list."""

    meta_json: dict[str, Any] = Field(
        description="The organisation as stated on the home page, and other metadata."
    )
