"""The import page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from fastapi import APIRouter, Query
from fastapi.responses import HTMLResponse

from scrapersky.dashboard.page_route import PageRoute
from scrapersky.dashboard.rendering import Renderer
from scrapersky.http.auth import Curator

imports_router = APIRouter(route_class=PageRoute)


@dataclass(frozen=True)
class ImportKind:
    """A kind of thing of which lists are taken, by routes of the API that are alike."""

    kind: str
    title: str
    says: str
    example: str


IMPORT_KINDS = (
    ImportKind(
        "domains",
        "Domains",
        "The home page is read for what the site is, then its sitemaps are looked for.",
        "example.com",
    ),
    ImportKind(
        "sitemap-files",
        "Sitemaps",
        "Each sitemap is read, and the addresses in it become pages.",
        "https://example.com/sitemap.xml",
    ),
    ImportKind(
        "places",
        "Businesses",
        "Each is looked for among those you know; its website is read, down to whom to write to. "
        "The first line names the columns: name, website, phone, city and the like.",
        "name,website,phone,city\nBackhaus Berger,backhaus-berger.de,+49 341 4801234,Leipzig",
    ),
    ImportKind("pages", "Pages", "Each page is read for contacts.", "https://example.com/contact"),
)


@imports_router.get("/import")
async def show_import(
    actor: Curator,
    show: Renderer,
    kind: Annotated[Literal["domains", "sitemap-files", "places", "pages"], Query()] = "domains",
) -> HTMLResponse:
    example = next(each.example for each in IMPORT_KINDS if each.kind == kind)
    return show.page(
        "tables/import.html",
        title="Hand in a list",
        kinds=IMPORT_KINDS,
        chosen=kind,
        example=example,
    )
