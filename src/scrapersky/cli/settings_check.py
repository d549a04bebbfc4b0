"""Load settings and reject misspelled variables, values out of range and contradictions.

The environment also contains variables of other programs, so a variable is judged by two rules. One
with a reserved prefix must be a setting. Any other is rejected only if it is so close to a setting
that it can hardly be anything else. In `.env`, which is written for this program, the first rule
applies to the first word of every setting.
"""

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
            yield f"{name.upper()} cannot be {value:g}. The maximum is {MAX_SETTING_NUMBER:,}."


def find_contradictions(settings: Settings) -> Iterator[str]:
    """Yield an error for each pair of values that are valid separately but not together."""
    if settings.sitemap_rescan_min_hours > settings.sitemap_rescan_max_hours:
        yield (
            f"SITEMAP_RESCAN_MIN_HOURS ({settings.sitemap_rescan_min_hours:g}) must not exceed "
            f"SITEMAP_RESCAN_MAX_HOURS ({settings.sitemap_rescan_max_hours:g})."
        )
    if settings.worker_dead_after_seconds <= settings.worker_beat_seconds:
        yield (
            f"WORKER_DEAD_AFTER_SECONDS ({settings.worker_dead_after_seconds:g}) must be more than "
            f"WORKER_BEAT_SECONDS ({settings.worker_beat_seconds:g}), ideally three times as much. "
            "Otherwise every worker counts as dead between two heartbeats."
        )
    if settings.retry_base_seconds > settings.retry_cap_seconds:
        yield (
            f"RETRY_BASE_SECONDS ({settings.retry_base_seconds:g}) must not exceed "
            f"RETRY_CAP_SECONDS ({settings.retry_cap_seconds:g})."
        )
    if settings.listen_database_url and not settings.database_url:
        yield "LISTEN_DATABASE_URL is set without DATABASE_URL. Set both, for the same database."
    yield from _find_forbidden_pins(settings)


def _find_forbidden_pins(settings: Settings) -> Iterator[str]:
    for name, (text, port) in settings.resolve.items():
        address = ipaddress.ip_address(text)
        if not any(each.allows(address, port) for each in settings.allowed_networks):
            yield (
                f"FETCH_RESOLVE maps {name} to {address}, which is not in any network of "
                "FETCH_ALLOW_NETWORKS."
            )


RESERVED_PREFIXES = frozenset({"SCRAPERSKY", "SITEMAP", "FETCH", "ALERT", "RETENTION"})
"""First words that no other common program uses for its variables."""
RENAMED_SETTINGS = {"SITEMAP_JOB_TIMEOUT_SECONDS": "SITEMAP_SCHEDULER_TIMEOUT_SECONDS"}
"""Names in earlier systems → names here."""
MAX_TYPOS = 2
"""Maximum edit distance that counts as a typo."""
SHORT_NAME_LENGTH = 9
"""Names up to this length resemble each other by chance, so they are allowed a single typo."""
WORD_CHANGE_DISTANCE = MAX_TYPOS + 1
"""A name with one different word is a worse match than any typo."""
MIN_WORDS = 3
"""A name of at least this many words that differs in one word is a mistake rather than another
name.
"""

KUBERNETES_PATTERN = re.compile(
    r"_(SERVICE_(HOST|PORT(_\w+)?)|PORT(_\d+_(TCP|UDP|SCTP)(_\w+)?)?)\Z"
)
"""Variables that Kubernetes injects into every container for each service."""
PACE_SUFFIXES = tuple(f"_SCHEDULER_{each.name.upper()}" for each in fields(Pace))


@dataclass(frozen=True)
class KnownVariables:
    """The variables of all settings, and the prefixes of the stages' settings."""

    known: frozenset[str]
    stage_prefixes: tuple[str, ...]
    foreign: frozenset[str] = frozenset()
    """Variables declared as belonging to other programs."""

    def check_variable(self, variable: str, *, in_our_file: bool = False) -> str | None:
        """Return an error message for a misspelled variable; None for settings and foreign
        variables.
        """
        if variable in self.known or variable in self.foreign or not _looks_like_setting(variable):
            return None
        meant = RENAMED_SETTINGS.get(variable) or self.find_nearest(variable)
        if meant is None and not self._has_our_prefix(variable, in_our_file=in_our_file):
            return None
        advice = f"Did you mean {meant}?" if meant else "`scrapersky settings` lists all settings."
        return (
            f"{variable} is not a setting. {advice} If it belongs to another program, "
            "add it to SCRAPERSKY_FOREIGN_VARIABLES."
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
        """Return the closest setting, or None."""
        alike = {
            each: distance
            for each in self.known
            if (distance := _measure_distance(variable, each)) is not None
        }
        return min(alike, key=lambda each: (alike[each], each)) if alike else None


def find_first_problem(
    names: KnownVariables, environ: Iterable[str], in_file: Collection[str]
) -> str | None:
    """Return the first error; the environment comes first because it overrides the file."""
    for variable in sorted(environ):
        if error := names.check_variable(variable):
            return error
    for variable in sorted(in_file):
        if error := names.check_variable(variable, in_our_file=True):
            return error
    return None


def _looks_like_setting(variable: str) -> bool:
    """Return whether the name is in capitals with two words or more, unlike `HOST`."""
    return re.fullmatch(r"[A-Z][A-Z0-9]*(_[A-Z0-9]+)+", variable) is not None


def _measure_distance(name: str, known: str) -> int | None:
    """Return the distance between two names; None if they are not similar."""
    allowed = MAX_TYPOS if len(known) > SHORT_NAME_LENGTH else 1
    slips = count_typos(name, known, most=allowed)
    if slips <= allowed:
        return slips
    return WORD_CHANGE_DISTANCE if _differs_by_one_word(name.split("_"), known.split("_")) else None


def _differs_by_one_word(words: list[str], known: list[str]) -> bool:
    """Return whether one word is missing, added or different, except the first; long names only.

    Stage settings are excluded: a stage's name with one word more or less is another stage.
    """
    if "SCHEDULER" in words:
        return False
    if len(known) < MIN_WORDS or len(words) < MIN_WORDS - 1 or words[0] != known[0]:
        return False
    if abs(len(words) - len(known)) > 1:
        return False
    start = _count_shared_words(words, known)
    end = _count_shared_words(words[::-1], known[::-1])
    return start + end >= max(len(words), len(known)) - 1


def _count_shared_words(one: list[str], other: list[str]) -> int:
    """Return the length of the common prefix, in words."""
    count = 0
    for ours, theirs in zip(one, other, strict=False):
        if ours != theirs:
            break
        count += 1
    return count


def count_typos(one: str, other: str, *, most: int) -> int:
    """Return the edit distance (insert, delete, substitute, transpose), or `most + 1` if larger.

    Stopping early matters because nearly all variables are nothing like a setting.
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
    """Load settings with all checks.

    `load_settings` validates each value separately. This also rejects contradictions and misspelled
    variables, and validates the pace of every stage at startup.
    """
    source = source or SettingsSource()
    settings = load_settings(source)
    named = find_first_problem(_build_known_variables(settings), source.environ, source.from_file())
    for error in (named, *find_out_of_range(settings), *find_contradictions(settings)):
        if error is not None:
            raise SettingsError(error)
    for stage in STAGES:
        stage.get_pace(settings)
    if settings.fetch_ca_file is not None and not settings.fetch_ca_file.is_file():
        raise SettingsError(
            f"FETCH_CA_FILE points to {settings.fetch_ca_file}, which is not a file."
        )
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
