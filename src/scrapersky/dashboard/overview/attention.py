"""What needs somebody's attention: a sentence each, and where one mends it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from scrapersky.pipeline.tables import Alert
from scrapersky.pipeline.troubles import Trouble, TroubleKind

MANY_CIRCUITS = "many_circuits_open"
STAGE_RULES = {each.value for each in TroubleKind}


@dataclass(frozen=True)
class Concern:
    tone: str
    """`bad` where work stands still or is lost, `poor` where it can wait."""
    about: str
    sentence: str
    path: str
    act: str
    """What the link says."""


@dataclass(frozen=True)
class Findings:
    """What there is to be concerned about."""

    troubles: Mapping[str, Sequence[Trouble]]
    """By the stage's name."""
    letters: Mapping[str, int]
    alerts: Sequence[Alert]
    circuits: int
    warnings: int


async def firing(session: AsyncSession) -> Sequence[Alert]:
    """As they were noted; every process looks for them twice a minute."""
    found = await session.scalars(
        select(Alert).where(Alert.cleared_at.is_(None)).order_by(Alert.began_at, Alert.id)
    )
    return found.all()


def concerns_of(findings: Findings, titles: Mapping[str, str]) -> list[Concern]:
    """The gravest first."""
    return [
        *_troubles(findings, titles),
        *_alerts(findings, titles),
        *_letters(findings, titles),
        *_circuits(findings),
        *_warnings(findings),
    ]


def _troubles(findings: Findings, titles: Mapping[str, str]) -> Iterator[Concern]:
    for name, troubles in findings.troubles.items():
        for each in troubles:
            yield Concern("bad", titles[name], each.sentence, f"/stages/{name}", "See the stage")


def _alerts(findings: Findings, titles: Mapping[str, str]) -> Iterator[Concern]:
    """Without those about a stage's troubles, which are judged afresh."""
    for each in findings.alerts:
        if each.rule in STAGE_RULES and each.subject in titles:
            continue
        about = titles.get(each.subject, each.subject) or "Alert"
        yield Concern("bad", about, each.sentence, "/alerts", "See the alerts")


def _letters(findings: Findings, titles: Mapping[str, str]) -> Iterator[Concern]:
    for name, count in findings.letters.items():
        if count:
            rows = "1 row was" if count == 1 else f"{count:,} rows were"
            path = f"/dead-letters?{urlencode({'stage': name})}"
            yield Concern("poor", titles[name], f"{rows} given up.", path, "Replay or discard")


def _circuits(findings: Findings) -> Iterator[Concern]:
    if findings.circuits and not any(each.rule == MANY_CIRCUITS for each in findings.alerts):
        hosts = (
            "1 host keeps failing and is"
            if findings.circuits == 1
            else f"{findings.circuits:,} hosts keep failing and are"
        )
        sentence = f"{hosts} left alone for a while."
        yield Concern("poor", "Hosts", sentence, "/hosts?left_alone=true", "See which")


def _warnings(findings: Findings) -> Iterator[Concern]:
    if findings.warnings:
        domains = "1 domain" if findings.warnings == 1 else f"{findings.warnings:,} domains"
        sentence = f"{domains} had sitemaps, and the last scan found none."
        yield Concern("poor", "Domains", sentence, "/domains?has_warning=true", "See which")
