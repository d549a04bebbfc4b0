"""Import and export of lists: a file with invalid lines, a download, manual additions."""

from __future__ import annotations

import csv
import zipfile
from pathlib import Path

from playwright.async_api import Page, expect
from sqlalchemy import select

from scrapersky.db.session import Database
from scrapersky.models import Domain, Suppression
from tests.browser.conftest import Site, picture
from tests.dashboard.table_rows import add_leads

LIST = """company,website
One,one.example
Two,https://two.example/
Again,www.two.example
Bad,http://exa mple
Local,http://127.0.0.1:70000/
"""


async def test_a_csv_with_bad_lines_is_taken_and_each_line_is_told(
    site: Site, page: Page, database: Database, tmp_path: Path
) -> None:
    file = tmp_path / "list.csv"
    file.write_text(LIST)
    await page.goto(f"{site.address}/domains")
    await page.get_by_role("link", name="Import", exact=True).click()
    await page.get_by_label("CSV file").set_input_files(file)
    await page.get_by_label("Store only").check()
    await page.get_by_role("button", name="Import").click()
    counts = page.locator("#counts")
    await expect(counts).to_contain_text("2 added, 0 already stored, 1 duplicate, 2 invalid;")
    await expect(page.locator("#lines-told tr")).to_have_count(2)
    await expect(page.locator("#lines-told tr").first).to_contain_text("exa mple")
    await picture(page, "import")
    await page.get_by_role("button", name="All (5)").click()
    await expect(page.locator("#lines-told tr")).to_have_count(5)
    async with database.reading() as session:
        stored = set((await session.execute(select(Domain.domain, Domain.status))).all())
    assert stored == {("one.example", "new"), ("two.example", "new")}


async def test_a_pasted_list_is_taken_as_it_is(site: Site, page: Page, database: Database) -> None:
    await page.goto(f"{site.address}/import")
    await page.get_by_label("List").fill("three.example\nfour.example\n")
    await page.get_by_role("button", name="Import").click()
    await expect(page.locator("#result")).to_be_hidden()  # what is to happen has to be said
    await page.get_by_label("Start processing").check()
    await page.get_by_role("button", name="Import").click()
    await expect(page.locator("#counts")).to_contain_text("2 queued.")
    async with database.reading() as session:
        assert set(await session.scalars(select(Domain.status))) == {"pending"}


async def test_an_export_holds_what_the_table_shows(
    site: Site, page: Page, database: Database, tmp_path: Path
) -> None:
    await add_leads(database, 3, category="Bakery, cakes")
    await add_leads(database, 1, category="Bank")
    await page.goto(f"{site.address}/leads?category=Bakery%2C+cakes&sort=name")
    file = await _download(page, tmp_path, "CSV for Excel (with a byte order mark)")
    text = file.read_text(encoding="utf-8")
    assert text.startswith("\ufeff")
    lines = list(csv.DictReader(text[1:].splitlines()))
    assert [(each["Name"], each["Category"]) for each in lines] == [
        (f"Business 00{number}", "Bakery, cakes") for number in range(3)
    ]
    assert "Phone" not in lines[0]
    workbook = await _download(page, tmp_path, "Excel workbook (XLSX)")
    assert "xl/workbook.xml" in zipfile.ZipFile(workbook).namelist()


async def _download(page: Page, folder: Path, form: str) -> Path:
    await page.get_by_role("button", name="Export").click()
    await page.get_by_label("Format").select_option(label=form)
    await page.locator("dialog[open]").get_by_label("Phone", exact=True).uncheck()
    async with page.expect_download() as download:
        await page.get_by_role("button", name="Download").click()
    file = folder / (await download.value).suggested_filename
    await (await download.value).save_as(file)
    return file


async def test_the_do_not_contact_list_is_added_to_and_taken_from(
    site: Site, page: Page, database: Database
) -> None:
    await page.goto(f"{site.address}/suppressions")
    await page.get_by_role("button", name="Add", exact=True).click()
    box = page.get_by_label("E-mail addresses, phone numbers or domains")
    await box.fill("anna@example.com\nno address")
    await page.locator("dialog[open]").get_by_role("button", name="Add").click()
    await expect(page.locator("[data-refused] li")).to_contain_text("no address")
    await expect(box).to_have_value("no address")
    await page.locator("dialog[open]").get_by_role("button", name="Close").click()
    await expect(page.locator("tbody tr")).to_contain_text("anna@example.com")
    await page.get_by_role("button", name="Remove").click()
    await page.locator("dialog[open] button", has_text="Remove").click()
    await expect(page.locator(".empty")).to_contain_text("The list is empty")
    async with database.reading() as session:
        assert list(await session.scalars(select(Suppression.id))) == []
