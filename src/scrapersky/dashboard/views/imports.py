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
    """A kind of list that can be imported; all use equivalent API routes."""

    kind: str
    title: str
    says: str
    example: str


IMPORT_KINDS = (
    ImportKind(
        "domains",
        "Domains",
        "Reads each home page and finds the sitemaps.",
        "example.com",
    ),
    ImportKind(
        "sitemap-files",
        "Sitemaps",
        "Reads each sitemap and turns its URLs into pages.",
        "https://example.com/sitemap.xml",
    ),
    ImportKind(
        "places",
        "Businesses",
        "Matches each with existing businesses and reads its website for contacts. "
        "The first line names the columns: name, website, phone, city and so on.",
        "name,website,phone,city\nBackhaus Berger,backhaus-berger.de,+49 341 4801234,Leipzig",
    ),
    ImportKind("pages", "Pages", "Reads each page for contacts.", "https://example.com/contact"),
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
        title="Import",
        kinds=IMPORT_KINDS,
        chosen=kind,
        example=example,
    )
