"""Parse the deployment files without Docker, systemd or Kubernetes."""

from __future__ import annotations

import configparser
import json
import re
import shlex
from collections.abc import Mapping
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parent.parent
IN_PLACE = re.compile(r"\$\{(?P<name>\w+)(?:(?P<how>:[-?])(?P<rest>[^}]*))?\}")

Instruction = tuple[str, str]


@cache
def dockerfile() -> list[Instruction]:
    """Instructions in order, continued lines joined, comments left out."""
    text = (ROOT / "Dockerfile").read_text()
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    joined = "\n".join(lines).replace("\\\n", " ")
    parts = (line.split(None, 1) for line in joined.splitlines() if line.strip())
    return [(name, rest.strip()) for name, rest in parts]


def final_stage() -> list[Instruction]:
    last = max(place for place, (name, _) in enumerate(dockerfile()) if name == "FROM")
    return dockerfile()[last:]


def last_said(name: str) -> str:
    return [rest for each, rest in final_stage() if each == name][-1]


def image_environment() -> dict[str, str]:
    said = [rest.partition("=") for name, rest in final_stage() if name == "ENV"]
    return {name: value for name, _, value in said}


def image_command() -> list[str]:
    return [*json.loads(last_said("ENTRYPOINT")), *json.loads(last_said("CMD"))]


def health_command() -> list[str]:
    text = last_said("HEALTHCHECK")
    command: list[str] = json.loads(text[text.index("[") :])
    return command


def is_sent_to_the_engine(name: str) -> bool:
    """By `.dockerignore`: the last pattern that fits decides."""
    sent = True
    for line in (ROOT / ".dockerignore").read_text().splitlines():
        pattern = line.strip()
        if pattern and not pattern.startswith("#"):
            keep, pattern = pattern.startswith("!"), pattern.removeprefix("!")
            if fnmatch(name, pattern) or fnmatch(name.split("/")[0], pattern):
                sent = keep
    return sent


@cache
def compose() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    return loaded


def put_in_place(text: str, given: Mapping[str, str]) -> str:
    """As compose does it: what is given, or what stands after `:-`."""

    def found(match: re.Match[str]) -> str:
        value = given.get(match["name"], "")
        if not value and match["how"] == ":?":
            raise ValueError(f"{match['name']}: {match['rest']}")
        return value or (match["rest"] if match["how"] == ":-" else "")

    return IN_PLACE.sub(found, text)


@cache
def units() -> dict[str, dict[str, dict[str, str]]]:
    """Each unit's sections; no key of ours stands twice, which the reader would refuse."""
    found = {}
    for path in sorted((ROOT / "deploy" / "systemd").glob("*.service")):
        reader = configparser.ConfigParser(interpolation=None, comment_prefixes=("#",))
        reader.optionxform = str  # type: ignore[assignment, method-assign]
        reader.read_string(path.read_text())
        found[path.name] = {section: dict(reader[section]) for section in reader.sections()}
    return found


def unit_command(unit: Mapping[str, Mapping[str, str]]) -> list[str]:
    return shlex.split(unit["Service"]["ExecStart"])


@cache
def manifests() -> list[dict[str, Any]]:
    paths = sorted((ROOT / "deploy" / "kubernetes").glob("*.yaml"))
    return [each for path in paths for each in yaml.safe_load_all(path.read_text())]


def of_kind(*kinds: str) -> list[dict[str, Any]]:
    return [each for each in manifests() if each["kind"] in kinds]


def pods() -> list[tuple[str, dict[str, Any]]]:
    made = of_kind("Deployment", "Job")
    return [(each["metadata"]["name"], each["spec"]["template"]["spec"]) for each in made]


def containers() -> list[tuple[str, dict[str, Any]]]:
    return [(name, each) for name, pod in pods() for each in pod["containers"]]
