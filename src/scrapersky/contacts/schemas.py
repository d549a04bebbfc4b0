"""API schemas of contacts and suppressions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from scrapersky.contacts.listing import CONTACTS, SUPPRESSIONS
from scrapersky.contacts.suppression import (
    SuppressionOutcome,
    SuppressionRequest,
    SuppressionResult,
)
from scrapersky.contacts.values import MAX_VALUE_CHARACTERS
from scrapersky.leads.lineage import LineageStep, SiteLineage
from scrapersky.lists import RowSchema
from scrapersky.models import ContactDecision, ContactKind, EmailType, SuppressionKind


def _validate_text(text: str) -> str:
    if "\x00" in text:
        raise PydanticCustomError("text", "contains a character that cannot be stored")
    if not (bare := text.strip()):
        raise PydanticCustomError("text", "must not be empty; use null to clear it")
    return bare


ContactValue = Annotated[
    str, Field(min_length=1, max_length=MAX_VALUE_CHARACTERS), AfterValidator(_validate_text)
]
ShortText = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(_validate_text)]
NULLABLE_FIELDS = frozenset({"name", "role", "note"})
NoteText = Annotated[str, Field(min_length=1, max_length=2_000), AfterValidator(_validate_text)]


class ContactIn(BaseModel):
    model_config = ConfigDict(extra="forbid")

    domain: ShortText | None = Field(
        default=None, description="Domain name or URL of the site.", examples=["bakery.de"]
    )
    domain_id: UUID | None = Field(default=None, description="ID of the site, instead of `domain`.")
    kind: ContactKind
    value: ContactValue = Field(
        description="E-mail address, international phone number or profile URL.",
        examples=["anna.berger@bakery.de"],
    )
    name: ShortText | None = Field(default=None, examples=["Anna Berger"])
    role: ShortText | None = Field(default=None, examples=["Owner"])
    note: NoteText | None = None

    @model_validator(mode="after")
    def _require_one_site(self) -> ContactIn:
        if (self.domain is None) == (self.domain_id is None):
            raise PydanticCustomError("domain", "give either domain or domain_id")
        return self


class ContactChange(BaseModel):
    """Changes to a contact. Omitted fields are unchanged."""

    model_config = ConfigDict(extra="forbid")

    name: ShortText | None = Field(default=None, description="Null clears it.")
    role: ShortText | None = Field(default=None, description="Null clears it.")
    note: NoteText | None = Field(default=None, description="Null clears it.")
    email_type: EmailType | None = Field(default=None, description="Only for e-mail addresses.")
    contact_curation_status: ContactDecision | None = None
    value: ContactValue | None = Field(
        default=None, description="Corrected value of the same kind."
    )
    updated_at: datetime | None = Field(
        default=None,
        description="`updated_at` of the version you read. If the contact has changed since, the "
        "response is 409. If omitted, the last change wins.",
    )

    def changes(self) -> dict[str, Any]:
        """Return the given fields. Null is ignored for fields that cannot be null."""
        values = self.model_dump(exclude={"updated_at"}, exclude_unset=True, mode="json")
        needed = ("email_type", "contact_curation_status", "value")
        return {
            name: each for name, each in values.items() if each is not None or name not in needed
        }


class ContactOut(RowSchema, columns=CONTACTS.all_columns):
    page_url: str | None = Field(examples=["https://bakery.de/kontakt"])
    suppressed: bool = Field(
        description="Whether the contact is suppressed and therefore excluded from exports."
    )


class EvidenceOut(BaseModel):
    page_id: UUID
    page_url: str
    method: str
    raw: str | None
    snippet: str | None
    confidence: float
    first_seen_at: datetime
    last_seen_at: datetime


class LineageOut(BaseModel):
    """Origin of a contact; unknown steps are null. With several businesses or searches it names the
    first; `/contacts/{id}/lineage` has all.
    """

    page_id: UUID | None
    page_url: str | None
    sitemap_file_id: UUID | None
    sitemap_url: str | None
    domain_id: UUID
    domain: str
    business_id: UUID | None
    business_name: str | None
    place_id: UUID | None
    search_id: UUID | None
    search: str | None = Field(description="The search in one line.")


class ContactStep(LineageStep):
    kind: str = Field(examples=["email"])
    value: str = Field(examples=["info@bakery.de"])


class PageStep(LineageStep):
    url: str
    page_type: str | None
    sitemap_file_id: UUID | None
    methods: list[str] = Field(description="Extraction methods that found the contact.")


class FileStep(LineageStep):
    url: str
    discovery_method: str = Field(examples=["robots_txt"])


class ContactLineage(SiteLineage):
    """Steps from the contact back to the searches that found its business, as far as known."""

    contact: ContactStep
    pages: list[PageStep] = Field(description="Highest confidence first, at most 200.")
    sitemap_files: list[FileStep] = Field(description="Sitemap files that list these pages.")


class ContactDetail(ContactOut):
    evidence: list[EvidenceOut] = Field(description="Highest confidence first, at most 200.")
    lineage: LineageOut


class ContactEvent(BaseModel):
    """One change to a contact."""

    at: datetime
    actor_id: UUID = Field(description="The user who made the change.")
    via: str | None = Field(description="Interface used. Null for a bulk action.")
    action: str = Field(examples=["contact.edit"])
    details: dict[str, Any]


class ContactDeletedOut(BaseModel):
    id: UUID
    suppressed: bool
    explanation: str


class EraseIn(BaseModel):
    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"email": "anna.berger@bakery.de"}]}
    )

    email: ContactValue | None = None
    phone: ContactValue | None = Field(default=None, description="With its country code.")

    @model_validator(mode="after")
    def _require_one_value(self) -> EraseIn:
        if (self.email is None) == (self.phone is None):
            raise PydanticCustomError("whom", "give either email or phone")
        return self


class ErasedOut(BaseModel):
    """What was removed, without the value itself."""

    model_config = ConfigDict(from_attributes=True)

    kind: str = Field(examples=["email"])
    contacts: int
    evidence: int
    places: dict[str, int] = Field(
        description="Number of redacted rows by table.", examples=[{"domains": 1}]
    )
    left_in_urls: int = Field(
        description="URLs that contain the value. They are the sites' own addresses "
        "and are not changed."
    )
    same_name: list[UUID] = Field(
        description="Other contacts of these sites with the same name. Erase them too if they "
        "belong to the same person."
    )
    suppression_id: UUID = Field(
        description="The suppression that keeps the value from being collected again."
    )


MAX_SUPPRESSIONS = 10_000


class SuppressionOut(RowSchema, columns=SUPPRESSIONS.all_columns):
    pass


class SuppressionIn(BaseModel):
    model_config = ConfigDict(extra="forbid")

    value: ContactValue = Field(
        description="E-mail address, domain (`acme.com`, `@acme.com`) or phone number (+49 …).",
        examples=["anna.berger@bakery.de"],
    )
    kind: SuppressionKind | None = Field(
        default=None, description="Detected from the value by default."
    )
    reason: ShortText | None = None

    def to_request(self) -> SuppressionRequest:
        return SuppressionRequest(self.value, self.kind, self.reason)


class SuppressionsIn(BaseModel):
    model_config = ConfigDict(extra="forbid")

    items: list[SuppressionIn] = Field(min_length=1, max_length=MAX_SUPPRESSIONS)


class SuppressionLineOut(BaseModel):
    """The result of one entry, in the order of the request."""

    model_config = ConfigDict(from_attributes=True)

    given: str
    outcome: SuppressionOutcome
    kind: SuppressionKind | None
    value: str | None = Field(description="The normalised value.")
    error: str | None
    id: UUID | None


class SuppressedOut(BaseModel):
    added: int
    already_there: int
    refused: int
    lines: list[SuppressionLineOut]


def build_suppressed_out(lines: Sequence[SuppressionResult]) -> SuppressedOut:
    counts = Counter(each.outcome for each in lines)
    return SuppressedOut(
        added=counts[SuppressionOutcome.ADDED],
        already_there=counts[SuppressionOutcome.ALREADY_THERE],
        refused=counts[SuppressionOutcome.REFUSED],
        lines=[SuppressionLineOut.model_validate(each) for each in lines],
    )
