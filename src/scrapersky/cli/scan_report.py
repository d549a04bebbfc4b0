"""Print the result of a scan as a table or JSON, and derive its exit code."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from rich.markup import escape
from rich.table import Table

from scrapersky.cli.errors import ExitCode
from scrapersky.cli.output import (
    build_table,
    format_count,
    format_status,
    out,
    print_json,
    print_table,
)
from scrapersky.models import JOB_STATUSES, Job, SitemapFile
from scrapersky.models.sitemaps import FileStatus
from scrapersky.scraper.sitemaps.events import ScanOutcome
from scrapersky.sitemaps.schemas import scan_status

MAX_FILES_SHOWN = 100
"""An index may list thousands of files. Files with problems come first."""
INCOMPLETE_STATUSES = (FileStatus.PARTIAL, FileStatus.ERROR)
USABLE_STATUSES = (FileStatus.OK, FileStatus.PARTIAL)


@dataclass(frozen=True)
class ScanResult:
    """A finished job and its files."""

    job: Job
    files: tuple[SitemapFile, ...]
    seconds: float

    @property
    def result(self) -> dict[str, Any]:
        return self.job.result_data or {}

    @property
    def failed(self) -> bool:
        return self.job.status != JOB_STATUSES.done


def get_exit_code(ended: ScanResult) -> ExitCode:
    if ended.failed:
        return ExitCode.FAILED
    incomplete = any(each.status in INCOMPLETE_STATUSES for each in ended.files)
    return ExitCode.PARTIAL if incomplete or ended.result.get("truncated") else ExitCode.OK


def print_result_as_json(ended: ScanResult) -> None:
    print_json(scan_status(ended.job, list(ended.files)))


def print_result(ended: ScanResult) -> None:
    if ended.files:
        print_table(_build_file_table(ended.files))
        out.print()
    for sentence in _build_summary(ended):
        out.print(sentence, soft_wrap=True, highlight=False)


def _build_file_table(files: tuple[SitemapFile, ...]) -> Table:
    visible = files
    if len(files) > MAX_FILES_SHOWN:
        visible = tuple(
            sorted(files, key=lambda each: each.status == FileStatus.OK)[:MAX_FILES_SHOWN]
        )
    table = build_table("Type", "Found by", "Status", "URLs", "Reason", "URL", right=["URLs"])
    for each in visible:
        table.add_row(
            each.sitemap_type or "",
            each.discovery_method,
            format_status(each.status),
            f"{each.url_count:,}",
            escape(each.reason or ""),
            escape(each.url),
        )
    if len(files) > len(visible):
        table.add_row("…", "", "", "", f"and {len(files) - len(visible):,} more", "")
    return table


def _build_summary(ended: ScanResult) -> list[str]:
    job, result = ended.job, ended.result
    if ended.failed:
        verdict = "failed" if job.status == JOB_STATUSES.failed else job.status
        reason = escape(_describe_failure(job))
        return [f"[red]The scan of {escape(job.subject)} {verdict}[/red]: {reason}"]
    return [
        _build_headline(ended),
        *_list_shortcomings(result),
        *_list_refusals(result),
        *_suggest_next_command(ended),
    ]


def _describe_failure(job: Job) -> str:
    tries = f" (after {format_count(job.attempts, 'attempt')})" if job.attempts > 1 else ""
    return f"{job.error or 'No reason was given.'}{tries}"


def _build_headline(ended: ScanResult) -> str:
    job, result = ended.job, ended.result
    if result.get("outcome") == ScanOutcome.NONE:
        where = escape(result.get("base_url") or job.subject)
        return f"[yellow]No sitemap found[/yellow] on {where} in {ended.seconds:.1f} s."
    usable = [each for each in ended.files if each.status in USABLE_STATUSES]
    urls = int(result.get("urls", 0))
    where = escape(result.get("base_url") or job.subject)
    summary = f"{format_count(len(usable), 'sitemap')}, {format_count(urls, 'URL')}"
    return f"[green]{summary}[/green] from {where} in {ended.seconds:.1f} s."


def _list_shortcomings(result: dict[str, Any]) -> list[str]:
    lines = [f"[yellow]Truncated[/yellow]: {escape(str(result.get('truncated_why')))}"]
    lines = lines if result.get("truncated") else []
    lines += [f"[red]Not read[/red]: {escape(each)}" for each in result.get("errors", ())]
    lines += [f"[yellow]Warning[/yellow]: {escape(each)}" for each in result.get("warnings", ())]
    return lines


def _list_refusals(result: dict[str, Any]) -> list[str]:
    """Group refused locations by reason: the common locations mostly answer alike."""
    reasons = Counter(each["reason"] for each in result.get("refused", ()))
    places = {each["reason"]: each["url"] for each in reversed(result.get("refused", ()))}
    return [
        f"No sitemap at {escape(places[reason])}"
        f"{f' and {count - 1:,} more' if count > 1 else ''}: {escape(reason)}"
        for reason, count in reasons.items()
    ]


def _suggest_next_command(ended: ScanResult) -> list[str]:
    if ended.result.get("outcome") == ScanOutcome.NONE:
        return []
    domain = escape(str(ended.job.params.get("domain")))
    return [f"[dim]List the URLs with `scrapersky urls {domain}`.[/dim]"]
