"""The erasure key: created once, stored outside the database, never mixed with another."""

from __future__ import annotations

import hmac
import stat
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select

from scrapersky.cli.doctor import check_database
from scrapersky.contacts.erasure import erase
from scrapersky.contacts.erasure_filter import load_erased
from scrapersky.db.base import uuid7
from scrapersky.db.connection import open_database
from scrapersky.db.erasure_key import (
    FILE_NAME,
    ErasureKeySource,
    check_erasure_key,
    delete_unreadable,
)
from scrapersky.db.session import Database
from scrapersky.errors import ErasureKeyRefused, SettingsError
from scrapersky.models import Suppression, SuppressionKind
from scrapersky.settings import Settings
from tests.auth.accounts import SYSTEM
from tests.conftest import make_settings
from tests.stage_cases import OWNED

ANNA = "anna@bakery.de"
PROCESSES = 4


def without_setting(url: str, folder: Path, **more: Any) -> Settings:
    return make_settings(url, erasure_key="", scrapersky_data_dir=folder, **more)


def hmac_of(secret: str, value: str) -> bytes:
    return hmac.digest(secret.encode(), sha256(value.encode()).digest(), "sha256")


async def erase_anna(database: Database) -> None:
    async with database.transaction() as session:
        await erase(session, SYSTEM, SuppressionKind.EMAIL, ANNA)


async def add_plain_digests(database: Database, *values: str) -> None:
    """As versions before the key kept them."""
    async with database.transaction() as session:
        for each in values:
            digest = sha256(each.encode()).digest()
            session.add(Suppression(id=uuid7(), kind="email", digest=digest, **OWNED))


async def rows(database: Database) -> list[tuple[bytes, str | None]]:
    async with database.reading() as session:
        found = await session.execute(select(Suppression.digest, Suppression.key_id))
        return [(bytes(digest), key_id) for digest, key_id in found]


async def doctor(settings: Settings, url: str) -> Any:
    found = {each.name: each async for each in check_database(settings, url)}
    return found["erasure key"]


MAKE_KEY = """
import sys
from pathlib import Path
from scrapersky.db.erasure_key import ErasureKeySource
print("ready", flush=True)
sys.stdin.readline()
print(ErasureKeySource(path=Path(sys.argv[1])).load_or_create().fingerprint)
"""


def test_processes_that_start_at_once_make_one_key_that_only_its_owner_reads(
    tmp_path: Path,
) -> None:
    path = tmp_path / "data" / FILE_NAME
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", MAKE_KEY, str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(PROCESSES)
    ]
    for each in processes:
        assert each.stdout is not None
        assert each.stdout.readline() == "ready\n"
    for each in processes:
        assert each.stdin is not None
        each.stdin.write("\n")
        each.stdin.flush()
    fingerprints = {each.communicate(timeout=120)[0].strip() for each in processes}

    assert len(fingerprints) == 1
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [each.name for each in path.parent.iterdir()] == [FILE_NAME]


async def test_the_key_is_made_when_the_first_person_is_erased_and_found_again(
    url: str, tmp_path: Path
) -> None:
    settings = without_setting(url, tmp_path)
    async with open_database(settings) as database:
        assert not (tmp_path / FILE_NAME).exists()
        await erase_anna(database)
        [(digest, key_id)] = await rows(database)
    secret = (tmp_path / FILE_NAME).read_text().strip()
    async with open_database(settings) as database, database.transaction() as session:
        found = await load_erased(session, SYSTEM.tenant_id)

    assert digest == hmac_of(secret, ANNA)
    assert key_id == ErasureKeySource(secret).load_or_create().fingerprint
    assert found.find(ANNA) is not None
    assert (await doctor(settings, url)).ok


async def test_the_same_key_may_come_from_a_file_or_a_setting(url: str, tmp_path: Path) -> None:
    async with open_database(without_setting(url, tmp_path)) as database:
        await erase_anna(database)
    secret = (tmp_path / FILE_NAME).read_text().strip()
    elsewhere = make_settings(url, erasure_key=secret, scrapersky_data_dir=tmp_path / "other")

    async with open_database(elsewhere) as database, database.transaction() as session:
        assert (await load_erased(session, SYSTEM.tenant_id)).find(ANNA) is not None


@pytest.mark.parametrize("lost", ["lost", "another"])
async def test_a_lost_or_other_key_stops_the_start_and_is_told_by_doctor(
    lost: str, url: str, tmp_path: Path
) -> None:
    settings = without_setting(url, tmp_path)
    async with open_database(settings) as database:
        await erase_anna(database)
    (tmp_path / FILE_NAME).unlink()
    if lost == "another":
        ErasureKeySource(path=tmp_path / FILE_NAME).load_or_create()

    with pytest.raises(ErasureKeyRefused, match="reset-erasure-key"):
        async with open_database(settings):
            pass
    finding = await doctor(settings, url)
    assert not finding.ok
    assert str(tmp_path / FILE_NAME) in finding.sentence


async def test_a_running_process_without_the_key_stores_and_erases_nothing(
    url: str, database: Database, tmp_path: Path
) -> None:
    """It was started before anybody was erased, on a machine with a key of its own."""
    async with open_database(without_setting(url, tmp_path)) as other:
        await erase_anna(database)
        with pytest.raises(ErasureKeyRefused):
            async with other.transaction() as session:
                await load_erased(session, SYSTEM.tenant_id)
        with pytest.raises(ErasureKeyRefused):
            await erase_anna(other)

    assert len(await rows(database)) == 1


async def test_digests_of_earlier_versions_are_keyed_without_their_values(
    url: str, database: Database, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    values = [f"{name}@bakery.de" for name in ("anna", "bea", "cem")]
    await add_plain_digests(database, *values)
    monkeypatch.setattr("scrapersky.db.erasure_key.REKEY_BATCH_SIZE", 2)
    settings = without_setting(url, tmp_path)
    for _ in range(2):  # the second start changes nothing
        async with open_database(settings) as opened:
            found = await rows(opened)
    secret = (tmp_path / FILE_NAME).read_text().strip()

    assert {digest for digest, _ in found} == {hmac_of(secret, each) for each in values}
    assert None not in {key_id for _, key_id in found}


async def test_a_digest_that_is_not_keyed_yet_is_recognised(database: Database) -> None:
    await add_plain_digests(database, ANNA)
    async with database.transaction() as session:
        assert (await load_erased(session, SYSTEM.tenant_id)).find(ANNA) is not None


async def test_a_value_that_was_erased_before_and_after_the_key_has_one_digest(
    database: Database,
) -> None:
    await erase_anna(database)
    await add_plain_digests(database, ANNA)
    await check_erasure_key(database)
    first = await rows(database)
    await add_plain_digests(database, ANNA)
    await erase_anna(database)

    assert len(first) == 1
    assert await rows(database) == first


async def test_after_a_reset_people_can_be_erased_with_a_new_key(
    url: str, database: Database, tmp_path: Path
) -> None:
    await erase_anna(database)
    new = Database(url, pool_size=2, erasure_key=ErasureKeySource(path=tmp_path / FILE_NAME))
    try:
        async with new.transaction() as session:
            assert await delete_unreadable(session) == 1
        await erase_anna(new)
        async with new.reading() as session:
            assert await session.scalar(select(func.count()).select_from(Suppression)) == 1
        await check_erasure_key(new)
    finally:
        await new.close()


def test_half_a_key_is_refused(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).write_text("half a key\n")

    with pytest.raises(ErasureKeyRefused, match="Restore it"):
        ErasureKeySource(path=tmp_path / FILE_NAME).load()


def test_a_short_setting_is_refused(url: str) -> None:
    with pytest.raises(SettingsError, match="ERASURE_KEY"):
        make_settings(url, erasure_key="short")


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    blocked = tmp_path / "a file"
    blocked.write_text("")

    with pytest.raises(ErasureKeyRefused, match="ERASURE_KEY"):
        ErasureKeySource(path=blocked / FILE_NAME).load_or_create()
