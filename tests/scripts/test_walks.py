"""The command sequences of the design documents, run as documented."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
from asyncio.subprocess import Process
from pathlib import Path

import httpx
import pytest

from scrapersky.demo.town import Town
from tests.processes import ROOT, api
from tests.scripts.conftest import Shell
from tests.waiting import PATIENCE_SECONDS

PAGE = (ROOT / "docs" / "from-the-design-documents.md").read_text()
SITE = "corner-bakery.example"
UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"


def walk(title: str) -> list[str]:
    """The lines of the block below a heading, with a site put in for D."""
    section = PAGE.partition(f"### {title}\n")[2]
    block = section.partition("```sh\n")[2].partition("```")[0]
    return [re.sub(r"\bD\b", SITE, line) for line in block.splitlines()]


async def test_a_site_goes_from_pending_to_complete(shell: Shell) -> None:
    add, process, check = walk("From pending to complete")

    added = await shell.type(add)
    processed = await shell.type(process)
    checked = await shell.type(check)

    assert "Status: pending" in added
    assert "Processed 1 of 1 sitemap jobs here" in processed
    assert "Status: complete" in checked
    job = re.findall(f"Job ID: ({UUID})", added)
    assert re.findall(f"Job ID: ({UUID})", checked) == job
    assert int(re.findall(r"URLs stored: (\d+)", checked)[0]) > 0


async def test_the_monitor_shows_a_scan_that_was_asked_for(shell: Shell, tmp_path: Path) -> None:
    monitor, ask = walk("Watch the scheduler")
    assert "--interval 30" in monitor
    environ = {**shell.environ, "LOG_LEVEL": "warning"}

    async with api(environ, tmp_path / "serve.log") as client:
        watching = await shell.start(monitor)
        await said(watching, r"pending 0, processing 0, .*; workers 1")
        job_id = await asked(shell, client, ask)
        detected = await said(watching, r"detected job")
        processed = await said(watching, r"processed job")

    assert f"detected job {job_id} for {SITE}" in detected
    assert f"processed job {job_id} for {SITE}: complete, " in processed


async def asked(shell: Shell, client: httpx.AsyncClient, line: str) -> str:
    """By curl where there is one, and by the same request where there is none."""
    if shutil.which("curl"):
        answer = await shell.type(
            line.replace("localhost:8000", str(client.base_url.netloc, "ascii"))
        )
        return str(json.loads(answer[answer.index("{") :])["job_id"])
    body = json.loads(line.split(" -d ")[1].strip("'"))
    return str((await client.post("/api/v3/sitemap/scan", json=body)).json()["job_id"])


async def said(process: Process, pattern: str) -> str:
    """The first line that has it."""
    assert process.stdout is not None
    async with asyncio.timeout(PATIENCE_SECONDS):
        while line := (await process.stdout.readline()).decode():
            if re.search(pattern, line):
                return line
    raise AssertionError(f"it never said {pattern}")


async def test_a_closer_look_shows_every_field(shell: Shell) -> None:
    enter, pending, trigger, check, leave, sitemaps = walk("Look closer")
    await shell.type(walk("From pending to complete")[0])

    listed = await shell.type(enter, pending)
    (job_id,) = re.findall(f"^ID: ({UUID})$", listed, re.MULTILINE)
    triggered = await shell.type(enter, trigger)
    looked = await shell.type(enter, check.replace("UUID", job_id))
    found = await shell.type(enter, leave, sitemaps)

    assert listed.startswith("Found 1 pending sitemap jobs\n")
    assert fields(listed) == ["ID", "Status", "Params", "Domain found"]
    assert f"Domain found: {SITE}" in listed
    assert "succeeded: 1" in triggered
    assert fields(looked) == ["Job ID", "Type", "Status", "Result Data", "Sitemaps"]
    assert "Status: complete" in looked
    assert re.search(rf"^Sitemaps: 1\n  {UUID} standard \d+ URLs http", looked, re.MULTILINE)
    assert found.startswith(f"Found 1 sitemaps for domain {SITE}:\n")
    named = ["ID", "URL", "Type", "Discovery", "Status", "Job ID", "Created by", "Created at"]
    assert fields(found) == named
    assert f"Job ID: {job_id}" in found


def fields(text: str) -> list[str]:
    return re.findall(r"^([A-Z][A-Za-z ]*): ", text, re.MULTILINE)


async def test_a_job_is_worked_by_its_id_and_once_more_when_reset(shell: Shell) -> None:
    scripts = "python3 scripts/sitemap_scheduler"
    added = await shell.type(f"{scripts}/add_test_sitemap.py --domain {SITE} --max-pages 1")
    (job_id,) = re.findall(f"Job ID: ({UUID})", added)

    worked = await shell.type(f"{scripts}/process_sitemap.py --id {job_id}")
    again = await shell.type(f"{scripts}/reset_sitemap_status.py --domain {SITE}")
    refused = await shell.type(f"{scripts}/process_sitemap.py --id {job_id}", code=1)

    assert f"Job {job_id} for {SITE}: completed" in worked
    assert "Status: complete -> pending" in again
    assert re.findall(f"Job ID: ({UUID})", again) != [job_id]
    assert f"Job {job_id} is complete." in refused


async def test_mistakes_become_sentences(shell: Shell) -> None:
    shell.folder = Path("/")
    scripts = f"python3 {ROOT}/scripts"

    unknown = await shell.type(f"{scripts}/check_domain_sitemaps.py nowhere.example", code=1)
    neither = await shell.type(f"{scripts}/sitemap_scheduler/process_sitemap.py", code=2)
    misspelt = await shell.type(
        f"HOST_CONCURENCY=2 {scripts}/sitemap_scheduler/debug_pending_jobs.py", code=2
    )

    assert unknown == "Error: There is no domain nowhere.example. Scan it first.\n"
    assert neither == "Error: Say either --trigger-scheduler or --id JOB_ID.\n"
    assert misspelt.startswith("Error: HOST_CONCURENCY is not a setting")


async def test_without_an_installation_a_script_says_what_to_do(
    shell: Shell, tmp_path: Path
) -> None:
    shutil.copytree(ROOT / "scripts", tmp_path / "clone" / "scripts")
    shell.folder = tmp_path / "clone"

    said = await shell.type("python3 scripts/sitemap_scheduler/debug_pending_jobs.py", code=1)

    assert "run `make install`" in said


async def test_the_town_is_waited_for_and_a_walk_in_it_prints_no_warning(
    url: str, shell: Shell, tmp_path: Path
) -> None:
    section = PAGE.partition("## Walks\n")[2]
    install, *open_town = section.partition("```sh\n")[2].partition("```")[0].splitlines()
    assert install == "make install"
    shell.environ = {"PATH": shell.environ["PATH"], "DATABASE_URL": url}
    town_file = tmp_path / "town.env"
    lines = [line.replace("./town.env", "town.env") for line in open_town]
    lines = [line.replace("town.env", str(town_file)) for line in lines]

    said = await shell.type(*lines, *walk("From pending to complete"), "kill $!; wait $! || true")

    assert "Status: complete" in said
    assert [line for line in said.splitlines() if "warning" in line.lower()] == []
    assert not town_file.exists()


async def test_the_town_can_be_kept_open(shell: Shell, town: Town, tmp_path: Path) -> None:
    shell.folder = tmp_path
    opened = await shell.start(f"exec python3 {ROOT}/scripts/open_town.py town.env")
    await said(opened, SITE)
    lines = dict(line.split("=", 1) for line in (tmp_path / "town.env").read_text().splitlines())
    assert lines["FETCH_RESOLVE"] != town.resolve
    shell.environ |= lines

    scripts = f"python3 {ROOT}/scripts/sitemap_scheduler"
    await shell.type(f"{scripts}/add_test_sitemap.py --domain {SITE}")
    await shell.type(f"{scripts}/process_sitemap.py --trigger-scheduler")

    opened.terminate()
    async with asyncio.timeout(PATIENCE_SECONDS):
        assert await opened.wait() == 130
    assert not (tmp_path / "town.env").exists()


@pytest.mark.parametrize(
    "script", sorted((ROOT / "scripts").glob("sitemap_scheduler/*.py")), ids=lambda path: path.stem
)
def test_every_script_is_on_the_page(script: Path) -> None:
    if script.stem not in ("in_venv", "by_hand"):
        assert script.relative_to(ROOT).as_posix() in PAGE
