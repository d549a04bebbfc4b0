"""The demo runs to its end, reports the results correctly, and cleans up."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from decimal import Decimal
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import IO, Any, cast

import pytest
from rich.console import Console

from scrapersky.demo import report, run
from scrapersky.demo.results import (
    DemoOutcome,
    SearchFindings,
    SiteResult,
    list_search_differences,
    list_site_differences,
)
from scrapersky.demo.search import PLACES_WITHOUT_SITE, SearchOutcome
from scrapersky.demo.sites.builder import ExpectedResult, PublishedContact, SitemapOutcome, TownSite
from scrapersky.demo.town import SITES
from scrapersky.models import EmptyReason
from scrapersky.scraper.contacts.model import ContactChannel, ExtractionMethod
from scrapersky.settings import Settings, SettingsSource, load_settings

PROGRAM = """
import asyncio, sys
from rich.console import Console
from scrapersky.demo.run import run_demo
from scrapersky.logging import configure_logging
from scrapersky.settings import load_settings
configure_logging()
sys.exit(asyncio.run(run_demo(load_settings(), Console())))
"""


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty place for temporary files that PostgreSQL's own user can pass through."""
    with tempfile.TemporaryDirectory(prefix="town-", dir="/tmp") as made:
        Path(made).chmod(0o711)
        monkeypatch.setattr(tempfile, "tempdir", made)
        yield Path(made)


def processes_in(folder: Path) -> list[str]:
    """Command lines of the processes that work below the folder."""
    found = []
    for each in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = each.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if str(folder) in line:
            found.append(line)
    return found


def settings_of_somebody() -> Settings:
    """Settings that would spoil the demo, did it not have its own."""
    environ = {
        "DATABASE_URL": "postgresql://nobody@127.0.0.1:1/nothing",
        "SCRAPERSKY_DATA_DIR": "/nonexistent/mine",
        "SITEMAP_MAX_URLS_PER_DOMAIN": "1",
        "FETCH_TIMEOUT_SECONDS": "0.001",
    }
    return load_settings(SettingsSource(environ=environ, env_file=None))


async def test_demo_ends_well_and_leaves_nothing_running(folder: Path) -> None:
    console = Console(file=StringIO(), width=200)
    code = await run.run_demo(settings_of_somebody(), console)
    assert isinstance(console.file, StringIO)
    text = console.file.getvalue()
    assert code == 0, text
    assert "morning-courier.example: done, 5 sitemaps, 3,640 URLs, 3 pages, 3 contacts" in text
    assert "market-post-office.example: done after 2 attempts, 1 sitemap, 1 URL" in text
    assert "palace-cinema.example: failed after 2 attempts, 0 sitemaps, 0 URLs" in text
    assert "failed after 2 attempts (dead letter)" in text
    assert "Found 50 places with 6 requests for $0.00:" in text
    assert "One search led to 49 leads." in text
    assert_both_tables(text)
    assert "scrapersky scan DOMAIN" in text
    assert asyncio.all_tasks() == {asyncio.current_task()}
    assert list(folder.iterdir()) == []
    assert processes_in(folder) == []


def assert_both_tables(text: str) -> None:
    """All rows of the contacts with how they were found, and of the empty sites with why."""
    _, _, after = text.partition("Contacts by site")
    contacts, _, empty = after.partition("Sites without contacts")
    for site in SITES:
        table = empty if site.expected.why else contacts
        [row] = [line for line in table.splitlines() if line.split()[:1] == [site.name]]
        for word in {site.expected.why} if site.expected.why else best_of(site):
            assert str(word) in row


def best_of(site: TownSite) -> set[str]:
    """How the first of each kind that the site publishes is found; it is its best as well."""
    methods: dict[ContactChannel, str] = {}
    for each in site.expected.contacts.values():
        methods.setdefault(each.kind, each.method)
    return set(methods.values())


def lines_until(stream: IO[str], beginning: str) -> list[str]:
    """What was said up to the line that begins so, or to the end."""
    said: list[str] = []
    for line in stream:
        said.append(line)
        if line.startswith(beginning):
            break
    return said


@pytest.mark.parametrize(
    ("until", "number", "code"),
    [
        ("Starting", signal.SIGINT, 130),
        ("tin-soldier-toys.example: done", signal.SIGTERM, 143),
    ],
)
def test_an_interrupted_demo_clears_up(
    folder: Path, until: str, number: signal.Signals, code: int
) -> None:
    """Also while PostgreSQL is starting, and when people press Ctrl-C twice."""
    environ = {**os.environ, "TMPDIR": str(folder), "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM],
        env=environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as demo:
        assert demo.stdout is not None
        said = lines_until(demo.stdout, until)
        assert said[-1].startswith(until), "".join(said)
        demo.send_signal(number)
        demo.send_signal(number)
        rest = demo.stdout.read()
    assert demo.returncode == code, rest
    assert "Traceback" not in rest
    assert list(folder.iterdir()) == []
    assert processes_in(folder) == []


def result(
    expected: ExpectedResult,
    *,
    outcome: str | None = None,
    urls: int = 0,
    contacts: Sequence[Any] = (),
    why: str | None = None,
    home_page: str = "completed",
) -> SiteResult:
    site = TownSite(name="bakery.example", shows="Bread.", expected=expected)
    job = SimpleNamespace(
        status="complete" if outcome else "processing",
        result_data={"outcome": outcome} if outcome else None,
    )
    return SiteResult(
        site=site,
        domain=cast(Any, SimpleNamespace(status=home_page)),
        lead=cast(Any, SimpleNamespace(why_empty=why)),
        contacts=contacts,
        job=cast(Any, job),
        urls=urls,
    )


def contact(value: str, method: ExtractionMethod) -> Any:
    return SimpleNamespace(kind="email", value=value, method=method)


def publishing(value: str, method: ExtractionMethod) -> ExpectedResult:
    return ExpectedResult(
        SitemapOutcome.NONE,
        contacts={
            (ContactChannel.EMAIL, value): PublishedContact(ContactChannel.EMAIL, value, method)
        },
    )


def test_a_site_that_ends_otherwise_makes_the_demo_fail_with_a_sentence() -> None:
    console = Console(file=StringIO(), width=200)
    other = result(ExpectedResult(SitemapOutcome.FOUND, urls=37), outcome="none")
    assert report.print_conclusion(console, DemoOutcome([other], found(sites=1)), seconds=1) == 1
    assert isinstance(console.file, StringIO)
    assert console.file.getvalue() == (
        "bakery.example is none with 0 URLs; expected: found with 37 URLs.\n"
    )


def found(*, sites: int, **other: Any) -> SearchFindings:
    """As the town's register has it, but for what is said otherwise."""
    count = sites + len(PLACES_WITHOUT_SITE) + 1
    begun = SearchOutcome(
        "complete", {}, None, places=count, businesses=count, domains=sites, waiting=0
    )
    leads = [
        cast(Any, SimpleNamespace(name=place.name, why_empty=why.value, domain_id=None))
        for place, why in PLACES_WITHOUT_SITE
    ]
    facts = {"spent_usd": Decimal(0), "entries": 3, "billed": 3, "billed_usd": Decimal(0)}
    return SearchFindings(**{"begun": begun, "leads": leads, **facts, **other})


def test_what_the_register_does_not_have_is_a_difference_each_with_its_sentence() -> None:
    few = SearchOutcome("failed", {}, "No key.", places=1, businesses=1, domains=1, waiting=0)
    assert list(list_search_differences(found(sites=46), sites=46)) == []
    assert "found 1 places" in next(list_search_differences(found(sites=46, begun=few), sites=46))
    assert len(list(list_search_differences(found(sites=46, leads=[]), sites=46))) == len(
        PLACES_WITHOUT_SITE
    )
    assert "provider billed 4" in next(list_search_differences(found(sites=46, billed=4), sites=46))


def test_a_job_that_has_not_ended_is_a_difference() -> None:
    late = result(ExpectedResult(SitemapOutcome.FOUND, urls=3), urls=3)
    assert list(list_site_differences(late)) == [
        "bakery.example is processing with 3 URLs; expected: found with 3 URLs."
    ]


def test_a_home_page_that_is_still_being_read_is_a_difference() -> None:
    stuck = result(ExpectedResult(SitemapOutcome.NONE), outcome="none", home_page="processing")
    assert list(list_site_differences(stuck)) == [
        "bakery.example is processing with 0 URLs; expected: none with 0 URLs."
    ]


def test_a_failed_site_without_a_dead_letter_is_a_difference() -> None:
    lost = result(ExpectedResult(SitemapOutcome.FAILED), outcome="none")
    assert len(list(list_site_differences(lost))) == 1


def test_a_contact_that_was_not_found_is_a_difference() -> None:
    missed = result(publishing("a@bakery.example", ExtractionMethod.ROT13), outcome="none")
    assert list(list_site_differences(missed)) == [
        "bakery.example publishes a@bakery.example (rot13), but it was not found."
    ]


def test_a_contact_that_was_found_in_another_way_is_a_difference() -> None:
    found = [contact("a@bakery.example", ExtractionMethod.TEXT)]
    otherwise = result(
        publishing("a@bakery.example", ExtractionMethod.ROT13), outcome="none", contacts=found
    )
    assert list(list_site_differences(otherwise)) == [
        "bakery.example: a@bakery.example was found by text, not rot13."
    ]


def test_a_decoy_that_was_stored_is_a_difference() -> None:
    fooled = result(
        ExpectedResult(SitemapOutcome.NONE),
        outcome="none",
        contacts=[contact("logo@2x.png", ExtractionMethod.TEXT)],
    )
    assert list(list_site_differences(fooled)) == [
        "bakery.example does not publish logo@2x.png, but it was stored (text)."
    ]


def test_another_reason_for_being_empty_is_a_difference() -> None:
    other = result(
        ExpectedResult(SitemapOutcome.NONE, why=EmptyReason.PARKED), outcome="none", why="blocked"
    )
    assert list(list_site_differences(other)) == ["bakery.example is blocked; expected: parked."]
