"""English plurals for messages."""

from __future__ import annotations

_ES_ENDINGS = ("s", "x", "z", "ch", "sh")
_VOWELS = "aeiou"


def pluralise(noun: str) -> str:
    """Return the plural of a regular noun: `lead` → `leads`, `business` → `businesses`.

    `entry` becomes `entries`. Of several words the last one changes.
    """
    if noun.endswith(_ES_ENDINGS):
        return f"{noun}es"
    if noun.endswith("y") and noun[-2:-1] not in _VOWELS:
        return f"{noun[:-1]}ies"
    return f"{noun}s"
