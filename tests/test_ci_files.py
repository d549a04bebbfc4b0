"""The files for GitHub and for development containers are valid and match the project."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.processes import ROOT
from tests.test_docs import MAKEFILE, objection_to

GITHUB = ROOT / ".github"
WORKFLOW = GITHUB / "workflows" / "ci.yml"
FORMS = [GITHUB / "ISSUE_TEMPLATE" / name for name in ("bug.yml", "feature.yml")]
DEVCONTAINER = json.loads((ROOT / ".devcontainer" / "devcontainer.json").read_text())
JOBS: dict[str, Any] = yaml.safe_load(WORKFLOW.read_text())["jobs"]
COMMANDS = [step["run"] for job in JOBS.values() for step in job["steps"] if "run" in step]


def supported_versions() -> list[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return re.findall(r"Python :: (3\.\d+)", "\n".join(project["classifiers"]))


def check_schema(schema: str, *files: Path) -> str:
    """Return what is wrong with the files; nothing when they are valid."""
    command = (sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema)
    done = subprocess.run([*command, *map(str, files)], capture_output=True, text=True)
    return done.stdout + done.stderr if done.returncode else ""


@pytest.mark.parametrize(
    ("schema", "files"),
    [
        ("vendor.github-workflows", [WORKFLOW]),
        ("custom.github-workflows-require-timeout", [WORKFLOW]),
        ("vendor.github-issue-forms", FORMS),
        ("vendor.github-issue-config", [GITHUB / "ISSUE_TEMPLATE" / "config.yml"]),
        ("vendor.compose-spec", [ROOT / "docker-compose.yml"]),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_files_match_their_schema(schema: str, files: list[Path]) -> None:
    assert check_schema(schema, *files) == ""


def test_a_file_that_does_not_match_its_schema_would_be_noticed(tmp_path: Path) -> None:
    wrong = tmp_path / "ci.yml"
    wrong.write_text(WORKFLOW.read_text().replace("runs-on:", "run-on:"))

    assert "run-on" in check_schema("vendor.github-workflows", wrong)


def test_no_issue_form_is_left_unchecked() -> None:
    assert sorted(GITHUB.glob("ISSUE_TEMPLATE/*")) == sorted(
        [*FORMS, GITHUB / "ISSUE_TEMPLATE" / "config.yml"]
    )
    assert list(GITHUB.glob("workflows/*")) == [WORKFLOW]


def test_the_workflow_runs_targets_that_exist() -> None:
    targets = [each for each in COMMANDS if each.startswith("make ")]

    assert {"make check", "make check-versions", "make docs", "make test"} <= {*targets}
    assert [why for each in targets if (why := objection_to(each))] == []


def test_the_workflow_tests_every_supported_version() -> None:
    assert JOBS["test"]["strategy"]["matrix"]["python-version"] == supported_versions()


def test_types_are_checked_for_every_supported_version() -> None:
    mypy = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["mypy"]
    (newer,) = re.findall(r"for version in ([\d ]+);", MAKEFILE)

    assert [mypy["python_version"], *(f"3.{each}" for each in newer.split())] == (
        supported_versions()
    )


def test_debian_packages_are_the_same_everywhere() -> None:
    (needed,) = re.findall(r"for each in ([\w ]+); do PATH", MAKEFILE)
    (workflow,) = [each for each in COMMANDS if "apt-get install" in each]

    for installed in (workflow, DEVCONTAINER["postCreateCommand"]):
        (names,) = re.findall(r"--no-install-recommends ([\w ]+)", installed)
        assert sorted(names.split()) == sorted(needed.split())


def test_the_development_container_has_a_supported_version_and_the_tools() -> None:
    (version,) = re.findall(r"python:(3\.\d+)-", DEVCONTAINER["image"])

    assert version in supported_versions()
    assert DEVCONTAINER["postCreateCommand"].endswith("&& make dev")
