"""Load settings and reject misspelled variables, values out of range and contradictions."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, fields

from scrapersky.errors import SettingsError
from scrapersky.operations import configuration
from scrapersky.operations.configuration import EffectiveSetting
from scrapersky.settings import MAX_SETTING_NUMBER, Pace, Settings, SettingsSource, load_settings
from scrapersky.stages import STAGES


def find_out_of_range(settings: Settings) -> Iterator[str]:
    for name in Settings.model_fields:
        value = getattr(settings, name)
        if isinstance(value, float) and not abs(value) <= MAX_SETTING_NUMBER:
            yield f"{name.upper()} cannot be {value:g}: the most is {MAX_SETTING_NUMBER:,}."


def find_contradictions(settings: Settings) -> Iterator[str]:
    """Values that are fine one by one and cannot work together."""
    if settings.sitemap_rescan_min_hours > settings.sitemap_rescan_max_hours:
        yield (
            f"SITEMAP_RESCAN_MIN_HOURS ({settings.sitemap_rescan_min_hours:g}) is more than "
            f"SITEMAP_RESCAN_MAX_HOURS ({settings.sitemap_rescan_max_hours:g})."
        )
    if settings.worker_dead_after_seconds <= settings.worker_beat_seconds:
        yield (
            f"WORKER_DEAD_AFTER_SECONDS ({settings.worker_dead_after_seconds:g}) must be more than "
            f"WORKER_BEAT_SECONDS ({settings.worker_beat_seconds:g}), best three times as much: "
            "otherwise every worker is taken for dead between two beats."
        )
    if settings.retry_base_seconds > settings.retry_cap_seconds:
        yield (
            f"RETRY_BASE_SECONDS ({settings.retry_base_seconds:g}) is more than "
            f"RETRY_CAP_SECONDS ({settings.retry_cap_seconds:g})."
        )
    if settings.listen_database_url and not settings.database_url:
        yield "LISTEN_DATABASE_URL is set and DATABASE_URL is not: it is for the same database."
    yield from _find_forbidden_pins(settings)


def _find_forbidden_pins(settings: Settings) -> Iterator[str]:
    for name, (text, port) in settings.resolve.items():
        address = ipaddress.ip_address(text)
        if not any(each.allows(address, port) for each in settings.allowed_networks):
            yield (
                f"FETCH_RESOLVE sends {name} to {address}, which is in no network of "
                "FETCH_ALLOW_NETWORKS."
            )


# Find variables that somebody meant for us and that we would pass over in silence.
#
# Others' variables stand in the same environment, so the rule has two halves. A name that begins as
# only ours do is refused unless it is a setting. Any other name is refused only when it is so much
# like one of ours that it can hardly be anything else. In `.env`, a file written for this program,
# the first half goes for every word that settings of ours begin with.

RESERVED_PREFIXES = frozenset({"SCRAPERSKY", "SITEMAP", "FETCH", "ALERT", "RETENTION"})
"""First words that no other program's variables are known to begin with."""
RENAMED_SETTINGS = {"SITEMAP_JOB_TIMEOUT_SECONDS": "SITEMAP_SCHEDULER_TIMEOUT_SECONDS"}
"""What settings of earlier systems are called here."""
MAX_TYPOS = 2
"""Letters wrong, missing, too many or swapped that still count as a slip of the pen."""
SHORT_NAME_LENGTH = 9
"""Shorter names are like each other by chance, so a single slip is all they are allowed."""
WORD_CHANGE_DISTANCE = MAX_TYPOS + 1
"""A name with one word other than it should be is farther off than any slip."""
MIN_WORDS = 3
"""From here on a name that differs in one word is no other name but a wrong one."""

KUBERNETES_PATTERN = re.compile(
    r"_(SERVICE_(HOST|PORT(_\w+)?)|PORT(_\d+_(TCP|UDP|SCTP)(_\w+)?)?)\Z"
)
"""What Kubernetes tells every container about each service, under the service's own name."""
PACE_SUFFIXES = tuple(f"_SCHEDULER_{each.name.upper()}" for each in fields(Pace))


@dataclass(frozen=True)
class KnownVariables:
    """Every setting's variable, and the prefixes of the stages'."""

    known: frozenset[str]
    stage_prefixes: tuple[str, ...]
    foreign: frozenset[str] = frozenset()
    """Names that were declared to be none of ours."""

    def check_variable(self, variable: str, *, in_our_file: bool = False) -> str | None:
        """What is wrong with a variable, in a sentence; None for ours and for other people's."""
        if variable in self.known or variable in self.foreign or not _looks_like_setting(variable):
            return None
        meant = RENAMED_SETTINGS.get(variable) or self.find_nearest(variable)
        if meant is None and not self._has_our_prefix(variable, in_our_file=in_our_file):
            return None
        advice = (
            f"did you mean {meant}" if meant else "see `scrapersky settings` for those there are"
        )
        return (
            f"{variable} is no setting; {advice}, or does it belong to another program and should "
            "be named in SCRAPERSKY_FOREIGN_VARIABLES?"
        )

    def _has_our_prefix(self, variable: str, *, in_our_file: bool) -> bool:
        if KUBERNETES_PATTERN.search(variable):
            return False
        if variable.endswith(PACE_SUFFIXES):
            return True
        if any(variable.startswith(f"{prefix}_") for prefix in self.stage_prefixes):
            return True
        first_words = {each.partition("_")[0] for each in self.known}
        families = first_words if in_our_file else first_words & RESERVED_PREFIXES
        return variable.partition("_")[0] in families

    def find_nearest(self, variable: str) -> str | None:
        """The setting that was most likely meant, if any was."""
        alike = {
            each: distance
            for each in self.known
            if (distance := _measure_distance(variable, each)) is not None
        }
        return min(alike, key=lambda each: (alike[each], each)) if alike else None


def find_first_problem(
    names: KnownVariables, environ: Iterable[str], in_file: Collection[str]
) -> str | None:
    """About the environment first: it wins over the file."""
    for variable in sorted(environ):
        if complaint := names.check_variable(variable):
            return complaint
    for variable in sorted(in_file):
        if complaint := names.check_variable(variable, in_our_file=True):
            return complaint
    return None


def _looks_like_setting(variable: str) -> bool:
    """Ours have capitals and at least two words; `HOST`, `HOSTNAME`, `http_proxy` have not."""
    return re.fullmatch(r"[A-Z][A-Z0-9]*(_[A-Z0-9]+)+", variable) is not None


def _measure_distance(given: str, known: str) -> int | None:
    """How far a name is from a setting's; None when they are not alike."""
    allowed = MAX_TYPOS if len(known) > SHORT_NAME_LENGTH else 1
    slips = count_typos(given, known, most=allowed)
    if slips <= allowed:
        return slips
    return (
        WORD_CHANGE_DISTANCE if _differs_by_one_word(given.split("_"), known.split("_")) else None
    )


def _differs_by_one_word(given: list[str], known: list[str]) -> bool:
    """One word left out, put in or another, but never the first; longer names only. A stage's
    name in one word more or less is another stage."""
    if "SCHEDULER" in given:
        return False
    if len(known) < MIN_WORDS or len(given) < MIN_WORDS - 1 or given[0] != known[0]:
        return False
    if abs(len(given) - len(known)) > 1:
        return False
    start = _count_shared_words(given, known)
    end = _count_shared_words(given[::-1], known[::-1])
    return start + end >= max(len(given), len(known)) - 1


def _count_shared_words(one: list[str], other: list[str]) -> int:
    """How many words both begin with."""
    count = 0
    for ours, theirs in zip(one, other, strict=False):
        if ours != theirs:
            break
        count += 1
    return count


def count_typos(one: str, other: str, *, most: int) -> int:
    """Letters to add, drop, change or swap with their neighbour to make one the other.

    More than `most` are not counted to the end: nearly all names are nothing like ours.
    """
    if abs(len(one) - len(other)) > most:
        return most + 1
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        above, row = row, [i]
        for j, wanted in enumerate(other, 1):
            cost = min(above[j] + 1, row[j - 1] + 1, above[j - 1] + (letter != wanted))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == wanted:
                cost = min(cost, before[j - 2] + 1)
            row.append(cost)
        if min(row) > most and min(above) > most:
            return most + 1
        before = above
    return row[-1]


def load_checked_settings(source: SettingsSource | None = None) -> Settings:
    """As `load_settings`, which looks at each value by itself; here they must also go together, a
    variable that is nearly one of ours is refused, and every stage's pace is read at once."""
    source = source or SettingsSource()
    settings = load_settings(source)
    named = find_first_problem(_build_known_variables(settings), source.environ, source.from_file())
    for complaint in (named, *find_out_of_range(settings), *find_contradictions(settings)):
        if complaint is not None:
            raise SettingsError(complaint)
    for stage in STAGES:
        stage.get_pace(settings)
    if settings.fetch_ca_file is not None and not settings.fetch_ca_file.is_file():
        raise SettingsError(f"FETCH_CA_FILE names {settings.fetch_ca_file}, which is no file.")
    return settings


def _build_known_variables(settings: Settings) -> KnownVariables:
    foreign = (each.strip() for each in settings.scrapersky_foreign_variables.split(","))
    prefixes = tuple(stage.prefix for stage in STAGES)
    return KnownVariables(frozenset(list_variables()), prefixes, frozenset(foreign))


def list_variables() -> Iterator[str]:
    return configuration.list_variables(STAGES)


def list_effective_settings(
    settings: Settings, source: SettingsSource
) -> Iterator[EffectiveSetting]:
    return configuration.list_effective_settings(settings, source, STAGES)
