"""Alert rules: what each means, the setting that limits it, and how it is evaluated.

A rule reads the facts and yields at most one finding per subject. It is stateless; `alerts.py`
decides when an alert begins and when it clears. Issues of stages, chores and queues are detected in
`pipeline/health.py`, which also feeds `/health/schedulers`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from scrapersky.pipeline.health import HealthIssue, HealthIssueKind
from scrapersky.pipeline.report import StageReport
from scrapersky.pipeline.tables import EventKind, Worker
from scrapersky.settings import Settings


@dataclass(frozen=True)
class AlertFacts:
    """The facts that rules evaluate: the installation at one moment."""

    settings: Settings
    now: datetime
    reports: Sequence[StageReport]
    troubles: Sequence[tuple[str, HealthIssue]]
    """Issues of stages, chores and queues, each with its subject."""
    failing_chores: int
    unhandled_rows: int
    workers: Sequence[Worker]
    """Live workers."""
    scans_ended: int
    """Sitemap scans that ended in the last hour."""
    scans_that_found: int
    open_circuits: int
    """Hosts whose circuit is open."""


@dataclass(frozen=True)
class AlertFinding:
    rule: str
    subject: str
    """The stage, process or machine concerned; empty if it concerns the whole installation."""
    sentence: str


AlertCheck = Callable[[AlertFacts], Iterator[tuple[str, str]]]
"""Yields the subject and the message of each finding."""


@dataclass(frozen=True)
class AlertRule:
    name: str
    means: str
    limit: str | None
    """The setting that limits it, if any."""
    judge: AlertCheck


def _check_trouble(kind: HealthIssueKind) -> AlertCheck:
    """Build a check that reports the health issues of one kind."""

    def judge(facts: AlertFacts) -> Iterator[tuple[str, str]]:
        for subject, each in facts.troubles:
            if each.kind is kind:
                yield subject, each.sentence

    return judge


def _check_event_count(kind: EventKind, limit: str, sentence: str) -> AlertCheck:
    """Build a check that limits the number of events of one kind per stage and hour."""

    def judge(facts: AlertFacts) -> Iterator[tuple[str, str]]:
        most = getattr(facts.settings, limit)
        for report in facts.reports:
            count = report.last_hour.get(kind, 0)
            if count > most:
                yield report.name, sentence.format(count=count, most=most)

    return judge


def _check_scans(facts: AlertFacts) -> Iterator[tuple[str, str]]:
    enough = facts.settings.alert_scans_without_sitemaps
    if facts.scans_ended >= enough and not facts.scans_that_found:
        yield (
            "",
            f"{facts.scans_ended} scans ended in the last hour and none found a sitemap. "
            "Check whether this machine can reach the web, and the errors of the jobs.",
        )


def _check_listeners(facts: AlertFacts) -> Iterator[tuple[str, str]]:
    limit = facts.settings.alert_listener_down_seconds
    for each in facts.workers:
        since = each.vitals.get("deaf_since")
        seconds = facts.now.timestamp() - since if since else 0
        if each.vitals.get("listener") == "down" and seconds > limit:
            yield (
                f"{each.hostname}:{each.pid}",
                f"It has received no wake-ups for {seconds:.0f} seconds, so rows wait for the next "
                "tick. Check that DATABASE_URL or LISTEN_DATABASE_URL points to a server that "
                "supports LISTEN.",
            )


def _check_disk(facts: AlertFacts) -> Iterator[tuple[str, str]]:
    """Report low disk space once per machine, because its processes share the disk."""
    limit = facts.settings.alert_disk_free_bytes
    reported: set[str] = set()
    for each in facts.workers:
        free = each.vitals.get("disk_free_bytes")
        if free is not None and free < limit and each.hostname not in reported:
            reported.add(each.hostname)
            yield (
                each.hostname,
                f"Only {free / 1024**2:,.0f} MiB are free on the disk of the data folder; the "
                "limit is "
                f"{limit / 1024**2:,.0f} MiB. The database stops when the disk is full.",
            )


def _check_circuits(facts: AlertFacts) -> Iterator[tuple[str, str]]:
    if facts.open_circuits >= facts.settings.alert_open_circuits:
        yield (
            "",
            f"{facts.open_circuits} hosts keep failing and are being backed off. With so many "
            "at the "
            "same time, the cause is often local: network, DNS or a block.",
        )


RULES: tuple[AlertRule, ...] = (
    AlertRule(
        name=HealthIssueKind.NOT_REGISTERED,
        means="A stage could not be registered in some process; the others run.",
        limit=None,
        judge=_check_trouble(HealthIssueKind.NOT_REGISTERED),
    ),
    AlertRule(
        name=HealthIssueKind.RUN_FAILING,
        means="The last run of a stage failed: rows could not be claimed or stored.",
        limit=None,
        judge=_check_trouble(HealthIssueKind.RUN_FAILING),
    ),
    AlertRule(
        name=HealthIssueKind.NO_CONSUMER,
        means="Rows are due and no process runs the stage.",
        limit=None,
        judge=_check_trouble(HealthIssueKind.NO_CONSUMER),
    ),
    AlertRule(
        name=HealthIssueKind.STUCK_ROWS,
        means="Rows are left in processing past their lease or by a dead worker.",
        limit=None,
        judge=_check_trouble(HealthIssueKind.STUCK_ROWS),
    ),
    AlertRule(
        name=HealthIssueKind.NOT_TICKING,
        means="The processes that run the stage are alive, but its scheduler has stopped.",
        limit="alert_ticks_missed",
        judge=_check_trouble(HealthIssueKind.NOT_TICKING),
    ),
    AlertRule(
        name=HealthIssueKind.OLDEST_DUE,
        means="A claimable row has waited for too long.",
        limit="queue_oldest_due_limit_seconds",
        judge=_check_trouble(HealthIssueKind.OLDEST_DUE),
    ),
    AlertRule(
        name=HealthIssueKind.PAUSED_LONG,
        means="The stage has been paused for a long time while rows wait for it.",
        limit="alert_paused_seconds",
        judge=_check_trouble(HealthIssueKind.PAUSED_LONG),
    ),
    AlertRule(
        name=HealthIssueKind.CHORE_FAILING,
        means="The last run of a chore (housekeeping job) failed.",
        limit=None,
        judge=_check_trouble(HealthIssueKind.CHORE_FAILING),
    ),
    AlertRule(
        name=HealthIssueKind.UNHANDLED_ROWS,
        means="Jobs are queued whose job_type no stage handles.",
        limit=None,
        judge=_check_trouble(HealthIssueKind.UNHANDLED_ROWS),
    ),
    AlertRule(
        name=HealthIssueKind.OWN_LIMIT,
        means="A process has run out of file descriptors, database connections, processes or "
        "disk space in the last five minutes.",
        limit=None,
        judge=_check_trouble(HealthIssueKind.OWN_LIMIT),
    ),
    AlertRule(
        name="dead_letters_rising",
        means="Many rows of a stage became dead letters.",
        limit="alert_dead_letters_per_hour",
        judge=_check_event_count(
            EventKind.FAILED,
            "alert_dead_letters_per_hour",
            "{count} rows became dead letters in the last hour; the limit is {most}. "
            "`scrapersky dead-letter list` shows the reasons.",
        ),
    ),
    AlertRule(
        name="rescues_rising",
        means=(
            "Many rows lost their worker: processes crash or are killed, often for their memory "
            "use."
        ),
        limit="alert_rescues_per_hour",
        judge=_check_event_count(
            EventKind.RESCUED,
            "alert_rescues_per_hour",
            "{count} rows lost their worker in the last hour; the limit is {most}. "
            "Check why worker processes end.",
        ),
    ),
    AlertRule(
        name="no_sitemaps_found",
        means="Many scans ended and none found a sitemap.",
        limit="alert_scans_without_sitemaps",
        judge=_check_scans,
    ),
    AlertRule(
        name="listener_down",
        means="A process receives no wake-ups and finds new rows only with the next tick.",
        limit="alert_listener_down_seconds",
        judge=_check_listeners,
    ),
    AlertRule(
        name="disk_low",
        means="The disk of the data folder is nearly full.",
        limit="alert_disk_free_bytes",
        judge=_check_disk,
    ),
    AlertRule(
        name="many_circuits_open",
        means="Many hosts keep failing and are being backed off.",
        limit="alert_open_circuits",
        judge=_check_circuits,
    ),
)


def evaluate_rules(facts: AlertFacts) -> list[AlertFinding]:
    """Evaluate all rules. Returns one finding per rule and subject."""
    findings = {
        (rule.name, subject): AlertFinding(rule.name, subject, sentence)
        for rule in RULES
        for subject, sentence in rule.judge(facts)
    }
    return list(findings.values())
