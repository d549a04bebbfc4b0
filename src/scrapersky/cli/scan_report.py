"""What a scan came to: a table and a few sentences, or one JSON document, and the exit code."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from rich.markup import escape
from rich.table import Table

from scrapersky.cli.exits import Exit
from scrapersky.cli.output import counted, out, print_json, print_table, status, table
from scrapersky.models import JOB_WORDS, Job, SitemapFile
from scrapersky.models.sitemaps import FileStatus
from scrapersky.scraper.events import Outcome
from scrapersky.sitemaps.schemas import scan_status

FILES_SHOWN = 100
"""An index may name thousands; what went wrong comes first then."""
INCOMPLETE = (FileStatus.PARTIAL, FileStatus.ERROR)
USABLE = (FileStatus.OK, FileStatus.PARTIAL)


@dataclass(frozen=True)
class Ended:
    """A job that has ended, and its files."""

    job: Job
    files: tuple[SitemapFile, ...]
    seconds: float

    @property
    def result(self) -> dict[str, Any]:
        return self.job.result_data or {}

    @property
    def failed(self) -> bool:
        return self.job.status != JOB_WORDS.done


def exit_code(ended: Ended) -> Exit:
    if ended.failed:
        return Exit.FAILED
    incomplete = any(each.status in INCOMPLETE for each in ended.files)
    return Exit.PARTIAL if incomplete or ended.result.get("truncated") else Exit.OK


def print_ended_as_json(ended: Ended) -> None:
    print_json(scan_status(ended.job, list(ended.files)))


def print_ended(ended: Ended) -> None:
    if ended.files:
        print_table(_files(ended.files))
        out.print()
    for sentence in _sentences(ended):
        out.print(sentence, soft_wrap=True, highlight=False)


def _files(files: tuple[SitemapFile, ...]) -> Table:
    shown = files
    if len(files) > FILES_SHOWN:
        shown = tuple(sorted(files, key=lambda each: each.status == FileStatus.OK)[:FILES_SHOWN])
    made = table("Type", "Found by", "Status", "URLs", "Reason", "URL", right=["URLs"])
    for each in shown:
        made.add_row(
            each.sitemap_type or "",
            each.discovery_method,
            status(each.status),
            f"{each.url_count:,}",
            escape(each.reason or ""),
            escape(each.url),
        )
    if len(files) > len(shown):
        made.add_row("…", "", "", "", f"and {len(files) - len(shown):,} more", "")
    return made


def _sentences(ended: Ended) -> list[str]:
    job, result = ended.job, ended.result
    if ended.failed:
        verdict = "failed" if job.status == JOB_WORDS.failed else job.status
        return [f"[red]The scan of {escape(job.subject)} {verdict}[/red]: {escape(_why(job))}"]
    return [_headline(ended), *_shortcomings(result), *_refusals(result), *_what_next(ended)]


def _why(job: Job) -> str:
    tries = f" (after {counted(job.attempts, 'attempt')})" if job.attempts > 1 else ""
    return f"{job.error or 'no reason was given.'}{tries}"


def _headline(ended: Ended) -> str:
    job, result = ended.job, ended.result
    if result.get("outcome") == Outcome.NONE:
        where = escape(result.get("base_url") or job.subject)
        return f"[yellow]No sitemap found[/yellow] on {where} in {ended.seconds:.1f} s."
    usable = [each for each in ended.files if each.status in USABLE]
    urls = int(result.get("urls", 0))
    where = escape(result.get("base_url") or job.subject)
    found = f"{counted(len(usable), 'sitemap')}, {counted(urls, 'URL')}"
    return f"[green]{found}[/green] from {where} in {ended.seconds:.1f} s."


def _shortcomings(result: dict[str, Any]) -> list[str]:
    said = [f"[yellow]Truncated[/yellow]: {escape(str(result.get('truncated_why')))}"]
    said = said if result.get("truncated") else []
    said += [f"[red]Not read[/red]: {escape(each)}" for each in result.get("errors", ())]
    said += [f"[yellow]Warning[/yellow]: {escape(each)}" for each in result.get("warnings", ())]
    return said


def _refusals(result: dict[str, Any]) -> list[str]:
    """Grouped, for the usual places mostly answer alike."""
    reasons = Counter(each["reason"] for each in result.get("refused", ()))
    places = {each["reason"]: each["url"] for each in reversed(result.get("refused", ()))}
    return [
        f"No sitemap at {escape(places[reason])}"
        f"{f' and {count - 1:,} more places' if count > 1 else ''}: {escape(reason)}"
        for reason, count in reasons.items()
    ]


def _what_next(ended: Ended) -> list[str]:
    if ended.result.get("outcome") == Outcome.NONE:
        return []
    domain = escape(str(ended.job.params.get("domain")))
    return [f"[dim]`scrapersky urls {domain}` lists the URLs.[/dim]"]
