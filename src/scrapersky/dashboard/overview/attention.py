"""What needs somebody's attention: a sentence each, and where one mends it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from scrapersky.operations.alerts import Firing

MANY_CIRCUITS = "many_circuits_open"


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

    letters: Mapping[str, int]
    """Open dead letters by the stage's name."""
    alerts: Sequence[Firing]
    """As the alerts page shows them, judged by the same rules."""
    circuits: int
    warnings: int


def concerns_of(findings: Findings, titles: Mapping[str, str]) -> list[Concern]:
    """The gravest first."""
    return [
        *_alerts(findings, titles),
        *_letters(findings, titles),
        *_circuits(findings),
        *_warnings(findings),
    ]


def _alerts(findings: Findings, titles: Mapping[str, str]) -> Iterator[Concern]:
    for each in findings.alerts:
        if each.subject in titles:
            path, act = f"/stages/{each.subject}", "See the stage"
        else:
            path, act = "/alerts", "See the alerts"
        about = titles.get(each.subject, each.subject) or "Alert"
        yield Concern("bad", about, each.sentence, path, act)


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
