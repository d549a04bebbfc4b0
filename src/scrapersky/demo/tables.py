"""The tables at the demo's end: contacts with how they were found, and sites without any."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from urllib.parse import urlsplit

from rich.box import SIMPLE_HEAD
from rich.table import Table

from scrapersky.demo.display import counted
from scrapersky.demo.found import MOST_LEADS, Found
from scrapersky.demo.results import Result
from scrapersky.models import Contact
from scrapersky.scraper.contact_finder import Kind


def titled(title: str, *, show_footer: bool = False) -> Table:
    return Table(
        title=title,
        title_justify="left",
        title_style="bold",
        box=SIMPLE_HEAD,
        show_footer=show_footer,
        pad_edge=False,
    )


def contacts_table(results: Sequence[Result]) -> Table:
    """Of each site the contact of each kind that its lead puts first."""
    with_contacts = [each for each in results if each.contacts]
    total = sum(len(each.contacts) for each in with_contacts)
    table = titled("Contacts, and how each was found", show_footer=True)
    table.add_column("Site", counted(len(with_contacts), "site"), overflow="fold")
    table.add_column("Best e-mail", counted(total, "contact"), overflow="fold")
    table.add_column("Phone", no_wrap=True)
    table.add_column("Profile", overflow="fold")
    table.add_column("How found")
    table.add_column("Page", overflow="fold")
    for each in with_contacts:
        table.add_row(each.site.name, *_cells(each))
    return table


def _cells(result: Result) -> tuple[str, ...]:
    best = [contact for kind in Kind if (contact := result.best(kind))]
    by_kind = {contact.kind: contact for contact in best}
    return (
        *(_value(by_kind.get(kind)) for kind in Kind),
        _once(contact.method for contact in best),
        _once(_page(result, contact) for contact in best),
    )


def _value(contact: Contact | None) -> str:
    return contact.value.removeprefix("https://").removeprefix("www.") if contact else ""


def _page(result: Result, contact: Contact) -> str:
    return urlsplit(result.pages.get(contact.page_id, "") if contact.page_id else "").path


def _once(words: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(words))


def empty_table(results: Sequence[Result]) -> Table:
    table = titled("Sites without contacts, and why")
    table.add_column("Site", no_wrap=True)
    table.add_column("Why", no_wrap=True)
    table.add_column("In words", overflow="fold")
    for each in results:
        if each.lead is not None and each.lead.why_empty:
            cells = (each.lead.why_empty, each.lead.why_empty_detail or "")
            table.add_row(each.site.name, *cells)
    return table


def leads_table(found: Found) -> Table:
    """Where it all ends: one row per business. The rest is in the dashboard and in exports."""
    shown = [*found.leads[:MOST_LEADS], *(each for each in found.leads if each.domain_id is None)]
    table = titled("Leads", show_footer=True)
    table.add_column("Name", counted(len(found.leads), "lead"), overflow="fold")
    table.add_column("Rating", justify="right")
    table.add_column("Best e-mail", overflow="fold")
    table.add_column("Phone", no_wrap=True)
    table.add_column("Website, or why not", overflow="fold")
    for each in shown:
        rating = f"{each.rating:.1f}" if each.rating is not None else ""
        reached = each.why_empty_detail if each.domain_id is None else each.website
        cells = (each.name, rating, each.best_email, each.phone, reached)
        table.add_row(*(cell or "" for cell in cells))
    return table
