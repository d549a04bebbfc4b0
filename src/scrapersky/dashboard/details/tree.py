"""The sitemaps of a domain as a tree: an index, and below it the files it lists."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from sqlalchemy import Select, func, select
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.models import SitemapFile
from scrapersky.models.sitemaps import IMPORT_WORDS
from scrapersky.scraper.events import SitemapType

FILES_SHOWN = 120
CHILDREN_SHOWN = 20


@dataclass
class Node:
    file: SitemapFile
    below: list[Node] = field(default_factory=list)
    more: int = 0
    """Files it lists besides those shown."""


@dataclass(frozen=True)
class SitemapTree:
    """What is shown of it, and how many there are altogether."""

    roots: list[Node]
    total: int = 0
    more: int = 0
    """Files that stand in no index, besides those shown."""
    imports: dict[str, int] = field(default_factory=dict)
    """Files by the status of their import."""
    failed_imports: tuple[UUID, ...] = ()
    """Those of the files shown."""


async def sitemap_tree(session: AsyncSession, domain_id: UUID) -> SitemapTree:
    found = (await session.execute(_some_of_each(domain_id))).all()
    if not found:
        return SitemapTree([])
    first: Any = found[0]
    files = [row[0] for row in found]
    siblings = {row[0].parent_url: row.siblings for row in found}
    roots, nodes = _grown(files)
    for node in nodes:
        node.more = max(_listed_by(node.file, siblings) - len(node.below), 0)
    counted = {word: getattr(first, f"import_{word.lower()}") for word in IMPORT_WORDS.all}
    failed = tuple(f.id for f in files if f.sitemap_import_status == IMPORT_WORDS.failed)
    alone = sum(node.file.parent_url is None for node in roots)
    return SitemapTree(roots, first.total, siblings.get(None, alone) - alone, counted, failed)


def _listed_by(file: SitemapFile, siblings: dict[str | None, int]) -> int:
    """How many files an index lists; of one with none among those shown, its own word for it."""
    counted = siblings.get(file.url) or siblings.get(file.final_url or "")
    return counted or (file.url_count if file.sitemap_type == SitemapType.INDEX else 0)


def _some_of_each(domain_id: UUID) -> Select[Any]:
    """The first files of every index, so that a large one leaves room for the others."""
    order = (SitemapFile.created_at, SitemapFile.id)
    alike = SitemapFile.parent_url
    status = SitemapFile.sitemap_import_status
    imports = [
        func.count().filter(status == word).over().label(f"import_{word.lower()}")
        for word in IMPORT_WORDS.all
    ]
    placed = (
        select(
            SitemapFile.id,
            func.row_number().over(partition_by=alike, order_by=order).label("place"),
            func.count().over(partition_by=alike).label("siblings"),
            func.count().over().label("total"),
            *imports,
        )
        .where(SitemapFile.domain_id == domain_id)
        .subquery()
    )
    columns = [each for each in placed.c if each.key not in ("id", "place")]
    return (
        select(SitemapFile, *columns)
        .join(placed, placed.c.id == SitemapFile.id)
        .where(placed.c.place <= CHILDREN_SHOWN)
        .order_by(SitemapFile.depth, *order)
        .limit(FILES_SHOWN)
    )


def _grown(files: Sequence[SitemapFile]) -> tuple[list[Node], list[Node]]:
    """Roots and all nodes; a file hangs below one that stands before it, so never in a circle."""
    roots, nodes, known = list[Node](), list[Node](), dict[str, Node]()
    for file in files:
        node = Node(file)
        parent = known.get(file.parent_url or "")
        (roots if parent is None else parent.below).append(node)
        nodes.append(node)
        known.setdefault(file.url, node)
        if file.final_url:
            known.setdefault(file.final_url, node)
    return roots, nodes
