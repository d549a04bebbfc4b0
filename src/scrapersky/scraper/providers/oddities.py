"""What a place cannot be: such values are left out, and it is noted that they were there."""

from __future__ import annotations

from scrapersky.scraper.providers.values import number_of, text_of


def read_name(value: object, oddities: list[str]) -> str | None:
    name = text_of(value)
    if name is None and isinstance(value, str):
        oddities.append("Its name has nothing that can be seen.")
    if name is not None and not any(each.isalnum() for each in name):
        oddities.append(f"Its name, {name[:40]!r}, has neither letters nor digits.")
        return None
    return name


def read_location(
    latitude: object, longitude: object, oddities: list[str]
) -> tuple[float, float] | tuple[None, None]:
    """Both or neither."""
    north, east = number_of(latitude, -90, 90), number_of(longitude, -180, 180)
    if north is not None and east is not None:
        return north, east
    if latitude is not None or longitude is not None:
        oddities.append(f"Its coordinates, {_short(latitude)} and {_short(longitude)}, cannot be.")
    return None, None


def _short(value: object) -> str:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f"{value:g}" if abs(value) < 1e300 else "a huge number"
    return repr(text_of(value, at_most=20)) if isinstance(value, str) else type(value).__name__
