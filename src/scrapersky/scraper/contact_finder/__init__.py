"""Find e-mail addresses, phone numbers and profiles in a page, with the evidence for each.

    for contact in find_contacts(html, url="https://example.com/contact", default_region="US"):
        print(contact.kind, contact.value, contact.method, contact.snippet)

`read_contacts` tells as well which limits the page met.
"""

from scrapersky.scraper.contact_finder.finder import find_contacts, read_contacts
from scrapersky.scraper.contact_finder.found import ContactsFound, FoundContact, Kind, Method

__all__ = ["ContactsFound", "FoundContact", "Kind", "Method", "find_contacts", "read_contacts"]
