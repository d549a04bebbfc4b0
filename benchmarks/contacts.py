"""Our contact finder beside others, on pages whose contacts are known: `make bench-contacts`.

Found and wrong are counted per kind; CPU time is taken in turns in one run, as the machine may be
busy. Parsing the same pages alone shows the limit. Ends with 1 when a promise is not kept.
"""

from __future__ import annotations

import argparse
import gc
import html
import json
import re
import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from statistics import median
from time import process_time
from types import FrameType
from typing import Any

import phonenumbers
from selectolax.lexbor import LexborHTMLParser

from benchmarks.contact_pages import Page, pages
from benchmarks.sitemaps import Promise
from scrapersky.scraper.contacts.finder import find_contacts

KINDS = ("emails", "phones", "profiles")
Found = dict[str, set[str]]
Finder = Callable[[Page], Found]
AT_LEAST = 0.95
SLOWEST_MS = 250
"""What a page may cost before others notice that they wait for it."""


# Who is compared


def ours(page: Page) -> Found:
    found: Found = {kind: set() for kind in KINDS}
    kinds = {"email": "emails", "phone": "phones", "social": "profiles"}
    for contact in find_contacts(page.html, url=page.url, default_region=page.region):
        found[kinds[contact.kind]].add(contact.value)
    return found


EMAIL = re.compile(r"[A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+\.[A-Za-z]{2,}")
PROFILE = re.compile(
    r"https?://(?:www\.)?(?:facebook|instagram|twitter|x|linkedin|youtube|tiktok|pinterest|xing)"
    r"\.com/[^\s\"'<>]+"
)


def plain(page: Page) -> Found:
    """What one writes on an afternoon: patterns, and libphonenumber's own search of the text."""
    tree = LexborHTMLParser(page.html)
    for hidden in tree.css("script, style"):
        hidden.decompose()
    text = tree.body.text(separator=" ") if tree.body else ""
    phones = phonenumbers.PhoneNumberMatcher(text, page.region)
    return {
        "emails": set(EMAIL.findall(html.unescape(page.html))),
        "phones": {
            phonenumbers.format_number(match.number, phonenumbers.PhoneNumberFormat.E164)
            for match in phones
        },
        "profiles": set(PROFILE.findall(page.html)),
    }


class ExtractEmails:
    """The peer's better extractor; of profiles it knows people's on LinkedIn."""

    def __init__(self) -> None:
        extractors = "extract_emails.data_extractors."
        emails: Any = import_module(extractors + "advanced_email_extractor")
        linkedin: Any = import_module(extractors + "linkedin_extractor")
        self.emails, self.linkedin = emails.AdvancedEmailExtractor(), linkedin.LinkedinExtractor()

    def __call__(self, page: Page) -> Found:
        return {
            "emails": set(self.emails.get_data(page.html)),
            "phones": set(),
            "profiles": set(self.linkedin.get_data(page.html)),
        }


def parsing(page: Page) -> object:
    return LexborHTMLParser(page.html)


# What they found


@dataclass(frozen=True)
class Score:
    right: int
    wrong: int
    missed: int

    @property
    def precision(self) -> float:
        return self.right / max(1, self.right + self.wrong)

    @property
    def recall(self) -> float:
        return self.right / max(1, self.right + self.missed)

    @property
    def shown(self) -> str:
        return f"{self.precision:.3f} / {self.recall:.3f}" if self.right + self.wrong else "nothing"


def score(made: Sequence[Page], finder: Finder) -> dict[str, Score]:
    counts = {kind: Counter[str]() for kind in KINDS}
    for page in made:
        found = finder(page)
        for kind in KINDS:
            expected = {_key(value) for value in getattr(page, kind)}
            got = {_key(value) for value in found[kind]} - page.either
            counts[kind]["right"] += len(expected & got)
            counts[kind]["wrong"] += len(got - expected)
            counts[kind]["missed"] += len(expected - got)
    return {kind: Score(n["right"], n["wrong"], n["missed"]) for kind, n in counts.items()}


def _key(value: str) -> str:
    """One spelling for all, so that nobody loses by a query or a slash."""
    address = value.lower().partition("?")[0].rstrip("/").removeprefix("https://")
    return address.removeprefix("www.").replace("twitter.com/", "x.com/")


# What it costs


def in_turns(
    made: Sequence[Page], works: dict[str, Callable[[Page], object]], rounds: int
) -> dict[str, list[float]]:
    """CPU seconds for all pages, once per round, each round beginning with another."""
    cpu: dict[str, list[float]] = {name: [] for name in works}
    order = list(works)
    for _ in range(rounds):
        order.append(order.pop(0))
        for name in order:
            gc.collect()
            started = process_time()
            for page in made:
                works[name](page)
            cpu[name].append(process_time() - started)
    return cpu


PARTS = {
    "page": "walking the page",
    "markup": "walking the page",
    "email": "e-mails",
    "mailto": "e-mails",
    "cloaks": "e-mails, hidden",
    "phone": "phones",
    "profile": "profiles",
    "structured": "structured data",
}
"""By how the name of the innermost of our modules begins; libphonenumber counts to its caller."""
PACKAGE = "/contact_finder/"
TICK_SECONDS = 0.001


def part_of(frame: FrameType | None) -> str:
    while frame is not None:
        _, ours_, module = frame.f_code.co_filename.rpartition(PACKAGE)
        if ours_:
            return next(
                (part for name, part in PARTS.items() if module.startswith(name)), "the rest"
            )
        frame = frame.f_back
    return "outside"


@contextmanager
def sampling() -> Iterator[Counter[str]]:
    """Count at every tick of CPU time which part is at work."""
    ticks: Counter[str] = Counter()
    before = signal.signal(signal.SIGPROF, lambda _, frame: ticks.update([part_of(frame)]))
    signal.setitimer(signal.ITIMER_PROF, TICK_SECONDS, TICK_SECONDS)
    try:
        yield ticks
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def slowest_ms(made: Sequence[Page]) -> float:
    return max(median(in_turns([page], {OURS: ours}, 3)[OURS]) for page in made) * 1000


def where_time_goes(made: Sequence[Page], rounds: int) -> dict[str, float]:
    with sampling() as ticks:
        for _ in range(rounds):
            for page in made:
                ours(page)
    total = sum(ticks.values())
    return {part: count / total for part, count in ticks.most_common()}


# The run


OURS, PLAIN, PEER, LIMIT = "ours", "patterns, libphonenumber", "extract-emails", "parsing alone"


def run(count: int, rounds: int) -> Iterator[Promise]:
    made = pages(count)
    megabytes = sum(len(page.html) for page in made) / 1e6
    print(f"  {count} pages, {megabytes:.1f} MB; {_versions()}\n")
    finders: dict[str, Finder] = {OURS: ours, PLAIN: plain, PEER: ExtractEmails()}
    scores = {name: score(made, finder) for name, finder in finders.items()}
    _print_scores(scores)
    cpu = in_turns(made, {**finders, LIMIT: parsing}, rounds)
    _print_speeds(cpu, count)
    print("\n  where our time goes")
    for part, share in where_time_goes(made, rounds).items():
        print(f"    {part:24}{share:6.0%}")
    print()
    for kind, each in scores[OURS].items():
        lowest = min(each.precision, each.recall)
        says = f"{kind}: precision and recall at least {AT_LEAST}"
        yield Promise(says, f"{lowest:.3f}", lowest >= AT_LEAST)
    yield Promise.at_most("the slowest page", SLOWEST_MS, slowest_ms(made), "ms")


def _versions() -> str:
    names = ("selectolax", "phonenumberslite", "extract-emails")
    return ", ".join(f"{name} {version(name)}" for name in names)


def _print_speeds(cpu: dict[str, list[float]], count: int) -> None:
    print(f"\n  {'':26}{'pages / s and core':>20}{'ms / page':>12}{'rounds':>18}{'ours is':>12}")
    ours_takes = median(cpu[OURS])
    for name, seconds in cpu.items():
        low, middle, high = (
            1000 * each / count for each in (min(seconds), median(seconds), max(seconds))
        )
        ratio = ours_takes / median(seconds)
        rounds = f"{low:.2f} … {high:.2f}"
        print(f"  {name:26}{1000 / middle:20.0f}{middle:12.2f}{rounds:>18}{ratio:10.1f} ×")


def _print_scores(scores: dict[str, dict[str, Score]]) -> None:
    print(f"  {'precision / recall':26}" + "".join(f"{kind:>18}" for kind in KINDS))
    for name, by_kind in scores.items():
        print(f"  {name:26}" + "".join(f"{each.shown:>18}" for each in by_kind.values()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=120)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    promises = list(run(options.pages, options.rounds))
    for each in promises:
        print(f"{'PASS' if each.met else 'FAIL'}  {each.says}: {each.measured}")
    if options.json:
        figures: list[dict[str, Any]] = [vars(each) for each in promises]
        options.json.write_text(json.dumps(figures, indent=1))
    sys.exit(not all(each.met for each in promises))


if __name__ == "__main__":
    main()
