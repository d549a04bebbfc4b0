"""What OpenStreetMap calls the kinds of cooking that people look for, in several languages."""

from __future__ import annotations

from scrapersky.scraper.providers.osm.kinds import plain

DIETS = frozenset({"vegan", "vegetarian"})
_BEGINNINGS = {
    "african": "afrikanisch africain african",
    "american": "amerikanisch americain american",
    "arab": "arabisch arabe",
    "asian": "asiatisch asiatique asiatico",
    "chinese": "chinesisch chinois chino cinese",
    "french": "franzosisch francais frances",
    "german": "deutsch allemand aleman tedesc",
    "greek": "griechisch grec grieg",
    "indian": "indisch indien indian",
    "italian": "italienisch italien italian",
    "japanese": "japanisch japonais japones giappones",
    "korean": "koreanisch coreen corean",
    "lebanese": "libanesisch libanais libanes",
    "mexican": "mexikanisch mexicain mexican messican",
    "spanish": "spanisch espagnol espanol spagnol",
    "thai": "thailandisch thailandais tailandes",
    "turkish": "turkisch turc turco turca",
    "vegan": "vegan",
    "vegetarian": "vegetarisch vegetarien vegetarian",
    "vietnamese": "vietnamesisch vietnamien vietnamita",
}
"""OpenStreetMap's word, and how the words of others begin: endings tell only what they stand by."""


def cuisine_of(words: str) -> str | None:
    """Nothing when it is no cooking that we know by another name."""
    looked_for = plain(words)
    for cuisine, beginnings in _BEGINNINGS.items():
        if looked_for == cuisine or looked_for.startswith(tuple(beginnings.split())):
            return cuisine
    return None
