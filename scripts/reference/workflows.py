"""How rows travel from stage to stage: the graph, the words, and what hands on to what."""

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
"""The group of settings that say what goes on by itself."""


def workflows_page() -> str:
    return page(
        [
            "# Workflows",
            "",
            "A stage takes rows whose status says that they are queued, works them, and stores "
            "what it found, which queues rows for the next. This page is made from the list of "
            "stages; what each one does at which pace is in [stages](reference/stages.md). WF1 to "
            "WF8 are the numbers of the [design documents]"
            "(from-the-design-documents.md#workflows); WF8, contacts, has no stage: people work "
            "there.",
            "",
            "## Who feeds whom",
            "",
            "```mermaid",
            *_graph(),
            "```",
            "",
            "The same in words:",
            "",
            "```text",
            *_graph_in_words(),
            "```",
            "",
            "## Status map",
            "",
            "A row is in exactly one of these states per stage. *Queued* rows are taken when they "
            "are due; *processing* ones belong to a worker with a lease; *failed* ones have a dead "
            "letter and go back to *queued* when it is replayed. The other words are set by "
            "people, or stand before a row was ever queued.",
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
            "Every change of a status that there is, and what makes it.",
            "",
            *table(("Column", "From", "To", "When"), _transitions()),
        ],
        [
            "## Decisions",
            "",
            "Beside what the program does stands what people decided. *Selected* queues the row "
            "for its next stage and clears its error, in the same transaction; the other words "
            "only say what somebody thinks of it. The last decision about many rows can be taken "
            "back.",
            "",
            "Queued, Processing, Complete and Error are set by the engine only. Where a stage "
            "works the rows, they follow its status in the same statement: New or Selected → "
            "Queued → Processing → Complete or Error; a row for which there was nothing to do "
            "is Complete. "
            "Skipped stays, whatever the stage does. No stage works contacts, so the engine sets "
            "no word of theirs.",
            "",
            *table(
                ("Rows", "Column", "People choose", "The engine sets", "Selected queues"),
                _decisions(),
            ),
        ],
        [
            "## Hand-offs",
            "",
            "What a stage stores is queued for the stages it feeds in the same transaction, so "
            "nothing falls between two stages; they are woken after the commit. These settings "
            "say what is handed on by itself:",
            "",
            *table(("Setting", "Default", "Meaning"), _policies()),
            "When so many rows wait for a stage that its `HIGH_WATER` is reached, the stages that "
            "feed it claim no more until some are done.",
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
        fed = ", ".join(each.feeds) or "(nothing further yet)"
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
            yield column, word, words.queued, "asked for: by a request, a decision or a policy"
        yield column, words.queued, words.processing, "claimed by a worker, with a lease"
        yield column, words.processing, words.done, "the work is done and stored"
        if words.skipped is not None:
            yield column, ", ".join(before), words.skipped, "not done by itself: a policy decides"
            yield column, words.processing, words.skipped, "there is nothing to do; it says why"
        yield column, words.processing, words.queued, _BACK
        yield column, words.processing, words.failed, "given up, with a dead letter"
        if words.cancelled is not None:
            yield column, words.queued, words.cancelled, "taken out of the queue by people"
        ended = [words.failed, words.done, words.skipped, words.cancelled]
        yield column, ", ".join(filter(None, ended)), words.queued, _AGAIN


_BACK = "a retry, a rescue after a crash, or handed back by a worker that stops"
_AGAIN = "replayed, requeued, reset or selected by people, or due again"


def _decisions() -> Iterator[tuple[str, ...]]:
    by_name = {each.name: each for each in STAGES}
    for each in CURATIONS:
        column = code(f"{each.model.__tablename__}.{each.column.key}")
        queued = code(each.queues.stage) if each.queues else "nothing: it is the end of the line"
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
