"""`scrapersky contacts` and `scrapersky contact`: list, show, edit and erase contacts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated
from uuid import UUID

import typer
from rich.markup import escape
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.auth.tenants import switch_tenant
from scrapersky.cli.bulk import Yes
from scrapersky.cli.options import (
    AGE_OPTIONS,
    AsJson,
    Limit,
    TenantOption,
    add_filter_options,
    check_sort,
    confirm_irreversible,
    validate_input,
)
from scrapersky.cli.output import (
    build_table,
    format_count,
    format_time,
    note,
    out,
    print_json,
    print_table,
)
from scrapersky.cli.rows import list_rows, print_rows
from scrapersky.cli.session import CommandContext, run_in_transaction
from scrapersky.contacts import service
from scrapersky.contacts.erasure import ErasureResult, erase
from scrapersky.contacts.history import load_history
from scrapersky.contacts.listing import CONTACTS
from scrapersky.contacts.schemas import (
    ContactChange,
    ContactDetail,
    ContactEvent,
    ContactIn,
    ContactOut,
    ErasedOut,
    EraseIn,
)
from scrapersky.contacts.values import guess_contact_kind
from scrapersky.lists import ListQuery
from scrapersky.lists.filters import FilterValues
from scrapersky.models import (
    Actor,
    Contact,
    ContactDecision,
    ContactKind,
    EmailType,
    SuppressionKind,
)


def _mark_suppressed(contact: ContactOut) -> str:
    return f"{contact.value} (suppressed)" if contact.suppressed else str(contact.value)


VALUE_FORMATS = {"value": _mark_suppressed}


def print_contact(contact: ContactDetail) -> None:
    print_rows(CONTACTS, "contact", [contact], VALUE_FORMATS)
    for label, value in _build_facts(contact).items():
        if value:
            out.print(f"{label}: {escape(value)}", highlight=False)
    if not contact.evidence:
        out.print("Not found on any page.")
        return
    table = build_table("Page", "Method", "Confidence", "First seen", "Last seen", "Snippet")
    for each in contact.evidence:
        times = (format_time(each.first_seen_at), format_time(each.last_seen_at))
        sure = f"{each.confidence:.2f}"
        table.add_row(escape(each.page_url), each.method, sure, *times, escape(each.snippet or ""))
    out.print()
    print_table(table)


def _build_facts(contact: ContactDetail) -> dict[str, str | None]:
    origin = contact.lineage
    steps = (
        origin.page_url,
        origin.sitemap_url,
        origin.domain,
        origin.business_name,
        f"search {origin.search}" if origin.search else None,
    )
    return {
        "Role": contact.role,
        "Note": contact.note,
        "As written": contact.raw if contact.raw != contact.value else None,
        "Origin": " ← ".join(each for each in steps if each),
    }


def print_history(done: Sequence[ContactEvent]) -> None:
    if not done:
        return
    table = build_table("Time", "User", "Action", "Details")
    for each in done:
        details = json.dumps(each.details, ensure_ascii=False) if each.details else ""
        table.add_row(format_time(each.at), str(each.actor_id), each.action, escape(details))
    out.print()
    print_table(table)


def print_erased(erased: ErasedOut) -> None:
    evidence = format_count(erased.evidence, "sighting")
    out.print(
        f"{format_count(erased.contacts, 'contact')} with {evidence} erased.", highlight=False
    )
    for name, rows in erased.places.items():
        out.print(f"Removed from {format_count(rows, 'row')} of {name}.", highlight=False)
    note("Only a keyed digest is kept, so that the person is not collected again.")
    if erased.left_in_urls:
        urls = format_count(erased.left_in_urls, "site URL")
        note(f"Still present in {urls}; URLs are not changed.")
    for each in erased.same_name:
        note(f"Contact {each} has the same name. Erase it too if it belongs to the same person.")


app = typer.Typer(help="Show, add, edit, delete and erase contacts.", no_args_is_help=True)


class ClearableField(StrEnum):
    NAME = "name"
    ROLE = "role"
    NOTE = "note"


ContactId = Annotated[UUID, typer.Argument(help="Contact id; see `scrapersky contacts`.")]
Sort = Annotated[
    str, typer.Option(help=f"Sort by {', '.join(CONTACTS.sorts)}; prefix with - for descending.")
]
Name = Annotated[str | None, typer.Option(help="Name of the person.")]
RoleOption = Annotated[str | None, typer.Option(help="Role of the person.")]
ContactNoteOption = Annotated[str | None, typer.Option("--note", help="Note for your team.")]


@add_filter_options(
    CONTACTS, contact_curation_status="--status", email_type="--type", **AGE_OPTIONS
)
def contacts(
    given: FilterValues,
    sort: Sort = "-created_at",
    tenant: TenantOption = None,
    limit: Limit = 50,
    as_json: AsJson = False,
) -> int:
    """List contacts, newest first."""

    async def prepare(session: AsyncSession, _: Actor, rows: Sequence[Contact]) -> list[ContactOut]:
        return await service.build_contacts_out(session, rows)

    return list_rows(
        CONTACTS,
        ListQuery(given, sort=check_sort(CONTACTS, sort), limit=limit),
        "contact",
        ContactOut.model_validate,
        as_json=as_json,
        tenant=tenant,
        prepare=prepare,
        formats=VALUE_FORMATS,
    )


@app.command()
def show(contact_id: ContactId, tenant: TenantOption = None, as_json: AsJson = False) -> int:
    """Show a contact with its evidence, origin and history."""

    async def step(
        session: AsyncSession, context: CommandContext
    ) -> tuple[ContactDetail, list[ContactEvent]]:
        actor = await switch_tenant(session, context.actor, tenant)
        contact = await service.get_contact(session, actor, contact_id)
        out = await service.get_detail(session, contact)
        return out, await load_history(session, actor, contact_id)

    def print_result(result: tuple[ContactDetail, list[ContactEvent]]) -> None:
        contact, done = result
        if as_json:
            print_json(contact)
            return
        print_contact(contact)
        print_history(done)

    return run_in_transaction(step, print_result)


@app.command()
def add(
    site: Annotated[str, typer.Argument(help="Stored site: a domain or its id.")],
    value: Annotated[str, typer.Argument(help="E-mail address, +number or profile URL.")],
    kind: Annotated[
        ContactKind | None, typer.Option(help="Default: detected from the value.")
    ] = None,
    name: Name = None,
    role: RoleOption = None,
    remark: ContactNoteOption = None,
    tenant: TenantOption = None,
) -> int:
    """Add a contact and print its ID."""
    kind = kind or guess_contact_kind(value)
    body = validate_input(
        ContactIn, domain=site, kind=kind, value=value, name=name, role=role, note=remark
    )

    async def step(session: AsyncSession, context: CommandContext) -> ContactOut:
        actor = await switch_tenant(session, context.actor, tenant)
        new = service.NewContact(
            site=site,
            kind=kind,
            value=body.value,
            name=body.name,
            role=body.role,
            note=body.note,
        )
        contact = await service.add(session, actor, new)
        return (await service.build_contacts_out(session, [contact]))[0]

    def print_result(contact: ContactOut) -> None:
        out.print(str(contact.id), highlight=False)
        note(f"{contact.kind} {contact.value} of {contact.domain}.")

    return run_in_transaction(step, print_result)


@app.command()
def edit(
    contact_id: ContactId,
    name: Name = None,
    role: RoleOption = None,
    remark: ContactNoteOption = None,
    email_type: Annotated[
        EmailType | None, typer.Option("--type", help="Type of e-mail address.")
    ] = None,
    status: Annotated[ContactDecision | None, typer.Option(help="New curation status.")] = None,
    value: Annotated[str | None, typer.Option(help="Corrected value.")] = None,
    clear: Annotated[
        list[ClearableField] | None, typer.Option(help="Field to clear. Repeatable.")
    ] = None,
    tenant: TenantOption = None,
) -> int:
    """Edit a contact. Fields without an option keep their values."""
    typed = {
        "name": name,
        "role": role,
        "note": remark,
        "email_type": email_type,
        "contact_curation_status": status,
        "value": value,
    }
    values = {field: each for field, each in typed.items() if each is not None}
    body = validate_input(ContactChange, **values, **{each.value: None for each in clear or []})

    async def step(session: AsyncSession, context: CommandContext) -> ContactDetail:
        actor = await switch_tenant(session, context.actor, tenant)
        edited = await service.edit(session, actor, contact_id, body.changes())
        return await service.get_detail(session, edited)

    return run_in_transaction(step, print_contact)


@app.command()
def delete(
    contact_id: ContactId,
    suppress: Annotated[
        bool, typer.Option("--suppress", help="Add the value to the suppression list.")
    ] = False,
    tenant: TenantOption = None,
) -> int:
    """Delete a contact. It reappears when a page that still shows it is read again."""

    async def step(session: AsyncSession, context: CommandContext) -> None:
        actor = await switch_tenant(session, context.actor, tenant)
        await service.delete(session, actor, contact_id, suppress_value=suppress)

    outcome = "Its value is suppressed" if suppress else "It reappears if a page still shows it"
    return run_in_transaction(step, lambda _: note(f"Contact {contact_id} deleted. {outcome}."))


@app.command("erase")
def erase_person(
    address: Annotated[str, typer.Argument(help="E-mail address or +number.")],
    tenant: TenantOption = None,
    yes: Yes = False,
    as_json: AsJson = False,
) -> int:
    """Permanently erase everything stored about an e-mail address or phone number."""
    kind = SuppressionKind.EMAIL if "@" in address else SuppressionKind.PHONE
    validate_input(EraseIn, **{kind.value: address})
    confirm_irreversible(f"Everything stored about {address} will be erased permanently.", yes=yes)

    async def step(session: AsyncSession, context: CommandContext) -> ErasureResult:
        actor = await switch_tenant(session, context.actor, tenant)
        return await erase(session, actor, kind, address)

    def print_result(erased: ErasureResult) -> None:
        result = ErasedOut.model_validate(erased)
        print_json(result) if as_json else print_erased(result)

    return run_in_transaction(step, print_result)
