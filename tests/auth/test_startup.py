"""Settings that prevent the start are reported in a message that names the variable."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from scrapersky.db.session import Database
from scrapersky.errors import SettingsError
from scrapersky.http.tokens import build_token_verifier
from scrapersky.models import User
from scrapersky.settings import SettingsSource, load_settings
from tests.auth.token_issuer import AUDIENCE, ISSUER, SECRET, private_pem, public_pem, with_key_pair
from tests.processes import HASTY, running
from tests.stage_cases import SYSTEM_USER_ID

REQUIRED = {"AUTH_MODE": "required", "JWT_AUDIENCE": AUDIENCE}


def settings_from(**environ: str) -> Any:
    return load_settings(SettingsSource(environ=environ, env_file=None))


@pytest.mark.parametrize(
    ("environ", "sentence"),
    [
        ({**REQUIRED, "JWT_SECRET": "x" * 31}, "JWT_SECRET must have at least 32 bytes"),
        (
            {**REQUIRED, "JWT_SECRET": SECRET, "JWT_PUBLIC_KEY": "x"},
            "JWT_SECRET and JWT_PUBLIC_KEY",
        ),
        ({"AUTH_MODE": "required", "JWT_SECRET": SECRET}, "JWT_SECRET needs JWT_AUDIENCE"),
        ({"AUTH_MODE": "required", "JWT_PUBLIC_KEY": "x"}, "JWT_PUBLIC_KEY needs JWT_AUDIENCE"),
        ({"JWT_SECRET": SECRET, "JWT_AUDIENCE": AUDIENCE}, "set AUTH_MODE=required"),
        ({"JWT_AUDIENCE": AUDIENCE}, "JWT_AUDIENCE needs JWT_SECRET or JWT_PUBLIC_KEY"),
        ({"JWT_ISSUER": ISSUER}, "JWT_ISSUER needs JWT_SECRET or JWT_PUBLIC_KEY"),
        ({"JWT_LEEWAY_SECONDS": "-1"}, "JWT_LEEWAY_SECONDS cannot be"),
    ],
)
def test_settings_that_do_not_go_together_are_refused(
    environ: dict[str, str], sentence: str
) -> None:
    with pytest.raises(SettingsError) as refused:
        settings_from(**environ)

    assert sentence in str(refused.value)
    assert "x" * 31 not in str(refused.value)
    assert SECRET not in str(refused.value)


def test_bytes_are_counted_not_characters() -> None:
    assert settings_from(**REQUIRED, JWT_SECRET="ß" * 16).jwt_secret == "ß" * 16


BAD_KEYS: dict[str, Callable[[], str]] = {
    "nonsense": lambda: "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----",
    "a private key": lambda: private_pem(ec.generate_private_key(ec.SECP256R1())),
    "another curve": lambda: public_pem(ec.generate_private_key(ec.SECP384R1())),
    "a short key": lambda: public_pem(rsa.generate_private_key(65537, 1024)),
    "no file": lambda: "/nowhere/key.pem",
    "a folder": lambda: "/",
}


@pytest.mark.parametrize("what", BAD_KEYS)
def test_a_public_key_that_cannot_be_used_is_refused(what: str) -> None:
    with pytest.raises(SettingsError, match="JWT_PUBLIC_KEY"):
        build_token_verifier(settings_from(**REQUIRED, JWT_PUBLIC_KEY=BAD_KEYS[what]()))


@pytest.mark.parametrize("algorithm", ["RS256", "ES256", "EdDSA"])
def test_the_kind_of_key_says_how_tokens_are_signed(tmp_path: Path, algorithm: str) -> None:
    pem = public_pem(with_key_pair(algorithm).key)
    (tmp_path / "key.pem").write_text(pem)
    for given in (pem, pem.replace("\n", "\\n"), str(tmp_path / "key.pem")):
        tokens = build_token_verifier(settings_from(**REQUIRED, JWT_PUBLIC_KEY=given))

        assert tokens is not None
        assert tokens.algorithm == algorithm


COMMANDS = [["serve", "--port", "0"], ["worker"]]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
async def test_a_system_user_who_is_not_there_stops_the_start(
    url: str, tmp_path: Path, command: list[str]
) -> None:
    wrong = str(uuid4())
    environ = {**HASTY, "DATABASE_URL": url, "SCHEDULER_SYSTEM_USER_ID": wrong}
    async with running(*command, environ=environ, log=tmp_path / "log") as program:
        assert await program.ended() == 2, program.said()

        assert (
            f"SCHEDULER_SYSTEM_USER_ID is {wrong}, but this user does not exist" in program.said()
        )
        assert "Traceback" not in program.said()


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
async def test_a_system_user_who_is_deactivated_stops_the_start(
    url: str, database: Database, tmp_path: Path, command: list[str]
) -> None:
    async with database.transaction() as session:
        system = await session.get_one(User, SYSTEM_USER_ID)
        system.deactivated_at = system.created_at
    environ = {**HASTY, "DATABASE_URL": url}
    async with running(*command, environ=environ, log=tmp_path / "log") as program:
        assert await program.ended() == 2, program.said()

        assert "SCHEDULER_SYSTEM_USER_ID is system, who is deactivated." in program.said()


async def test_a_short_secret_stops_the_start(url: str, tmp_path: Path) -> None:
    environ = {**HASTY, **REQUIRED, "DATABASE_URL": url, "JWT_SECRET": "tooshort"}
    async with running("serve", "--port", "0", environ=environ, log=tmp_path / "log") as program:
        assert await program.ended() == 2, program.said()

        assert "JWT_SECRET must have at least 32 bytes" in program.said()
        assert "tooshort" not in program.said()
