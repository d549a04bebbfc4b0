"""What may be a name of a tenant, a user or a key, and what is an id instead."""

from __future__ import annotations

from uuid import UUID

from scrapersky.errors import InvalidInput

LONGEST_NAME = 200


def name_of(thing: str, text: str) -> str:
    """The name without blanks around it; or a sentence saying what is wrong with it."""
    name = text.strip()
    if not name or len(name) > LONGEST_NAME or not name.isprintable():
        raise InvalidInput(
            f"{thing} needs a name of 1 to {LONGEST_NAME} printable characters, to know it by."
        )
    return name


def uuid_in(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None
