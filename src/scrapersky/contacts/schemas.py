"""API schemas of contacts and suppressions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from scrapersky.contacts.suppression import (
    SuppressionOutcome,
    SuppressionRequest,
    SuppressionResult,
)
from scrapersky.contacts.values import MAX_VALUE_CHARACTERS
from scrapersky.leads.lineage import LineageStep, SiteLineage
from scrapersky.models import ContactDecision, ContactKind, EmailType, SuppressionKind


def _validate_text(text: str) -> str:
    if "\x00" in text:
        raise PydanticCustomError("text", "it holds a character that no stored text can hold")
    if not (bare := text.strip()):
        raise PydanticCustomError("text", "it is empty; give null to leave it empty")
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
        default=None, description="The site, in any spelling.", examples=["bakery.de"]
    )
    domain_id: UUID | None = Field(default=None, description="Or its id.")
    kind: ContactKind
    value: ContactValue = Field(
        description="An address, a number with its country, or a profile's URL.",
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
    """What is left out stays as it is."""

    model_config = ConfigDict(extra="forbid")

    name: ShortText | None = Field(default=None, description="Null takes it away.")
    role: ShortText | None = Field(default=None, description="Null takes it away.")
    note: NoteText | None = Field(default=None, description="Null takes it away.")
    email_type: EmailType | None = Field(default=None, description="Only of an e-mail address.")
    contact_curation_status: ContactDecision | None = None
    value: ContactValue | None = Field(default=None, description="Corrected; its kind stays.")
    updated_at: datetime | None = Field(
        default=None,
        description="As you saw it: when it was changed since, nothing is, and 409 is answered. "
        "Left out, the last change wins; the history shows all.",
    )

    def changes(self) -> dict[str, Any]:
        """Null means nothing where there must be something."""
        given = self.model_dump(exclude={"updated_at"}, exclude_unset=True, mode="json")
        needed = ("email_type", "contact_curation_status", "value")
        return {
            name: each for name, each in given.items() if each is not None or name not in needed
        }


class ContactOut(BaseModel):
    model_config = ConfigDict(from_attributes=True)

    id: UUID
    domain_id: UUID
    domain: str = Field(examples=["bakery.de"])
    page_id: UUID | None = Field(description="Where its best evidence stands.")
    page_url: str | None = Field(examples=["https://bakery.de/kontakt"])
    kind: str = Field(examples=["email"])
    value: str = Field(examples=["info@bakery.de"])
    raw: str | None = Field(description="As the page writes it.")
    name: str | None
    role: str | None
    email_type: str | None = Field(examples=["SERVICE"])
    is_role_address: bool
    same_site: bool
    method: str = Field(description="`manual` when a person added it.", examples=["mailto"])
    snippet: str | None
    confidence: float
    sightings: int
    suppressed: bool = Field(description="Whether nobody is to write there; it is in no export.")
    note: str | None
    contact_curation_status: str = Field(examples=["New"])
    last_seen_at: datetime
    edited_at: datetime | None
    created_by: UUID
    created_at: datetime
    updated_at: datetime


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
    """Where it comes from, step by step; null where a step is not known. Of several businesses or
    searches it names the first; `/contacts/{id}/lineage` has them all."""

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
    search: str | None = Field(description="What was looked for.")


class ContactStep(LineageStep):
    kind: str = Field(examples=["email"])
    value: str = Field(examples=["info@bakery.de"])


class PageStep(LineageStep):
    url: str
    page_type: str | None
    sitemap_file_id: UUID | None
    methods: list[str] = Field(description="How the contact was found there.")


class FileStep(LineageStep):
    url: str
    discovery_method: str = Field(examples=["robots_txt"])


class ContactLineage(SiteLineage):
    """From the contact back to who looked for its business, as far as it is known."""

    contact: ContactStep
    pages: list[PageStep] = Field(description="The surest first, 200 at most.")
    sitemap_files: list[FileStep] = Field(description="Those that list these pages.")


class ContactDetail(ContactOut):
    evidence: list[EvidenceOut] = Field(description="The surest first, 200 at most.")
    lineage: LineageOut


class ContactEvent(BaseModel):
    """One thing that was done to a contact."""

    at: datetime
    actor_id: UUID = Field(description="The user who did it.")
    via: str | None = Field(description="By which door; null for a decision about many rows.")
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
    phone: ContactValue | None = Field(default=None, description="With its country.")

    @model_validator(mode="after")
    def _require_one_value(self) -> EraseIn:
        if (self.email is None) == (self.phone is None):
            raise PydanticCustomError("whom", "give either email or phone")
        return self


class ErasedOut(BaseModel):
    """What was removed; the address itself is not repeated."""

    model_config = ConfigDict(from_attributes=True)

    kind: str = Field(examples=["email"])
    contacts: int
    evidence: int
    places: dict[str, int] = Field(
        description="Rows of which table it was taken out of.", examples=[{"domains": 1}]
    )
    left_in_urls: int = Field(
        description="URLs of sites that hold it: they are the sites' own words for their pages, "
        "and are left as they are."
    )
    same_name: list[UUID] = Field(
        description="Other contacts of these sites under the same name; erase them too if they "
        "are the same person's."
    )
    suppression_id: UUID = Field(description="Of the digest that keeps it from coming back.")


MAX_SUPPRESSIONS = 10_000


class SuppressionOut(BaseModel):
    model_config = ConfigDict(from_attributes=True)

    id: UUID
    kind: str = Field(examples=["email"])
    value: str | None = Field(description="Null of a person who was erased.")
    reason: str | None
    created_by: UUID
    created_at: datetime


class SuppressionIn(BaseModel):
    model_config = ConfigDict(extra="forbid")

    value: ContactValue = Field(
        description="An address, a domain (`acme.com`, `@acme.com`), or a number with its country.",
        examples=["anna.berger@bakery.de"],
    )
    kind: SuppressionKind | None = Field(
        default=None, description="Left out: what the value looks like."
    )
    reason: ShortText | None = None

    def to_request(self) -> SuppressionRequest:
        return SuppressionRequest(self.value, self.kind, self.reason)


class SuppressionsIn(BaseModel):
    model_config = ConfigDict(extra="forbid")

    items: list[SuppressionIn] = Field(min_length=1, max_length=MAX_SUPPRESSIONS)


class SuppressionLineOut(BaseModel):
    """What came of one of them, in the order they were given."""

    model_config = ConfigDict(from_attributes=True)

    given: str
    outcome: SuppressionOutcome
    kind: SuppressionKind | None
    value: str | None = Field(description="Its one spelling.")
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
