"""Businesses as a file: one line per business, without what nobody is to write to."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ARRAY, ColumnElement, Text, case, func, select

from scrapersky.businesses.listing import BUSINESSES
from scrapersky.harvest.suppressing import is_named
from scrapersky.http.lists import Export, field
from scrapersky.models import Domain, LocalBusiness, SuppressionKind


def _phone_allowed(shown: Any) -> ColumnElement[Any]:
    phone = LocalBusiness.phone
    return case((~is_named(LocalBusiness.tenant_id, SuppressionKind.PHONE, phone), shown))


def _emails_allowed() -> ColumnElement[Any]:
    each = func.unnest(LocalBusiness.emails)
    values = each.table_valued("value", with_ordinality="place").render_derived()
    suppressed = is_named(LocalBusiness.tenant_id, SuppressionKind.EMAIL, values.c.value)
    left = select(values.c.value).where(~suppressed).order_by(values.c.place)
    return func.array(left.correlate(LocalBusiness).scalar_subquery(), type_=ARRAY(Text))


EXPORT = Export(
    listing=BUSINESSES,
    rows="local-businesses",
    usual=(
        field("business_name", LocalBusiness.business_name, "Name"),
        field("categories", LocalBusiness.categories),
        field("address", LocalBusiness.address),
        field("postal_code", LocalBusiness.postal_code),
        field("city", LocalBusiness.city),
        field("country", LocalBusiness.country),
        field("phone", _phone_allowed(LocalBusiness.phone)),
        field("website_url", LocalBusiness.website_url, "Website"),
        field("website_kind", LocalBusiness.website_kind, "What the website is"),
        field("domain", Domain.domain),
        field("emails", _emails_allowed(), "E-mail addresses"),
        field("profiles", LocalBusiness.profiles),
        field("rating", LocalBusiness.rating),
        field("reviews_count", LocalBusiness.reviews_count, "Reviews"),
        field("business_status", LocalBusiness.business_status, "State"),
        field("status", LocalBusiness.status, "Curation"),
        field("created_at", LocalBusiness.created_at, "Added"),
    ),
    more=(
        field("id", LocalBusiness.id),
        field("street", LocalBusiness.street),
        field("house_number", LocalBusiness.house_number),
        field("region", LocalBusiness.region),
        field("latitude", LocalBusiness.latitude),
        field("longitude", LocalBusiness.longitude),
        field("phone_raw", _phone_allowed(LocalBusiness.phone_raw), "Phone as written"),
        field("website_note", LocalBusiness.website_note, "About the website"),
        field("price_level", LocalBusiness.price_level),
        field("domain_id", LocalBusiness.domain_id),
        field("domain_extraction_status", LocalBusiness.domain_extraction_status, "Extraction"),
        field(
            "domain_extraction_error",
            LocalBusiness.domain_extraction_error,
            "Extraction's error",
        ),
        field("refreshed_at", LocalBusiness.refreshed_at, "Refreshed"),
        field("created_by", LocalBusiness.created_by, "Added by"),
        field("updated_at", LocalBusiness.updated_at, "Changed"),
    ),
    beside=((Domain, Domain.id == LocalBusiness.domain_id),),
)
