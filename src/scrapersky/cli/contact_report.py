"""Contacts as people read them on a screen."""

from __future__ import annotations

import json
from collections.abc import Sequence

from rich.markup import escape

from scrapersky.cli.output import counted, note, out, print_table, table, when
from scrapersky.contacts.schemas import ContactDetail, ContactOut, ErasedOut, Happened


def print_contacts(found: Sequence[ContactOut]) -> None:
    if not found:
        out.print("No contacts.")
        return
    made = table("Contact", "Site", "Kind", "Value", "Type", "Name", "Found by", "Sure", "Status")
    for each in found:
        value = f"{each.value} (suppressed)" if each.suppressed else each.value
        whose = (each.email_type or "", escape(each.name or ""), each.method)
        sure = (f"{each.confidence:.2f}", each.contact_curation_status)
        made.add_row(str(each.id), escape(each.domain), each.kind, escape(value), *whose, *sure)
    print_table(made)


def print_contact(contact: ContactDetail) -> None:
    print_contacts([contact])
    for label, said in _facts(contact).items():
        if said:
            out.print(f"{label}: {escape(said)}", highlight=False)
    if not contact.evidence:
        out.print("No page has it.")
        return
    made = table("Page", "Found by", "Sure", "First seen", "Last seen", "What stands there")
    for each in contact.evidence:
        times = (when(each.first_seen_at), when(each.last_seen_at))
        sure = f"{each.confidence:.2f}"
        made.add_row(escape(each.page_url), each.method, sure, *times, escape(each.snippet or ""))
    out.print()
    print_table(made)


def _facts(contact: ContactDetail) -> dict[str, str | None]:
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
        "Comes from": " ← ".join(each for each in steps if each),
    }


def print_history(done: Sequence[Happened]) -> None:
    if not done:
        return
    made = table("When", "Who", "What", "Details")
    for each in done:
        details = json.dumps(each.details, ensure_ascii=False) if each.details else ""
        made.add_row(when(each.at), str(each.actor_id), each.action, escape(details))
    out.print()
    print_table(made)


def print_erased(erased: ErasedOut) -> None:
    evidence = counted(erased.evidence, "sighting")
    out.print(f"{counted(erased.contacts, 'contact')} with {evidence} erased.", highlight=False)
    for name, rows in erased.places.items():
        out.print(f"Taken out of {counted(rows, 'row')} of {name}.", highlight=False)
    note("Only a digest is kept, so that it is not collected again.")
    if erased.left_in_urls:
        note(f"{counted(erased.left_in_urls, 'URL')} of sites still hold it; they are left as is.")
    for each in erased.same_name:
        note(f"Contact {each} has the same name; erase it too if it is the same person's.")
