"""Settings: validation, ignored variables, and `scrapersky settings`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from scrapersky.cli.settings_check import (
    count_typos,
    list_effective_settings,
    list_variables,
    load_checked_settings,
)
from scrapersky.errors import SettingsError
from scrapersky.settings import SettingOrigin, Settings, SettingsSource, is_secret, load_settings
from scrapersky.stages import STAGES
from tests.cli.conftest import Invoke, bare_invoke

__all__ = ["bare_invoke"]

FOREIGN = {
    "a shell": "HOME PATH SHELL TERM LANG LC_ALL PWD OLDPWD USER LOGNAME HOSTNAME HOST EDITOR "
    "LS_COLORS SSH_AUTH_SOCK XDG_RUNTIME_DIR XDG_DATA_HOME DISPLAY http_proxy HTTPS_PROXY NO_PROXY",
    "python": "VIRTUAL_ENV PYTHONPATH PYTHONUNBUFFERED PIP_FIND_LINKS PYENV_ROOT PYTEST_VERSION",
    "systemd": "INVOCATION_ID JOURNAL_STREAM LISTEN_FDS LISTEN_PID LISTEN_FDNAMES NOTIFY_SOCKET "
    "RUNTIME_DIRECTORY STATE_DIRECTORY LOGS_DIRECTORY WATCHDOG_USEC MAINPID",
    "Kubernetes": "KUBERNETES_SERVICE_HOST KUBERNETES_PORT SCRAPERSKY_API_SERVICE_HOST "
    "SCRAPERSKY_API_SERVICE_PORT SCRAPERSKY_API_SERVICE_PORT_HTTP SCRAPERSKY_API_PORT "
    "SCRAPERSKY_API_PORT_8000_TCP SCRAPERSKY_API_PORT_8000_TCP_ADDR SITEMAP_PORT_80_UDP_PROTO",
    "hosting": "PORT DYNO WEB_CONCURRENCY DATABASE_URL_UNPOOLED DATABASE_URL_NON_POOLING "
    "DATABASE_HOST DATABASE_PASSWORD DB_HOST POSTGRES_PASSWORD POSTGRES_USER PGHOST REDIS_URL",
    "continuous integration": "CI GITHUB_TOKEN GITHUB_SHA GITLAB_CI CI_JOB_TOKEN RUNNER_OS",
    "other programs": "SITEMAP HOST_IP HOST_UID HOSTTYPE AUTH_TOKEN AUTH_SECRET AUTH_URL "
    "JWT_ALGORITHM LOGLEVEL LOG_DIR LOG_FILE WORKER_CLASS QUEUE_URL DASK_SCHEDULER_ADDRESS "
    "SPARK_SCHEDULER_MODE AIRFLOW__SCHEDULER__CATCHUP SMTP_HOST SENTRY_DSN RETRY_COUNT AUTO_RELOAD",
}
MISSPELT = {
    "DATABSE_URL": "DATABASE_URL",
    "DATABASE_URI": "DATABASE_URL",
    "FECTH_TIMEOUT_SECONDS": "FETCH_TIMEOUT_SECONDS",
    "FETCH_TIMEOUT": "FETCH_TIMEOUT_SECONDS",
    "HOST_DELAY_SECONDS": "HOST_DELAY_MS",
    "AUTH_MOD": "AUTH_MODE",
    "LOG_LEVLE": "LOG_LEVEL",
    "SCHEDULER_ENABLE": "SCHEDULER_ENABLED",
    "SITEMAP_SCHEDULER_BATCHSIZE": "SITEMAP_SCHEDULER_BATCH_SIZE",
    "SITEMAP_SHEDULER_BATCH_SIZE": "SITEMAP_SCHEDULER_BATCH_SIZE",
    "SITEMAP_JOB_TIMEOUT_SECONDS": "SITEMAP_SCHEDULER_TIMEOUT_SECONDS",
    "AUTO_IMPORT_SITEMAP": "AUTO_IMPORT_SITEMAPS",
}
CONTRADICTIONS = {
    "SITEMAP_RESCAN_MAX_HOURS": {
        "SITEMAP_RESCAN_MIN_HOURS": "100",
        "SITEMAP_RESCAN_MAX_HOURS": "99",
    },
    "WORKER_DEAD_AFTER_SECONDS": {"WORKER_BEAT_SECONDS": "15"},
    "RETRY_CAP_SECONDS": {"RETRY_CAP_SECONDS": "1"},
    "DATABASE_URL": {"LISTEN_DATABASE_URL": "postgresql://somebody@db/x"},
    "FETCH_ALLOW_NETWORKS": {"FETCH_RESOLVE": "a.example=127.0.0.1:80"},
}


def load(environ: Mapping[str, str], file: Path | None = None) -> Settings:
    return load_checked_settings(SettingsSource(environ=environ, env_file=file))


def refusal(environ: Mapping[str, str], file: Path | None = None) -> str:
    with pytest.raises(SettingsError) as caught:
        load(environ, file)
    return str(caught.value)


# Names


@pytest.mark.parametrize("program", FOREIGN)
def test_variables_of_others_are_left_alone(program: str) -> None:
    assert load(dict.fromkeys(FOREIGN[program].split(), "x")).auth_mode == "open"


@pytest.mark.parametrize(("written", "meant"), MISSPELT.items())
def test_a_misspelt_setting_is_refused_with_the_one_meant(written: str, meant: str) -> None:
    said = refusal({written: "7"})

    assert said.startswith(f"{written} is not a setting. Did you mean {meant}?")
    assert said.count("\n") == 0


@pytest.mark.parametrize(
    "variable",
    [
        "SCRAPERSKY_COLOUR",
        "SITEMAP_COLOUR",
        "FETCH_COLOUR",
        "NOTHING_SCHEDULER_BATCH_SIZE",
        "SITEMAP_IMPORT_SCHEDULER_COLOUR",
    ],
)
def test_a_name_that_begins_as_only_ours_do_is_refused(variable: str) -> None:
    assert refusal({variable: "7"}).startswith(
        f"{variable} is not a setting. `scrapersky settings` lists"
    )


def test_every_setting_is_known_under_its_own_name() -> None:
    """Whatever is added to the settings or the stages must not be taken for a slip."""
    loaded = load(dict.fromkeys(list_variables(), ""))
    assert loaded.model_dump(exclude={"environ"}) == load({}).model_dump(exclude={"environ"})


def test_a_name_with_a_letter_missing_is_noticed_for_every_setting() -> None:
    unnoticed = []
    for variable in list_variables():
        try:
            load({variable[:-1]: "7"})
        except SettingsError:
            continue
        unnoticed.append(variable)

    assert unnoticed == []


def test_what_is_declared_foreign_is_left_alone() -> None:
    declared = {"SCRAPERSKY_FOREIGN_VARIABLES": "SITEMAP_COLOUR, DATABASE_URI"}

    loaded = load({**declared, "SITEMAP_COLOUR": "blue", "DATABASE_URI": "x"})
    assert loaded.environ["SITEMAP_COLOUR"] == "blue"


def test_the_file_is_read_more_strictly_for_it_is_written_for_us(tmp_path: Path) -> None:
    file = tmp_path / ".env"
    file.write_text("HOST_IP=10.0.0.1\n")

    load({"HOST_IP": "10.0.0.1"})
    assert refusal({}, file).startswith("HOST_IP is not a setting")

    file.write_text("COMPOSE_PROJECT_NAME=x\nPOSTGRES_PASSWORD=x\n")
    load({}, file)


def test_slips_are_counted() -> None:
    pairs = {
        ("abc", "abc"): 0,
        ("abc", "acb"): 1,
        ("abc", "ab"): 1,
        ("abc", "xyz"): 3,
        ("", "a"): 1,
    }

    assert {pair: count_typos(*pair, most=3) for pair in pairs} == pairs
    assert count_typos("abcdef", "uvwxyz", most=2) > 2


# Values


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("DATABASE_POOL_SIZE", "many"),
        ("DATABASE_POOL_SIZE", "1"),
        ("AUTH_MODE", "closed"),
        ("SCHEDULER_SYSTEM_USER_ID", "me"),
        ("FETCH_ALLOW_NETWORKS", "10.0.0.0/99"),
        ("FETCH_ALLOW_PORTS", "0"),
        ("RETRY_BASE_SECONDS", "nan"),
        ("LEASE_GRACE_SECONDS", "inf"),
        ("SITEMAP_RESCAN_INTERVAL_HOURS", "1e300"),
        ("FETCH_CA_FILE", "/nowhere/ca.pem"),
        ("ALERT_WEBHOOK_SECRET", "whsec_?"),
        ("ALERT_WEBHOOK_SECRET", "whsec_abcde"),
        *((f"{stage.prefix}_CONCURRENCY", "0") for stage in STAGES),
        ("SITEMAP_SCHEDULER_TIMEOUT_SECONDS", "nan"),
        ("SITEMAP_SCHEDULER_BATCH_SIZE", "2.5"),
    ],
)
def test_an_impossible_value_is_refused_with_the_variable(variable: str, value: str) -> None:
    said = refusal({variable: value})

    assert said.startswith(variable), said
    assert said.count("\n") == 0


@pytest.mark.parametrize("named", CONTRADICTIONS)
def test_values_that_cannot_work_together_are_refused(named: str) -> None:
    said = refusal(CONTRADICTIONS[named])

    assert named in said
    assert next(iter(CONTRADICTIONS[named])) in said


@pytest.mark.parametrize("name", [n for n in Settings.model_fields if is_secret(n)])
def test_no_complaint_shows_a_secret(name: str) -> None:
    with pytest.raises(SettingsError) as caught:
        load_settings(SettingsSource(environ={}, env_file=None), **{name: ["hunter2"]})

    assert "hunter2" not in str(caught.value)


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    file = tmp_path / ".env"
    file.write_bytes(b"LOG_LEVEL=\xff\xfe\n")

    assert str(file) in refusal({}, file)


# Where a value comes from


def test_every_value_says_where_it_comes_from(tmp_path: Path) -> None:
    file = tmp_path / ".env"
    file.write_text("HOST_DELAY_MS=200\nLOG_LEVEL=debug\nHOST_CONCURRENCY=3\n")
    environ = {"LOG_LEVEL": "error", "HOST_CONCURRENCY": "", "SITEMAP_SCHEDULER_BATCH_SIZE": "4"}
    source = SettingsSource(environ=environ, env_file=file)

    found = {
        each.variable: each
        for each in list_effective_settings(load_checked_settings(source), source)
    }

    assert list(found) == list(list_variables())
    told = {name: (each.value, each.origin) for name, each in found.items()}
    assert told["HOST_DELAY_MS"] == ("200", SettingOrigin.FILE)
    assert told["LOG_LEVEL"] == ("error", SettingOrigin.ENVIRONMENT)
    assert told["HOST_CONCURRENCY"] == ("4", SettingOrigin.DEFAULT)
    assert told["SITEMAP_SCHEDULER_BATCH_SIZE"] == ("4", SettingOrigin.ENVIRONMENT)
    assert told["SITEMAP_SCHEDULER_MAX_ATTEMPTS"] == ("5", SettingOrigin.DEFAULT)
    assert (found["HOST_DELAY_MS"].file, found["LOG_LEVEL"].file) == (file, None)


def test_what_was_written_is_what_is_shown() -> None:
    """Shown values can be put into the environment again and mean the same."""
    source = SettingsSource(environ={}, env_file=None)
    settings = load_checked_settings(source)
    shown = {each.variable: each.value for each in list_effective_settings(settings, source)}

    again = load({name: value for name, value in shown.items() if value})

    assert again.model_dump() == settings.model_dump()


def test_the_command_shows_values_and_hides_secrets(bare_invoke: Invoke) -> None:
    secret = "hunter2-hunter2-hunter2-hunter2-hunter2"
    url = f"postgresql://me:{secret}@db.example/sky"
    Path(".env").write_text("HOST_DELAY_MS=250\n")

    shown = bare_invoke("settings", DATABASE_URL=url, LOG_LEVEL="warning")
    changed = bare_invoke("settings", "--changed", "--json", DATABASE_URL=url)

    assert shown.code == changed.code == 0, (shown, changed)
    assert secret not in shown.out + shown.err + changed.out + changed.err
    lines = {line.split()[0]: line.split()[1:] for line in shown.out.splitlines()}
    assert lines["DATABASE_URL"] == ["set", "(hidden)", "environment"]
    assert lines["LISTEN_DATABASE_URL"] == ["not", "set", "default"]
    assert lines["LOG_LEVEL"] == ["warning", "environment"]
    assert lines["HOST_DELAY_MS"] == ["250", str(Path(".env").resolve())]
    assert lines["SITEMAP_SCHEDULER_TIMEOUT_SECONDS"] == ["900", "default"]
    known = {each["variable"]: each for each in json.loads(changed.out)}
    assert set(known) == {"DATABASE_URL", "HOST_DELAY_MS"}
    assert (known["DATABASE_URL"]["value"], known["DATABASE_URL"]["is_set"]) == (None, True)
    assert known["HOST_DELAY_MS"]["origin"] == "file"


@pytest.mark.parametrize("command", [["serve", "--port", "0"], ["worker"], ["stage", "list"]])
def test_a_start_with_a_misspelt_setting_is_refused(
    bare_invoke: Invoke, command: list[str]
) -> None:
    said = bare_invoke(*command, HOST_CONCURENCY="2")

    assert said.code == 2
    assert said.err.startswith(
        "Error: HOST_CONCURENCY is not a setting. Did you mean HOST_CONCURRENCY"
    )


def test_the_doctor_names_a_misspelt_setting(bare_invoke: Invoke) -> None:
    said = bare_invoke("doctor", HOST_CONCURENCY="2")

    assert said.code == 1
    assert "Did you mean HOST_CONCURRENCY" in said.out
