"""The program with one more column of contacts, run in a process of its own.

Two source lines are added as their modules are imported: the mapped attribute, which belongs to the
migration, and the declaration of the column. Everything else is the program as it is.
"""

from __future__ import annotations

import asyncio
import io
import json
import os
import sys
from contextlib import redirect_stdout
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType
from typing import Any

ADDED_LINES = {
    "scrapersky.models.contacts": (
        b"    note: Mapped[str | None]\n",
        b"    fax: Mapped[str | None]\n",
    ),
    "scrapersky.contacts.listing": (
        b"        Column(Contact.note, table=OPTIONAL),\n",
        b"        Column(Contact.fax, filter=True, sort=True, table=SHOWN, cli=True),\n",
    ),
}
"""By module: the line before, and the line itself."""
FAXES = ("+49 341 1", "+49 341 2", None)


class ExtendedLoader(SourceFileLoader):
    def get_code(self, fullname: str) -> CodeType:
        source, (before, line) = self.get_data(self.path), ADDED_LINES[fullname]
        assert source.count(before) == 1, f"{fullname} has no such line: {before!r}"
        return self.source_to_code(source.replace(before, before + line), self.path)


class ExtendedFinder(MetaPathFinder):
    def find_spec(self, name: str, path: Any, target: Any = None) -> ModuleSpec | None:
        found = PathFinder.find_spec(name, path, target) if name in ADDED_LINES else None
        if found is not None and found.origin is not None:
            found.loader = ExtendedLoader(name, found.origin)
        return found


async def ask_everything(url: str) -> dict[str, Any]:
    from sqlalchemy import text

    from scrapersky.db.session import Database
    from tests.app import serving
    from tests.conftest import make_settings
    from tests.lists.rows import add_rows

    database = Database(url, pool_size=2)
    async with database.transaction() as session:
        await session.execute(text("ALTER TABLE contacts ADD COLUMN fax text"))
    for fax in FAXES:
        await add_rows(database, "contact", 1, fax=fax)
    await database.close()
    async with serving(make_settings(url, scheduler_enabled=False)) as client:

        async def get(path: str, **query: str) -> Any:
            answer = await client.get(path, params=query)
            assert answer.status_code == 200, answer.text
            return answer

        found = {
            "listed": await get("/api/v3/contacts", sort="fax"),
            "filtered": await get("/api/v3/contacts", fax=FAXES[1] or ""),
            "backwards": await get("/api/v3/contacts", sort="-fax"),
        }
        return {
            **{
                name: [each["fax"] for each in answer.json()["items"]]
                for name, answer in found.items()
            },
            "described": (await get("/openapi.json")).json()["components"]["schemas"]["ContactOut"][
                "properties"
            ]["fax"],
            "csv": (await get("/api/v3/contacts/export", sort="fax")).text,
            "page": (await get("/contacts", sort="fax")).text,
        }


def list_contacts(*arguments: str) -> str:
    from scrapersky.cli.app import build_requested_app

    typed = ["contacts", *arguments]
    with redirect_stdout(io.StringIO()) as printed:
        build_requested_app(typed)(typed, prog_name="scrapersky", standalone_mode=False)
    return printed.getvalue()


if __name__ == "__main__":
    sys.meta_path.insert(0, ExtendedFinder())
    found = asyncio.run(ask_everything(os.environ["DATABASE_URL"]))
    found["cli"] = list_contacts("--sort", "fax")
    found["cli_filtered"] = list_contacts("--fax", FAXES[0] or "")
    json.dump(found, sys.stdout)
