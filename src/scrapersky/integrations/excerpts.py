"""A line of what a receiver answered, for whoever wonders why it did not take something."""

from __future__ import annotations

from scrapersky.redaction import redact

MOST_CHARACTERS = 120


def excerpt(body: bytes) -> str:
    """` It said: "…"`, in plain letters and without secrets; nothing where there is no text."""
    text = body.decode("utf-8", errors="ignore")
    if "\x00" in text:
        return ""
    plain = "".join(each if each.isprintable() else " " for each in text)
    line = redact(" ".join(plain.split()))
    if not line:
        return ""
    cut = line if len(line) <= MOST_CHARACTERS else line[: MOST_CHARACTERS - 1] + "…"
    return f' It said: "{cut}"'
