"""The docs refer only to existing files, headings, commands, options and settings."""

from __future__ import annotations

import ast
import re
import shlex
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from scrapersky.settings import Settings
from scrapersky.stages import STAGES
from scripts import make_reference

ROOT = make_reference.ROOT
PAGES = [
    *(ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]
MAKEFILE = (ROOT / "Makefile").read_text()

FENCE = re.compile(r"^```(?P<language>[^\n`]*)\n(?P<code>.*?)^```\s*$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\((?P<target>[^)\s]+)\)")
HEADING = re.compile(r"^#{1,6} (?P<title>.+)$", re.MULTILINE)
TARGET = re.compile(r"^(?P<name>[a-zA-Z][\w-]*):(?!=)(?P<rest>.*)$", re.MULTILINE)
SHELL = ("", "sh", "bash", "console")
ASSIGNMENT = re.compile(r"[A-Z_]+=\S*\Z")

# Put together here, for this file is searched too.
REGISTRIES = tuple(
    ".".join(parts)
    for parts in (
        ("pypi", "org"),
        ("files", "pythonhosted"),
        ("registry", "npmjs"),
        ("deb", "debian", "org"),
    )
)
NEIGHBOUR = "/".join(("..", "shared"))
"""A folder beside somebody's clone is in nobody else's."""


def named(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def is_reference(page: Path) -> bool:
    return page.parent.name == "reference"


def without_code(text: str) -> str:
    return re.sub(r"`[^`\n]*`", "``", FENCE.sub("", text))


# The generated pages


def test_generated_pages_are_what_the_program_says() -> None:
    """Otherwise run `python scripts/make_reference.py`."""
    assert make_reference.outdated() == []
    assert make_reference.main(["--check"]) == 0


def test_env_example_has_every_setting() -> None:
    listed = re.findall(r"^#([A-Z0-9_]+)=", (ROOT / ".env.example").read_text(), re.MULTILINE)

    assert listed == make_reference.all_variables()


def test_every_setting_says_what_it_means() -> None:
    groups = [*make_reference.settings_by_group().values()]
    groups += [make_reference.stage_settings(stage) for stage in STAGES]

    assert [each.variable for group in groups for each in group if not each.meaning] == []


def test_every_setting_stands_in_a_group() -> None:
    grouped = {
        each.variable for all_ in make_reference.settings_by_group().values() for each in all_
    }
    declared = {name.upper() for name in Settings.model_fields} - {"ENVIRON"}

    assert grouped == declared


def test_every_exit_code_says_what_it_means() -> None:
    assert [word for _, word, meaning in make_reference.exit_codes() if not meaning] == []


# Links


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_links_lead_somewhere(page: Path) -> None:
    broken = [target for target in _relative_links(page) if not _exists(page, target)]

    assert broken == []


def _relative_links(page: Path) -> Iterator[str]:
    for match in LINK.finditer(without_code(page.read_text())):
        if not re.match(r"[a-z]+:", match["target"]):
            yield match["target"]


def _exists(page: Path, target: str) -> bool:
    name, _, anchor = target.partition("#")
    path = (page.parent / name).resolve() if name else page
    if not path.is_relative_to(ROOT) or not path.exists():
        return False
    return not anchor or anchor in anchors(path)


@cache
def anchors(page: Path) -> frozenset[str]:
    """The anchors GitHub gives to a page's headings; a repeated one gets a number."""
    found: list[str] = []
    for match in HEADING.finditer(FENCE.sub("", page.read_text())):
        title = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", match["title"]).lower()
        plain = re.sub(r"[^\w\- ]", "", title).replace(" ", "-")
        before = sum(
            re.fullmatch(re.escape(plain) + r"(-\d+)?", each) is not None for each in found
        )
        found.append(f"{plain}-{before}" if before else plain)
    return frozenset(found)


# Commands


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_commands_are_there(page: Path) -> None:
    objections = {line: why for line in _commands(page) if (why := objection_to(line))}

    assert objections == {}


def _commands(page: Path) -> Iterator[str]:
    """Shell lines in blocks, and what stands as code within a sentence."""
    text = page.read_text()
    for match in FENCE.finditer(text):
        if match["language"].strip() in SHELL:
            yield from match["code"].replace("\\\n", " ").splitlines()
    yield from re.findall(r"`([^`\n]+)`", FENCE.sub("", text))


NOT_ON_DEBIAN = ("python", "pip", "scrapersky")
"""A plain Debian has `python3`; what we install is in `.venv/bin` and on nobody's PATH."""


@pytest.mark.parametrize("page", [each for each in PAGES if not is_reference(each)], ids=named)
def test_shell_examples_work_as_they_stand_and_wait_for_no_fixed_time(page: Path) -> None:
    lines = [
        line
        for match in FENCE.finditer(page.read_text())
        if match["language"].strip() in SHELL
        for line in match["code"].replace("\\\n", " ").splitlines()
    ]
    first_words = {line: words[0] for line in lines if (words := _words(line))}

    assert [line for line, word in first_words.items() if word in NOT_ON_DEBIAN] == []
    assert [line for line in lines if re.search(r"\bsleep [1-9]", line)] == []


def objection_to(line: str) -> str:
    """What is wrong with a `make` or `scrapersky` command; nothing when it is fine or neither."""
    words = _words(line)
    if not words:
        return ""
    program = Path(words[0]).name
    if program == "make":
        return next((f"no target {each}" for each in words[1:] if each not in targets()), "")
    return _objection_to_ours(words[1:]) if program == "scrapersky" else ""


def _words(line: str) -> list[str]:
    """Without prompt, comment, redirections, and variables set for the command."""
    simple = re.split(r"\s(?:\||&&|&|>|;)(?:\s|\Z)", line.strip().removeprefix("$ "))[0]
    try:
        words = shlex.split(simple, comments=True)
    except ValueError:  # an apostrophe: prose or some other language
        return []
    return [each for each in words if not ASSIGNMENT.match(each)]


def _objection_to_ours(words: list[str]) -> str:
    command = commands()
    for depth, word in enumerate(words):
        if not (below := getattr(command, "commands", None)):
            return _unknown_option(command, words[depth:])
        if word.startswith("-"):
            return _unknown_option(command, words[depth:])
        if not re.fullmatch(r"[a-z-]+", word):
            return ""  # "scrapersky 0.1.0", "scrapersky COMMAND"
        if word not in below:
            return f"no command {word}"
        command = below[word]
    return ""


def _unknown_option(command: Any, words: list[str]) -> str:
    if command.context_settings.get("allow_extra_args"):
        return ""
    known = {"--help", "-h", *(name for each in command.params for name in each.opts)}
    given = [word.partition("=")[0] for word in words if re.match(r"--?[a-z]", word)]
    return next((f"no option {each}" for each in given if each not in known), "")


@cache
def commands() -> Any:
    return next(make_reference.all_commands())[0]


@cache
def targets() -> dict[str, str]:
    return {match["name"]: match["rest"] for match in TARGET.finditer(MAKEFILE)}


def test_every_target_has_a_help_line() -> None:
    assert "demo" in targets()
    assert [name for name, rest in targets().items() if " ## " not in rest] == []


def test_every_target_that_is_declared_does_something() -> None:
    """Of one that is only declared, make says that there is nothing to be done."""
    (declared,) = re.findall(r"^\.PHONY: (.+)$", MAKEFILE, re.MULTILINE)

    assert set(declared.split()) == targets().keys()


@pytest.mark.parametrize(
    "line",
    [
        "make nothing",
        "scrapersky scna example.com",
        "$ .venv/bin/scrapersky db upgrad",
        "LOG_LEVEL=debug scrapersky scan example.com --max-urls 3",
    ],
)
def test_a_wrong_command_would_be_noticed(line: str) -> None:
    assert objection_to(line)


# Examples


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_python_examples_import_what_is_there(page: Path) -> None:
    for example in _python_examples(page):
        tree = ast.parse(example)
        tree.body = [each for each in tree.body if isinstance(each, ast.Import | ast.ImportFrom)]
        exec(compile(tree, named(page), "exec"), {})


def test_examples_print_what_they_say(capsys: pytest.CaptureFixture[str]) -> None:
    (example,) = [
        each for each in _python_examples(ROOT / "docs/guides/library.md") if "parse_" in each
    ]
    said = re.findall(r"^print\(.*\)  # (.*)$", example, re.MULTILINE)

    exec(compile(example, "library.md", "exec"), {})

    assert len(said) == example.count("print(")
    assert capsys.readouterr().out.splitlines() == said


def _python_examples(page: Path) -> list[str]:
    found = FENCE.finditer(page.read_text())
    return [match["code"] for match in found if match["language"].strip() == "python"]


# The site


def test_every_page_is_in_the_navigation_of_the_site_once() -> None:
    listed = list(
        _site_pages(tomllib.loads((ROOT / "zensical.toml").read_text())["project"]["nav"])
    )
    copied = [ROOT / name for name in _make_variable("SITE_PAGES")]
    there = [page for path in copied for page in (path.rglob("*.md") if path.is_dir() else [path])]

    assert sorted(listed) == sorted(named(page) for page in there)
    assert {named(page) for page in PAGES} <= set(listed)


def test_files_that_pages_link_to_are_in_the_site() -> None:
    """The site's builder checks links between pages only."""
    linked = {
        target
        for page in PAGES
        for link in _relative_links(page)
        if (target := (page.parent / link.partition("#")[0]).resolve()).suffix != ".md"
        and not target.is_relative_to(ROOT / "docs")
    }

    assert {named(each) for each in linked} <= {*_make_variable("SITE_FILES")}


def _site_pages(entries: list[Any]) -> Iterator[str]:
    for entry in entries:
        (page,) = entry.values() if isinstance(entry, dict) else (entry,)
        if isinstance(page, str):
            yield page
        else:
            yield from _site_pages(page)


def _make_variable(name: str) -> list[str]:
    (value,) = re.findall(rf"^{name} := (.+)$", MAKEFILE, re.MULTILINE)
    return str(value).split()


# What no page and no source names


def test_nothing_names_a_registry_or_a_neighbouring_folder() -> None:
    found = [
        f"{named(path)}: {each}"
        for path in _all_texts()
        for each in (*REGISTRIES, NEIGHBOUR)
        if each in path.read_text(encoding="utf-8")
    ]

    assert found == []


def _all_texts() -> Iterator[Path]:
    folders = ("src", "tests", "docs", "scripts", "benchmarks", ".ci", ".github")
    kinds = {".py", ".md", ".toml", ".mako", ".lock", ".yml", ".yaml", ".json", ".sh", ".cfg", ""}
    for path in [*ROOT.glob("*"), *(each for name in folders for each in (ROOT / name).rglob("*"))]:
        if path.is_file() and (path.suffix in kinds or path.name.startswith(".env")):
            yield path


# The tree in ARCHITECTURE.md


def test_the_tree_names_what_is_there() -> None:
    found = list(_tree_entries((ROOT / "ARCHITECTURE.md").read_text()))

    assert len(found) > 15
    assert [each for each in found if not (ROOT / each).exists()] == []


def test_the_tree_names_every_top_level_module() -> None:
    package = ROOT / "src" / "scrapersky"
    there = {
        f"src/scrapersky/{each.name}" for each in package.iterdir() if not each.name.startswith("_")
    }
    found = {each.rstrip("/") for each in _tree_entries((ROOT / "ARCHITECTURE.md").read_text())}

    assert there - found - {"src/scrapersky/py.typed"} == set()


def _tree_entries(text: str) -> Iterator[str]:
    """The paths a drawn tree names; each line begins with one or several, then tells of them."""
    for match in FENCE.finditer(text):
        if "── " in match["code"]:
            yield from _entries_of(match["code"])


def _entries_of(drawing: str) -> Iterator[str]:
    above: list[str] = []
    for line in drawing.splitlines():
        branch = re.match(r"[│├└─\s]*", line)
        depth = (len(branch[0]) if branch else 0) // 4
        names = _leading_names(line[branch.end() if branch else 0 :])
        if names:
            above = [*above[:depth], names[0]]
        yield from ("".join([*above[:depth], name]) for name in names)


def _leading_names(text: str) -> list[str]:
    names = []
    for word in text.split():
        if not re.fullmatch(r"[\w./-]+(/|\.\w+)", word):
            break
        names.append(word)
    return names


# The walks of the architecture page


@pytest.mark.parametrize(
    ("sentence", "most"),
    [("The path runs through", 47), ("the path runs through", 35)],
    ids=["from a scan to its URLs", "from a page to its lead"],
)
def test_a_walk_names_its_files_and_their_number(sentence: str, most: int) -> None:
    section = (ROOT / "ARCHITECTURE.md").read_text().partition(sentence)[2]
    table = section.partition("|---|---|\n")[2].partition("\n\n")[0]
    rows = [[cell.strip(" `") for cell in line.strip("|").split("|")] for line in table.split("\n")]
    files = [f"{folder}/{name}.py" for folder, names in rows for name in names.split(", ")]

    assert int(section.split()[0]) == len(set(files)) == len(files) <= most
    assert [each for each in files if not (ROOT / "src/scrapersky" / each).is_file()] == []
