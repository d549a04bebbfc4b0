"""Every alert: what it means, the setting that is its limit, and how it is judged.

A rule looks at the facts and says what it finds, at most one finding for a subject. It keeps no
memory; when an alert begins and when it is over is `alerts.py`'s business. What can be wrong with
stages, chores and queues is judged in `pipeline/troubles.py`, where `/health/schedulers` has it
from too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from scrapersky.pipeline.report import StageReport
from scrapersky.pipeline.tables import EventKind, Worker
from scrapersky.pipeline.troubles import Trouble, TroubleKind
from scrapersky.settings import Settings


@dataclass(frozen=True)
class Facts:
    """What the rules look at: the installation at one moment."""

    settings: Settings
    now: datetime
    reports: Sequence[StageReport]
    troubles: Sequence[tuple[str, Trouble]]
    """What is wrong with stages, chores and queues, each with its subject."""
    failing_chores: int
    unhandled_rows: int
    workers: Sequence[Worker]
    """Those alive."""
    scans_ended: int
    """In the last hour."""
    scans_that_found: int
    open_circuits: int
    """Hosts that are left alone."""


@dataclass(frozen=True)
class Finding:
    rule: str
    subject: str
    """The stage, process or machine; empty when it is about everything."""
    sentence: str


Judgement = Callable[[Facts], Iterator[tuple[str, str]]]
"""Subject and sentence of each thing that is wrong."""


@dataclass(frozen=True)
class Rule:
    name: str
    means: str
    limit: str | None
    """The setting."""
    judge: Judgement


def _trouble(kind: TroubleKind) -> Judgement:
    """What was judged already."""

    def judge(facts: Facts) -> Iterator[tuple[str, str]]:
        for subject, each in facts.troubles:
            if each.kind is kind:
                yield subject, each.sentence

    return judge


def _too_many(kind: EventKind, limit: str, sentence: str) -> Judgement:
    """Events of a kind in the last hour, stage by stage."""

    def judge(facts: Facts) -> Iterator[tuple[str, str]]:
        most = getattr(facts.settings, limit)
        for report in facts.reports:
            count = report.last_hour.get(kind, 0)
            if count > most:
                yield report.name, sentence.format(count=count, most=most)

    return judge


def _nothing_found(facts: Facts) -> Iterator[tuple[str, str]]:
    enough = facts.settings.alert_scans_without_sitemaps
    if facts.scans_ended >= enough and not facts.scans_that_found:
        yield (
            "",
            f"{facts.scans_ended} scans ended in the last hour and none found a sitemap: "
            "look whether this machine can reach the web, and what the jobs say.",
        )


def _deaf(facts: Facts) -> Iterator[tuple[str, str]]:
    limit = facts.settings.alert_listener_down_seconds
    for each in facts.workers:
        since = each.vitals.get("deaf_since")
        seconds = facts.now.timestamp() - since if since else 0
        if each.vitals.get("listener") == "down" and seconds > limit:
            yield (
                f"{each.hostname}:{each.pid}",
                f"It has heard no wake-ups for {seconds:.0f} seconds, so rows wait for the next "
                "tick; look whether DATABASE_URL or LISTEN_DATABASE_URL leads to a server that "
                "can LISTEN.",
            )


def _disk_low(facts: Facts) -> Iterator[tuple[str, str]]:
    """One for a machine: its processes share the disk."""
    limit = facts.settings.alert_disk_free_bytes
    told: set[str] = set()
    for each in facts.workers:
        free = each.vitals.get("disk_free_bytes")
        if free is not None and free < limit and each.hostname not in told:
            told.add(each.hostname)
            yield (
                each.hostname,
                f"Only {free / 1024**2:,.0f} MiB are free where the data folder lies, less than "
                f"{limit / 1024**2:,.0f}; a database without room stops.",
            )


def _many_circuits(facts: Facts) -> Iterator[tuple[str, str]]:
    if facts.open_circuits >= facts.settings.alert_open_circuits:
        yield (
            "",
            f"{facts.open_circuits} hosts keep failing and are left alone: when so many do at "
            "once, the cause is often on our side (network, DNS, a block).",
        )


RULES: tuple[Rule, ...] = (
    Rule(
        name=TroubleKind.NOT_REGISTERED,
        means="A stage could not be set up in some process; the others run.",
        limit=None,
        judge=_trouble(TroubleKind.NOT_REGISTERED),
    ),
    Rule(
        name=TroubleKind.RUN_FAILING,
        means="The last run of a stage failed: rows could not be claimed or stored.",
        limit=None,
        judge=_trouble(TroubleKind.RUN_FAILING),
    ),
    Rule(
        name=TroubleKind.NO_CONSUMER,
        means="Rows are due and no process works the stage.",
        limit=None,
        judge=_trouble(TroubleKind.NO_CONSUMER),
    ),
    Rule(
        name=TroubleKind.STUCK_ROWS,
        means="Rows are left in processing past their lease or by a dead worker.",
        limit=None,
        judge=_trouble(TroubleKind.STUCK_ROWS),
    ),
    Rule(
        name=TroubleKind.NOT_TICKING,
        means="The processes that work the stage live, but its scheduler has stopped.",
        limit="alert_ticks_missed",
        judge=_trouble(TroubleKind.NOT_TICKING),
    ),
    Rule(
        name=TroubleKind.OLDEST_DUE,
        means="A row is due and could be worked, and nobody has for too long.",
        limit="queue_oldest_due_limit_seconds",
        judge=_trouble(TroubleKind.OLDEST_DUE),
    ),
    Rule(
        name=TroubleKind.PAUSED_LONG,
        means="Somebody paused the stage and rows wait for it: was it forgotten?",
        limit="alert_paused_seconds",
        judge=_trouble(TroubleKind.PAUSED_LONG),
    ),
    Rule(
        name=TroubleKind.CHORE_FAILING,
        means="The last run of a chore (housekeeping job) failed.",
        limit=None,
        judge=_trouble(TroubleKind.CHORE_FAILING),
    ),
    Rule(
        name=TroubleKind.UNHANDLED_ROWS,
        means="Jobs wait whose job_type no stage handles.",
        limit=None,
        judge=_trouble(TroubleKind.UNHANDLED_ROWS),
    ),
    Rule(
        name=TroubleKind.OWN_LIMIT,
        means="A process has run out of file descriptors, database connections, processes or "
        "disk space in the last five minutes.",
        limit=None,
        judge=_trouble(TroubleKind.OWN_LIMIT),
    ),
    Rule(
        name="dead_letters_rising",
        means="Many rows of a stage are given up.",
        limit="alert_dead_letters_per_hour",
        judge=_too_many(
            EventKind.FAILED,
            "alert_dead_letters_per_hour",
            "{count} rows were given up in the last hour, more than {most}; "
            "`scrapersky dead-letter list` tells why.",
        ),
    ),
    Rule(
        name="rescues_rising",
        means="Many rows lose their worker: processes die, or are killed for their memory.",
        limit="alert_rescues_per_hour",
        judge=_too_many(
            EventKind.RESCUED,
            "alert_rescues_per_hour",
            "{count} rows lost their worker in the last hour, more than {most}; "
            "look why processes end.",
        ),
    ),
    Rule(
        name="no_sitemaps_found",
        means="Scans end one after the other and none finds anything.",
        limit="alert_scans_without_sitemaps",
        judge=_nothing_found,
    ),
    Rule(
        name="listener_down",
        means="A process does not hear of new rows and works them only at the next tick.",
        limit="alert_listener_down_seconds",
        judge=_deaf,
    ),
    Rule(
        name="disk_low",
        means="The disk of the data folder is nearly full.",
        limit="alert_disk_free_bytes",
        judge=_disk_low,
    ),
    Rule(
        name="many_circuits_open",
        means="Many hosts at once keep failing and are left alone.",
        limit="alert_open_circuits",
        judge=_many_circuits,
    ),
)


def judge(facts: Facts) -> list[Finding]:
    """Everything that is wrong, one finding for a rule and a subject."""
    found = {
        (rule.name, subject): Finding(rule.name, subject, sentence)
        for rule in RULES
        for subject, sentence in rule.judge(facts)
    }
    return list(found.values())
