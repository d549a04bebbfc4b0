"""The deployment files match the program: settings, defaults, commands, ports, signals."""

from __future__ import annotations

import shlex
import signal
import subprocess
import sys
from collections.abc import Mapping
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any

import pytest
import typer

from scrapersky import __version__
from scrapersky.cli.server import CONNECTIONS_GRACE_SECONDS
from scrapersky.cli.settings_check import load_checked_settings
from scrapersky.cli.signals import STOP_SIGNALS
from scrapersky.http.auth import is_loopback
from scrapersky.http.proxies import is_in_networks
from scrapersky.pipeline.scheduler import CANCEL_TIMEOUT_SECONDS, STOP_TIMEOUT_SECONDS
from scrapersky.settings import Settings, SettingsSource, is_secret
from scripts.reference.compose import INSTEAD
from scripts.reference.settings import all_settings
from tests import deployment_files as files
from tests.processes import ROOT, api, free_port
from tests.test_docs import commands, targets

DEFAULTS = load_checked_settings(SettingsSource(environ={}, env_file=None))
GIVEN = {"POSTGRES_PASSWORD": "hunter2"}
NOT_OURS = {"PATH", "PYTHONUNBUFFERED"}
STOPPING_SECONDS = (
    DEFAULTS.shutdown_grace_seconds
    + CONNECTIONS_GRACE_SECONDS
    + STOP_TIMEOUT_SECONDS
    + CANCEL_TIMEOUT_SECONDS
)
"""What an orderly stop may take; whoever kills must wait longer."""
SERVICES = ("migrate", "api", "worker")


def parsed(words: list[str]) -> dict[str, Any]:
    """What our own parser makes of a command; it complains about what is not there."""
    command, rest = commands(), list(words)
    path = []
    while below := getattr(command, "commands", None):
        path.append(rest.pop(0))
        command = below[path[-1]]
    with command.make_context(" ".join(path), rest) as context:
        return {"command": " ".join(path), **context.params}


def load(environ: Mapping[str, str]) -> Settings:
    return load_checked_settings(SettingsSource(environ=environ, env_file=None))


# Commands, wherever they stand


def all_commands() -> dict[str, list[str]]:
    image = files.image_command()
    assert image[0] == "scrapersky"
    found = {"image": image[1:]}
    found |= {f"compose {name}": files.compose()["services"][name]["command"] for name in SERVICES}
    for name, unit in files.units().items():
        program, *rest = files.unit_command(unit)
        assert program == "/opt/scrapersky/.venv/bin/scrapersky"
        found[name] = rest
    found |= {f"kubernetes {name}": each["args"] for name, each in files.containers()}
    return found


@pytest.mark.parametrize("where", all_commands())
def test_a_command_is_one_of_ours(where: str) -> None:
    given = parsed(all_commands()[where])

    assert given["command"] in ("serve", "worker", "db upgrade")
    if given["command"] == "serve":
        assert given["port"] == parsed(["serve"])["port"]


def test_a_wrong_command_would_be_noticed() -> None:
    with pytest.raises(typer.TyperException):
        parsed(["serve", "--hots", "0.0.0.0"])
    with pytest.raises(KeyError):
        parsed(["db", "upgrad"])


def test_every_deployment_migrates_serves_and_works() -> None:
    found = [(where, parsed(words)["command"]) for where, words in all_commands().items()]

    for kind in ("compose", "scrapersky-", "kubernetes"):
        said = {command for where, command in found if where.startswith(kind)}
        assert said == {"db upgrade", "serve", "worker"}, kind


# The image


def test_the_image_is_made_by_make_install() -> None:
    runs = [rest for name, rest in files.dockerfile() if name == "RUN"]

    assert "make install" in runs
    assert "install" in targets()


def test_the_image_is_given_what_it_is_made_of() -> None:
    copies = [rest for name, rest in files.dockerfile() if name == "COPY" and "--from" not in rest]
    named = {each for rest in copies for each in rest.split()[:-1]}

    assert named == {"Makefile", "pyproject.toml", "requirements.lock", "README.md", "src"}
    assert all((ROOT / each).exists() and files.is_sent_to_the_engine(each) for each in named)
    assert files.is_sent_to_the_engine("src/scrapersky/settings/model.py")


@pytest.mark.parametrize("name", [".env", ".git", ".venv", "data", "tests", "town.env"])
def test_the_image_is_not_given_anything_else(name: str) -> None:
    assert not files.is_sent_to_the_engine(name)


def test_the_image_does_not_run_as_root() -> None:
    user, _, group = files.last_said("USER").partition(":")

    assert int(user) > 0
    assert int(group) > 0
    assert any(f"--uid {user}" in rest for name, rest in files.final_stage() if name == "RUN")


def test_the_image_sets_settings_that_can_be() -> None:
    environ = files.image_environment()
    settings = load(environ)

    known = {name.upper() for name in Settings.model_fields}
    assert set(environ) - known == NOT_OURS
    host = parsed(files.image_command()[1:])["host"]
    assert is_loopback(host) or settings.auth_mode == "required"
    assert not any(is_secret(name.lower()) for name in environ)


def test_the_image_says_where_it_listens_and_how_it_is_stopped() -> None:
    assert int(files.last_said("EXPOSE")) == parsed(files.image_command()[1:])["port"]
    assert signal.Signals[files.last_said("STOPSIGNAL")] in STOP_SIGNALS


async def test_the_image_is_healthy_while_the_server_answers(url: str, tmp_path: Path) -> None:
    program, *rest = files.health_command()
    assert program == "python"
    port = files.last_said("EXPOSE")
    assert f":{port}/health'" in rest[-1]

    def healthy(at: int) -> bool:
        there = [*rest[:-1], rest[-1].replace(f":{port}/", f":{at}/")]
        return subprocess.run([sys.executable, *there], capture_output=True).returncode == 0

    async with api({"DATABASE_URL": url}, tmp_path / "serve.log") as client:
        assert client.base_url.port is not None
        assert healthy(client.base_url.port)
    assert not healthy(free_port())


# Compose


def compose_environment(service: str) -> dict[str, str]:
    environ: dict[str, str] = files.compose()["services"][service]["environment"]
    return environ


@pytest.mark.parametrize("service", SERVICES)
def test_compose_passes_every_setting_on_with_its_default(service: str) -> None:
    """After a new setting: `make reference`."""
    wanted = {
        each.variable: INSTEAD.get(each.variable, f"${{{each.variable}:-{each.default}}}")
        for each in all_settings()
    }

    assert compose_environment(service) == wanted


def test_compose_starts_with_settings_that_can_be() -> None:
    said = compose_environment("api")
    settings = load({name: files.put_in_place(text, GIVEN) for name, text in said.items()})

    assert settings.auth_mode == "required"
    assert settings.database_url == "postgresql://scrapersky:hunter2@postgres:5432/scrapersky"
    otherwise = {"environ", *(name.lower() for name in INSTEAD)}
    assert settings.model_dump(exclude=otherwise) == DEFAULTS.model_dump(exclude=otherwise)
    assert not settings.scheduler_enabled


def test_compose_takes_settings_from_whoever_starts_it() -> None:
    given = {**GIVEN, "HOST_DELAY_MS": "250", "SITEMAP_SCHEDULER_BATCH_SIZE": "7"}
    said = compose_environment("worker")
    environ = {name: files.put_in_place(text, given) for name, text in said.items()}

    assert load(environ).host_delay_ms == 250
    assert environ["SITEMAP_SCHEDULER_BATCH_SIZE"] == "7"


def test_compose_wants_a_password() -> None:
    with pytest.raises(ValueError, match="POSTGRES_PASSWORD"):
        files.put_in_place(
            files.compose()["services"]["postgres"]["environment"]["POSTGRES_PASSWORD"], {}
        )


def test_compose_starts_things_in_order() -> None:
    services = files.compose()["services"]

    assert services["migrate"]["depends_on"]["postgres"]["condition"] == "service_healthy"
    assert "pg_isready" in services["postgres"]["healthcheck"]["test"]
    for name in ("api", "worker"):
        after = services[name]["depends_on"]["migrate"]["condition"]
        assert after == "service_completed_successfully"
    assert services["worker"]["deploy"]["replicas"] == 2


def test_compose_publishes_the_api_on_this_machine_only() -> None:
    services = files.compose()["services"]
    (published,) = services["api"]["ports"]
    host, _, inside = published.split(":")

    assert is_loopback(host)
    assert int(inside) == parsed(services["api"]["command"])["port"]
    assert [name for name, each in services.items() if "ports" in each] == ["api"]


def test_every_deployment_trusts_the_proxy_in_front_of_its_api() -> None:
    compose = files.put_in_place(compose_environment("api")["TRUSTED_PROXIES"], GIVEN)
    said = shlex.split(files.units()["scrapersky-api.service"]["Service"]["Environment"])
    (config,) = files.of_kind("ConfigMap")

    (network,) = files.compose()["networks"]["default"]["ipam"]["config"]
    assert compose == network["gateway"], "other containers are not trusted"
    assert ip_address(network["gateway"]) in ip_network(network["subnet"])
    assert _trusts(dict(each.split("=", 1) for each in said)["TRUSTED_PROXIES"], "127.0.0.1")
    assert _trusts(config["data"]["TRUSTED_PROXIES"], "10.244.1.7"), "a pod"
    assert config["data"]["COOKIE_SECURE"] == "always"


def _trusts(networks: str, address: str) -> bool:
    trusted = load({"TRUSTED_PROXIES": networks}).proxy_networks
    public = is_in_networks(ip_address("8.8.8.8"), trusted)
    return is_in_networks(ip_address(address), trusted) and not public


def test_compose_keeps_data_where_the_image_does() -> None:
    """From version 18 on the image has its data below this folder, not in `data`."""
    postgres = files.compose()["services"]["postgres"]

    assert postgres["image"] == "postgres:18"
    assert postgres["volumes"] == ["database:/var/lib/postgresql"]
    assert "database" in files.compose()["volumes"]


# systemd


def test_units_are_there_for_api_workers_and_migration() -> None:
    assert set(files.units()) == {
        "scrapersky-api.service",
        "scrapersky-migrate.service",
        "scrapersky-worker@.service",
    }


@pytest.mark.parametrize("name", files.units())
def test_a_unit_is_hardened_and_stops_in_order(name: str) -> None:
    service = files.units()[name]["Service"]

    assert service["User"] not in ("root", "0")
    for option in ("NoNewPrivileges", "ProtectHome", "PrivateDevices", "RestrictSUIDSGID"):
        assert service[option] == "yes"
    assert service["ProtectSystem"] == "strict"
    assert service["CapabilityBoundingSet"] == ""
    assert signal.Signals[service["KillSignal"]] in STOP_SIGNALS
    assert service["KillMode"] == "mixed"
    assert float(service["TimeoutStopSec"]) > STOPPING_SECONDS


@pytest.mark.parametrize("name", files.units())
def test_a_unit_sets_settings_that_can_be(name: str) -> None:
    said = shlex.split(files.units()[name]["Service"]["Environment"])
    settings = load(dict(each.split("=", 1) for each in said))

    assert str(settings.scrapersky_data_dir) == f"/var/lib/{_state_folder(name)}"


def _state_folder(name: str) -> str:
    return files.units()[name]["Service"]["StateDirectory"]


def test_units_listen_on_loopback_for_they_set_no_sign_in() -> None:
    given = parsed(files.unit_command(files.units()["scrapersky-api.service"])[1:])

    assert is_loopback(given["host"])


@pytest.mark.parametrize("name", ["scrapersky-api.service", "scrapersky-worker@.service"])
def test_units_start_after_the_migration(name: str) -> None:
    unit = files.units()[name]

    assert "scrapersky-migrate.service" in unit["Unit"]["Requires"].split()
    assert "scrapersky-migrate.service" in unit["Unit"]["After"].split()
    assert unit["Service"]["RestartPreventExitStatus"] == "2"


# Kubernetes


@pytest.mark.parametrize(("name", "pod"), files.pods())
def test_a_pod_is_not_root_and_stops_in_order(name: str, pod: dict[str, Any]) -> None:
    user, _, group = files.last_said("USER").partition(":")
    security = pod["securityContext"]

    assert security["runAsNonRoot"] is True
    assert (security["runAsUser"], security["runAsGroup"]) == (int(user), int(group))
    assert pod["terminationGracePeriodSeconds"] > STOPPING_SECONDS
    assert pod["enableServiceLinks"] is False
    assert pod["automountServiceAccountToken"] is False


@pytest.mark.parametrize(("name", "container"), files.containers())
def test_a_container_is_confined(name: str, container: dict[str, Any]) -> None:
    security = container["securityContext"]

    assert container["image"] == f"scrapersky:{__version__}"
    assert security["readOnlyRootFilesystem"] is True
    assert security["allowPrivilegeEscalation"] is False
    assert security["capabilities"]["drop"] == ["ALL"]
    assert {"cpu", "memory"} <= set(container["resources"]["requests"])
    assert "memory" in container["resources"]["limits"]
    assert {"name": "scratch", "mountPath": "/tmp"} in container["volumeMounts"]


@pytest.mark.parametrize(("name", "container"), files.containers())
def test_a_container_gets_secrets_by_reference(name: str, container: dict[str, Any]) -> None:
    (database,) = [each for each in container["env"] if each["name"] == "DATABASE_URL"]
    plain = [each for each in container["env"] if "value" in each]

    assert set(database["valueFrom"]) == {"secretKeyRef"}
    assert not any(is_secret(each["name"].lower()) for each in plain)
    assert container["envFrom"] == [{"configMapRef": {"name": "scrapersky-settings"}}]
    assert files.of_kind("Secret") == []


def test_the_config_map_sets_settings_that_can_be() -> None:
    (config,) = files.of_kind("ConfigMap")
    settings = load(config["data"])

    known = {each.variable for each in all_settings()}
    assert set(config["data"]) <= known
    assert not any(is_secret(name.lower()) for name in config["data"])
    assert (settings.auth_mode, settings.scheduler_enabled) == ("required", False)
    assert settings.shutdown_grace_seconds == DEFAULTS.shutdown_grace_seconds
    assert config["metadata"]["name"] == "scrapersky-settings"


async def test_probes_ask_what_anybody_may_ask(url: str, tmp_path: Path) -> None:
    (container,) = [each for name, each in files.containers() if name == "scrapersky-api"]
    probes = {kind: container[f"{kind}Probe"]["httpGet"] for kind in ("liveness", "readiness")}
    environ = {"DATABASE_URL": url, "AUTH_MODE": "required"}

    async with api(environ, tmp_path / "serve.log") as client:
        answers = {kind: await client.get(each["path"]) for kind, each in probes.items()}

    assert {kind: each.status_code for kind, each in answers.items()} == {
        "liveness": 200,
        "readiness": 200,
    }
    assert {each["path"] for each in probes.values()} == {"/health", "/health/ready"}
    assert container["startupProbe"]["httpGet"] == probes["liveness"]


def test_the_service_leads_to_the_api() -> None:
    (service,) = files.of_kind("Service")
    (deployment,) = [
        each for each in files.of_kind("Deployment") if each["metadata"]["name"] == "scrapersky-api"
    ]
    pod = deployment["spec"]["template"]
    (container,) = pod["spec"]["containers"]
    (port,) = container["ports"]

    assert service["spec"]["selector"].items() <= pod["metadata"]["labels"].items()
    assert service["spec"]["ports"][0]["targetPort"] == port["name"]
    assert port["containerPort"] == parsed(container["args"])["port"]


@pytest.mark.parametrize("deployment", files.of_kind("Deployment"))
def test_a_deployment_finds_its_pods(deployment: dict[str, Any]) -> None:
    labels = deployment["spec"]["template"]["metadata"]["labels"]

    assert deployment["spec"]["selector"]["matchLabels"].items() <= labels.items()
    assert deployment["spec"]["replicas"] >= 2


def test_the_version_is_the_same_everywhere() -> None:
    (job,) = files.of_kind("Job")

    assert job["metadata"]["name"].endswith(__version__.replace(".", "-"))
    for name in SERVICES:
        assert files.compose()["services"][name]["image"] == f"scrapersky:{__version__}"


@pytest.mark.parametrize("service", SERVICES)
def test_compose_waits_for_an_orderly_stop(service: str) -> None:
    grace = files.compose()["services"][service]["stop_grace_period"]

    assert float(grace.removesuffix("s")) > STOPPING_SECONDS
