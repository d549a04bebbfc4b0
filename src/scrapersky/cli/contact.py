"""`scrapersky contacts` and `scrapersky contact`: what was found on pages, and what people know."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated
from uuid import UUID

import typer
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.accounts.tenants import acting_in
from scrapersky.cli.contact_report import (
    print_contact,
    print_contacts,
    print_erased,
    print_history,
)
from scrapersky.cli.list_options import AGES, narrowed_by
from scrapersky.cli.many import Yes
from scrapersky.cli.options import AsJson, Limit, OfTenant
from scrapersky.cli.output import note, out, print_json
from scrapersky.cli.session import Opened, run_in_transaction
from scrapersky.cli.typed import as_asked, ask, order_of
from scrapersky.contacts import looking, service
from scrapersky.contacts.erasure import Erased, erase
from scrapersky.contacts.history import history
from scrapersky.contacts.listing import CONTACTS
from scrapersky.contacts.schemas import (
    ContactChange,
    ContactDetail,
    ContactIn,
    ContactOut,
    ErasedOut,
    EraseIn,
    Happened,
)
from scrapersky.contacts.values import contact_kind_of
from scrapersky.http.lists import Asked
from scrapersky.http.lists.filters import Given
from scrapersky.models import ContactDecision, ContactKind, EmailType, SuppressionKind

app = typer.Typer(help="Look at, add, correct, delete or erase a contact.", no_args_is_help=True)


class Clearable(StrEnum):
    NAME = "name"
    ROLE = "role"
    NOTE = "note"


ContactId = Annotated[UUID, typer.Argument(help="See `scrapersky contacts`.")]
Sort = Annotated[str, typer.Option(help=f"By {', '.join(CONTACTS.sorts)}; highest first with -.")]
Name = Annotated[str | None, typer.Option(help="Whose it is.")]
Duty = Annotated[str | None, typer.Option(help="What they do there.")]
Remark = Annotated[str | None, typer.Option("--note", help="What others should know.")]


@narrowed_by(CONTACTS, contact_curation_status="--status", email_type="--type", **AGES)
def contacts(
    given: Given,
    sort: Sort = "-created_at",
    tenant: OfTenant = None,
    limit: Limit = 50,
    as_json: AsJson = False,
) -> int:
    """List contacts, newest first."""
    asked = Asked(given, sort=order_of(CONTACTS, sort), limit=limit)

    async def step(session: AsyncSession, everything: Opened) -> list[ContactOut]:
        actor = await acting_in(session, everything.actor, tenant)
        return await looking.shown(session, (await CONTACTS.show(session, actor, asked)).rows)

    return run_in_transaction(
        step, lambda found: print_json(found) if as_json else print_contacts(found)
    )


@app.command()
def show(contact_id: ContactId, tenant: OfTenant = None, as_json: AsJson = False) -> int:
    """Show a contact with its evidence, where it comes from and what was done to it."""

    async def step(
        session: AsyncSession, everything: Opened
    ) -> tuple[ContactDetail, list[Happened]]:
        actor = await acting_in(session, everything.actor, tenant)
        contact = await looking.contact_of(session, actor, contact_id)
        seen = await looking.detail(session, contact)
        return seen, await history(session, actor, contact_id)

    def shown(found: tuple[ContactDetail, list[Happened]]) -> None:
        contact, done = found
        if as_json:
            print_json(contact)
            return
        print_contact(contact)
        print_history(done)

    return run_in_transaction(step, shown)


@app.command()
def add(
    site: Annotated[str, typer.Argument(help="Whose it is: a site that is known, or its id.")],
    value: Annotated[str, typer.Argument(help="An address, +number or profile's URL.")],
    kind: Annotated[ContactKind | None, typer.Option(help="Left out: what it looks like.")] = None,
    name: Name = None,
    role: Duty = None,
    remark: Remark = None,
    tenant: OfTenant = None,
) -> int:
    """Add a contact that a person found, and print its id."""
    kind = kind or contact_kind_of(value)
    wanted = as_asked(
        ContactIn, domain=site, kind=kind, value=value, name=name, role=role, note=remark
    )

    async def step(session: AsyncSession, everything: Opened) -> ContactOut:
        actor = await acting_in(session, everything.actor, tenant)
        new = service.NewContact(
            site=site,
            kind=kind,
            value=wanted.value,
            name=wanted.name,
            role=wanted.role,
            note=wanted.note,
        )
        made = await service.add(session, actor, new)
        return (await looking.shown(session, [made]))[0]

    def shown(made: ContactOut) -> None:
        out.print(str(made.id), highlight=False)
        note(f"{made.kind} {made.value} of {made.domain}.")

    return run_in_transaction(step, shown)


@app.command()
def edit(
    contact_id: ContactId,
    name: Name = None,
    role: Duty = None,
    remark: Remark = None,
    email_type: Annotated[EmailType | None, typer.Option("--type", help="Whose it is.")] = None,
    status: Annotated[ContactDecision | None, typer.Option(help="What was decided.")] = None,
    value: Annotated[str | None, typer.Option(help="Corrected.")] = None,
    clear: Annotated[list[Clearable] | None, typer.Option(help="Take this away.")] = None,
    tenant: OfTenant = None,
) -> int:
    """Correct a contact; what is not named stays as it is."""
    typed = {
        "name": name,
        "role": role,
        "note": remark,
        "email_type": email_type,
        "contact_curation_status": status,
        "value": value,
    }
    given = {field: each for field, each in typed.items() if each is not None}
    wanted = as_asked(ContactChange, **given, **{each.value: None for each in clear or []})

    async def step(session: AsyncSession, everything: Opened) -> ContactDetail:
        actor = await acting_in(session, everything.actor, tenant)
        edited = await service.edit(session, actor, contact_id, wanted.changes())
        return await looking.detail(session, edited)

    return run_in_transaction(step, print_contact)


@app.command()
def delete(
    contact_id: ContactId,
    suppress: Annotated[
        bool, typer.Option("--suppress", help="Nobody is to write there any more.")
    ] = False,
    tenant: OfTenant = None,
) -> int:
    """Delete a contact; a page that still has it brings it back when it is read again."""

    async def step(session: AsyncSession, everything: Opened) -> None:
        actor = await acting_in(session, everything.actor, tenant)
        await service.delete(session, actor, contact_id, hush=suppress)

    said = "It is suppressed" if suppress else "Pages that still have it bring it back"
    return run_in_transaction(step, lambda _: note(f"Contact {contact_id} is deleted. {said}."))


@app.command("erase")
def erase_person(
    address: Annotated[str, typer.Argument(help="An e-mail address, or +number.")],
    tenant: OfTenant = None,
    yes: Yes = False,
    as_json: AsJson = False,
) -> int:
    """Erase a person: everything there is of an address or number, for good."""
    kind = SuppressionKind.EMAIL if "@" in address else SuppressionKind.PHONE
    as_asked(EraseIn, **{kind.value: address})
    ask(f"All there is of {address} will be gone for good.", yes=yes)

    async def step(session: AsyncSession, everything: Opened) -> Erased:
        actor = await acting_in(session, everything.actor, tenant)
        return await erase(session, actor, kind, address)

    def shown(erased: Erased) -> None:
        found = ErasedOut.model_validate(erased)
        print_json(found) if as_json else print_erased(found)

    return run_in_transaction(step, shown)
