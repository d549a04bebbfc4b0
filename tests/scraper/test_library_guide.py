"""The examples of the library guide run and print the documented output."""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

import scrapersky
from tests.fake_web import FakeWeb, urlset
from tests.waiting import PATIENCE_SECONDS

GUIDE = Path(__file__).parents[2] / "docs/guides/library.md"
EXAMPLE = re.compile(
    r"^```python\n(?P<code>.*?)^```$(?:(?P<between>[^`]*)^```text\n(?P<output>.*?)^```$)?",
    re.MULTILINE | re.DOTALL,
)
EXAMPLES = list(EXAMPLE.finditer(GUIDE.read_text()))
ENTRY_POINTS = [
    "SitemapAnalyzer",
    "parse_sitemap",
    "SitemapStream",
    "parse_robots",
    "parse_lastmod",
]


@asynccontextmanager
async def a_small_web(folder: Path) -> AsyncIterator[dict[str, str]]:
    """The example.com of the guide, and what a process needs to find it."""
    async with FakeWeb(certificate=lambda authority: authority.issue_cert("example.com")) as web:
        site = web.host("example.com").robots("Sitemap: https://example.com/sitemap.xml\n\n\n\n")
        pages = urlset("https://example.com/", "https://example.com/about", lastmod="2025-03-01")
        site.xml("/sitemap.xml", pages)
        yield {**web.environ, "FETCH_CA_FILE": str(web.ca_file(folder))}


async def printed(code: str, environ: dict[str, str], folder: Path) -> str:
    """What a script prints in a process of its own."""
    source = str(Path(scrapersky.__file__).parents[1])
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-W", "error", "-c", code),
        cwd=folder,
        env={**environ, "PYTHONPATH": source},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            said, complaints = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode == 0, complaints.decode()
    return said.decode()


@pytest.mark.parametrize("example", EXAMPLES, ids=range(1, len(EXAMPLES) + 1))
async def test_an_example_prints_what_the_guide_says(
    example: re.Match[str], tmp_path: Path
) -> None:
    async with a_small_web(tmp_path) as environ:
        said = await printed(example["code"], environ, tmp_path)

    promised = example["output"]
    if promised is None:
        promised = "\n".join(re.findall(r"^print\(.*\)  # (.*)$", example["code"], re.M)) + "\n"
    assert said == promised


@pytest.mark.parametrize("name", ENTRY_POINTS)
def test_every_entry_point_has_an_example(name: str) -> None:
    assert any(f"{name}(" in example["code"] for example in EXAMPLES)


def test_every_example_says_what_it_prints() -> None:
    assert len(EXAMPLES) == GUIDE.read_text().count("```python")
    for example in EXAMPLES:
        assert example["output"] or "  # " in example["code"]
