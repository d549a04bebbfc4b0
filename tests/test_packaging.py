"""`pip install .` and `uvx --from .` install a complete program that runs in any folder."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import sysconfig
import venv
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from scrapersky import __version__
from tests.processes import ROOT

SOURCE = ROOT / "src" / "scrapersky"
EXAMPLE = """
import scrapersky
print(scrapersky.__file__)
page = '<a href="mailto:hi@bakery.example">Write to us</a>'
print(*(each.value for each in scrapersky.find_contacts(page, url="https://bakery.example/")))
"""


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh environment after `pip install .`, with the dependencies of the tests' own one."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, symlinks=True)
    # A path from a .pth file comes last, and the .pth files in it (one is for src) are ignored.
    (packages_in(folder) / "dependencies.pth").write_text(sysconfig.get_path("purelib"))
    pip = (sys.executable, "-m", "pip", "--python", str(folder / "bin" / "python"))
    options = ("--quiet", "--no-index", "--no-deps", "--no-build-isolation", "--no-compile")
    run(*pip, "install", *options, "--disable-pip-version-check", str(ROOT), cwd=folder)
    return folder


def test_every_file_of_the_package_is_installed(environment: Path) -> None:
    installed = files_in(packages_in(environment) / "scrapersky")

    assert installed == files_in(SOURCE)
    for suffix in (".html", ".css", ".js", ".svg", ".mako", ".toml", ".txt", ".json", "py.typed"):
        assert any(name.endswith(suffix) for name in installed), suffix


def test_the_installed_program_runs_in_any_folder(environment: Path, tmp_path: Path) -> None:
    version = run(str(environment / "bin" / "scrapersky"), "--version", cwd=tmp_path)
    printed = run(str(environment / "bin" / "python"), "-c", EXAMPLE, cwd=tmp_path)
    origin, contact = printed.splitlines()

    assert version == f"scrapersky {__version__}"
    assert Path(origin).is_relative_to(environment)
    assert contact == "hi@bakery.example"


def test_the_installed_version_is_the_one_that_the_program_prints(environment: Path) -> None:
    (metadata,) = packages_in(environment).glob("scrapersky-*.dist-info")

    assert metadata.name == f"scrapersky-{__version__}.dist-info"


def test_every_imported_package_comes_with_the_program() -> None:
    """The tests' own environment has more packages than `pip install .` installs."""
    pinned = re.findall(r"^([\w.-]+)==", (ROOT / "requirements.lock").read_text(), re.MULTILINE)
    distributions = packages_distributions()
    third_party = imported_packages() - sys.stdlib_module_names - {"scrapersky", "_typeshed"}

    assert {
        name
        for name in third_party
        if not {normalized(each) for each in distributions[name]} & set(pinned)
    } == set()


def imported_packages() -> set[str]:
    """Top-level packages that the program imports at any place."""
    found: set[str] = set()
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                found.update(each.name.partition(".")[0] for each in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module:
                found.add(node.module.partition(".")[0])
    return found


def normalized(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def packages_in(environment: Path) -> Path:
    base = str(environment)
    return Path(sysconfig.get_path("purelib", "venv", {"base": base, "platbase": base}))


def files_in(folder: Path) -> set[str]:
    return {
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_file() and path.parent.name != "__pycache__"
    }


def run(*command: str, cwd: Path) -> str:
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(command, cwd=cwd, env=environ, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()
