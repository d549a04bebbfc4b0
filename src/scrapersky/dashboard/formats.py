"""Format values for display: numbers, durations, times, links, badges and long texts."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

from markupsafe import Markup, escape

from scrapersky.models import domains

DURATION_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))
LINK = Markup('<a class="out" href="{}" rel="noopener noreferrer nofollow" target="_blank">{}</a>')
EMPTY_VALUE = Markup('<span class="nothing">–</span>')


def format_number(value: float | None) -> str:
    """`1234567` → `1,234,567`."""
    if value is None:
        return "–"
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.1f}"


def url_total(value: int | None) -> str:
    """`1234567` → `at most 1,234,567`: totals above `MAX_COUNTED_URLS` are upper bounds."""
    is_bound = value is not None and value > domains.MAX_COUNTED_URLS
    return f"at most {format_number(value)}" if is_bound else format_number(value)


def format_duration(seconds: float | None) -> str:
    """`5400` → `1 h 30 min`: the two largest units."""
    if seconds is None:
        return "–"
    left, parts = int(max(seconds, 0)), []
    for size, unit in DURATION_UNITS:
        count, left = divmod(left, size)
        if count:
            parts.append(f"{count} {unit}")
    return " ".join(parts[:2]) or "0 s"


def format_milliseconds(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:.0f} ms" if value < 1000 else f"{value / 1000:.1f} s"


def format_time(at: datetime | None) -> Markup:
    """Render a time in UTC; the browser converts it to the user's time zone."""
    if at is None:
        return EMPTY_VALUE
    universal = at.astimezone(UTC)
    stamp, text = universal.isoformat(), universal.strftime("%Y-%m-%d %H:%M UTC")
    return Markup('<time datetime="{}" data-moment>{}</time>').format(stamp, text)


def render_link(url: str | None, text: str | None = None) -> Markup:
    """Render http(s) URLs as external links; anything else as plain text."""
    if not url:
        return EMPTY_VALUE
    label = Markup("<bdi>{}</bdi>").format(text or url)
    if get_scheme(url) not in ("http", "https"):
        return label
    return LINK.format(url, label)


def get_scheme(url: str) -> str:
    try:
        return urlsplit(url).scheme.lower()
    except ValueError:
        return ""


def isolate_text(text: Any) -> Markup:
    """Wrap external text in `<bdi>`, so that it cannot change the direction of surrounding text."""
    if text is None or text == "":
        return EMPTY_VALUE
    return Markup("<bdi>{}</bdi>").format(text)


def humanize(word: str | None) -> str:
    """`only_a_form` → `only a form`."""
    return "" if word is None else str(word).replace("_", " ")


TONES = {
    "good": (
        "complete",
        "completed",
        "ok",
        "selected",
        "submitted",
        "imported",
        "delivered",
        "open mode",
    ),
    "busy": ("processing", "queued", "pending", "new"),
    "poor": ("partial", "filtered", "maybe", "redirected", "snoozed", "paused", "retried"),
    "bad": ("failed", "error", "dead", "refused", "blocked", "not a fit", "open", "cancelled"),
}


def get_tone(word: str | None) -> str:
    """Return the colour of a status. The status is always shown as text as well."""
    lower = str(word or "").lower().replace("_", " ")
    return next((name for name, words in TONES.items() if lower in words), "plain")


def render_badge(word: str | None, colour: str | None = None) -> Markup:
    if not word:
        return EMPTY_VALUE
    return Markup('<span class="badge {}">{}</span>').format(
        colour or get_tone(word), humanize(word)
    )


def truncate(text: str | None, most: int = 120) -> Markup:
    """Truncate a long text, with the full text in the tooltip."""
    if not text:
        return EMPTY_VALUE
    if len(text) <= most:
        return isolate_text(text)
    start = text[: most - 1].rstrip()
    return Markup('<bdi title="{}">{}…</bdi>').format(escape(text[:1000]), start)


FILTERS: dict[str, Callable[..., Any]] = {
    "number": format_number,
    "url_total": url_total,
    "duration": format_duration,
    "milliseconds": format_milliseconds,
    "moment": format_time,
    "site_link": render_link,
    "said": isolate_text,
    "in_words": humanize,
    "badge": render_badge,
    "tone": get_tone,
    "shortened": truncate,
}
