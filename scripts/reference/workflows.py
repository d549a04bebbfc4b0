"""Generate the page about workflows: the stage graph, status words, transitions and hand-offs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby

from sqlalchemy import CheckConstraint, Table

from scrapersky.kinds import CURATIONS
from scrapersky.pipeline.stage import AnyStage
from scrapersky.stages import STAGES
from scripts.reference.markdown import code, page, table
from scripts.reference.settings import settings_by_group

HAND_OFFS = "Hand-offs"
"""The group of settings for automatic hand-offs."""


def workflows_page() -> str:
    return page(
        [
            "# Workflows",
            "",
            "A stage claims queued rows, processes them and stores the results, which queues rows "
            "for the next stage. This page is generated from the list of stages; "
            "[stages](reference/stages.md) describes each one and its pace. WF1 to WF8 are the "
            "numbers of the [design documents](from-the-design-documents.md#workflows); WF8, "
            "contacts, has no stage, because people curate contacts.",
            "",
            "## Stage graph",
            "",
            "```mermaid",
            *_graph(),
            "```",
            "",
            "The same as text:",
            "",
            "```text",
            *_graph_in_words(),
            "```",
            "",
            "## Status map",
            "",
            "A row is in exactly one of these states per stage. *Queued* rows are claimed "
            "when they "
            "are due; *processing* rows are leased by a worker; *failed* rows have a dead letter "
            "and return to *queued* when it is replayed. The other words are set by people, or are "
            "the initial status.",
            "",
            *table(
                ("Workflow", "Stage", "Column", "Queued", "Processing", "Done", "Failed", "Other"),
                _map(),
            ),
        ],
        _shared_rows(),
        [
            "## Transitions",
            "",
            "All status changes and their causes.",
            "",
            *table(("Column", "From", "To", "When"), _transitions()),
        ],
        [
            "## Decisions",
            "",
            "Curation columns hold people's decisions. *Selected* queues the row for its "
            "next stage "
            "and clears its error, in the same transaction; the other words have no further "
            "effect. The last bulk decision can be undone.",
            "",
            "Queued, Processing, Complete and Error are set only by the engine. Where a stage "
            "processes the rows, they follow its status in the same statement: New or Selected → "
            "Queued → Processing → Complete or Error; a row for which there was nothing to do "
            "is Complete. "
            "Skipped is never overwritten. No stage processes contacts, so the engine sets none of "
            "their words.",
            "",
            *table(
                ("Rows", "Column", "People choose", "The engine sets", "Selected queues"),
                _decisions(),
            ),
        ],
        [
            "## Hand-offs",
            "",
            "A stage queues rows for the stages it feeds in the transaction that stores its "
            "results, so no row is lost between two stages; they are woken after the commit. These "
            "settings control which hand-offs are automatic:",
            "",
            *table(("Setting", "Default", "Meaning"), _policies()),
            "When the waiting rows of a stage reach its `HIGH_WATER`, the stages that feed it stop "
            "claiming until some are done.",
            "",
        ],
    )


def _graph() -> Iterator[str]:
    yield "flowchart TD"
    for each in STAGES:
        number = f"{each.workflow}<br/>" if each.workflow else ""
        yield f'    {each.name}["{number}{each.name}<br/>{_column(each)}"]'
    for stage in STAGES:
        yield from (f"    {stage.name} --> {fed}" for fed in stage.feeds)


def _graph_in_words() -> Iterator[str]:
    width = max(len(each.name) for each in STAGES)
    for each in STAGES:
        fed = ", ".join(each.feeds) or "(none)"
        yield f"{each.workflow or '':7} {each.name:{width}} -> {fed}"


def _column(stage: AnyStage) -> str:
    return f"{stage.model.__tablename__}.{stage.status}"


def _map() -> Iterator[tuple[str, ...]]:
    for each in STAGES:
        only = ", ".join(f"{name} = {value}" for name, value in each.only.items())
        column = code(_column(each)) + (f" where {only}" if only else "")
        yield (
            each.workflow or "",
            code(each.name),
            column,
            *_own_words(each),
            ", ".join(_other_words(each)),
        )


def _own_words(stage: AnyStage) -> tuple[str, ...]:
    return (stage.words.queued, stage.words.processing, stage.words.done, stage.words.failed)


def _other_words(stage: AnyStage) -> list[str]:
    """What the CHECK constraint allows beyond the stage's own four."""
    rows = stage.model.__table__
    assert isinstance(rows, Table)
    own = _own_words(stage)
    for each in rows.constraints:
        if isinstance(each, CheckConstraint) and each.name == f"ck_{rows.name}_{stage.status}":
            return [word for word in re.findall(r"'([^']+)'", str(each.sqltext)) if word not in own]
    raise AssertionError(f"{_column(stage)} has no CHECK constraint")


def _transitions() -> Iterator[tuple[str, str, str, str]]:
    for stage in STAGES:
        column, words = code(_column(stage)), stage.words
        before = [word for word in _other_words(stage) if word not in words.all]
        for word in before:
            yield column, word, words.queued, "requested by a client, a decision or a policy"
        yield column, words.queued, words.processing, "claimed by a worker, with a lease"
        yield column, words.processing, words.done, "the work is done and stored"
        if words.skipped is not None:
            yield (
                column,
                ", ".join(before),
                words.skipped,
                ("not processed automatically, by a policy"),
            )
            yield (
                column,
                words.processing,
                words.skipped,
                ("there is nothing to do; the error column has the reason"),
            )
        yield column, words.processing, words.queued, _BACK
        yield column, words.processing, words.failed, "failed permanently, with a dead letter"
        if words.cancelled is not None:
            yield column, words.queued, words.cancelled, "cancelled by people"
        ended = [words.failed, words.done, words.skipped, words.cancelled]
        yield column, ", ".join(filter(None, ended)), words.queued, _AGAIN


_BACK = "a retry, a rescue after a crash, or requeued by a worker that stops"
_AGAIN = "replayed, requeued, reset or selected by people, or due again"


def _decisions() -> Iterator[tuple[str, ...]]:
    by_name = {each.name: each for each in STAGES}
    for each in CURATIONS:
        column = code(f"{each.model.__tablename__}.{each.column.key}")
        queued = code(each.queues.stage) if each.queues else "nothing, it is the last step"
        stage = by_name[each.queues.stage] if each.queues else None
        follows = stage is not None and stage.curation == each.column.key
        engine = ", ".join(word for word in each.words if word not in each.decisions)
        yield each.rows, column, ", ".join(each.decisions), engine if follows else "nothing", queued


def _shared_rows() -> Iterator[str]:
    """Where several stages share a table, a row stands in several queues at once."""
    by_table = sorted(STAGES, key=lambda each: each.model.__tablename__)
    for name, found in groupby(by_table, key=lambda each: each.model.__tablename__):
        stages = list(found)
        if len(stages) > 1:
            named = " and ".join(code(each.name) for each in stages)
            yield f"{named} share {code(name)}; each has its own status and queue columns."
            yield ""


def _policies() -> Iterator[tuple[str, str, str]]:
    for each in settings_by_group().get(HAND_OFFS, []):
        yield code(each.variable), each.shown_default, each.meaning
