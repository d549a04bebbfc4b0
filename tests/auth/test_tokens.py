"""Bearer tokens: which are accepted, which user they belong to, and why others are rejected."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import httpx
import jwt
import pytest
from sqlalchemy import select

from scrapersky.db.session import Database
from scrapersky.models import DEFAULT_TENANT_ID, AuditEntry, Job, Role, User
from tests.auth.accounts import add_key, add_tenant, add_user, asking, signed_in_settings
from tests.auth.token_issuer import (
    AUDIENCE,
    ISSUER,
    KINDS,
    SECRET,
    Issuer,
    in_seconds,
    public_pem,
    with_key_pair,
    with_secret,
)

JOBS, SCAN = "/api/v3/jobs", "/api/v3/sitemap/scan"


async def answer_to(url: str, issuer: Issuer, token: str) -> httpx.Response:
    async with asking(signed_in_settings(url, **issuer.settings), token) as client:
        return await client.get(JOBS)


@pytest.mark.parametrize("algorithm", ["HS256", *KINDS])
async def test_a_good_token_opens(url: str, algorithm: str) -> None:
    issuer = with_secret() if algorithm == "HS256" else with_key_pair(algorithm)

    assert (await answer_to(url, issuer, issuer.token())).status_code == 200


async def test_keys_open_beside_tokens(url: str, database: Database) -> None:
    _, secret = await add_key(database)

    assert (await answer_to(url, with_secret(), secret)).status_code == 200


def unsigned(**claims: Any) -> str:
    return jwt.encode({**claims}, None, algorithm="none")  # type: ignore[arg-type]


def in_parts(*parts: bytes) -> str:
    return ".".join(base64.urlsafe_b64encode(each).decode().rstrip("=") for each in parts)


GOOD = {"sub": "alice", "tenant": "default", "role": "admin", "aud": AUDIENCE, "iss": ISSUER}

REFUSED: dict[str, tuple[Callable[[Issuer], str], str]] = {
    "expired": (lambda i: i.token(exp=in_seconds(-60)), "expired"),
    "not valid yet": (lambda i: i.token(nbf=in_seconds(60)), "not valid yet"),
    "issued in the future": (lambda i: i.token(iat=in_seconds(60)), "not valid yet"),
    "for others": (lambda i: i.token(aud="others"), "another audience"),
    "from others": (lambda i: i.token(iss="https://others.example"), "not trusted"),
    "without an expiry": (lambda i: i.token(without="exp"), "has no exp claim"),
    "without an audience": (lambda i: i.token(without="aud"), "has no aud claim"),
    "without an issuer": (lambda i: i.token(without="iss"), "has no iss claim"),
    "without a subject": (lambda i: i.token(without="sub"), "has no sub claim"),
    "without a tenant": (lambda i: i.token(without="tenant"), "has no tenant claim"),
    "without a role": (lambda i: i.token(without="role"), "has no role claim"),
    "of an unknown role": (lambda i: i.token(role="root"), "not one of viewer, curator, admin"),
    "of a role that is no word": (lambda i: i.token(role=["admin"]), "not one of viewer"),
    "of an empty subject": (lambda i: i.token(sub=" "), "sub claim is not a name"),
    "of a subject that is no text": (lambda i: i.token(tenant=7), "tenant claim is not a name"),
    "of a subject with a NUL": (lambda i: i.token(sub="a\0b"), "sub claim is not a name"),
    "of an endless subject": (lambda i: i.token(sub="a" * 201), "longer than 200"),
    "signed by somebody else": (
        lambda i: with_secret("x" * 32).token(),
        "signature is not valid",
    ),
    "unsigned": (lambda i: unsigned(**GOOD, exp=in_seconds(60)), "not accepted"),
    "cut": (lambda i: i.token()[:-23], "signature is not valid"),
    "in two parts": (lambda i: i.token().rpartition(".")[0], "nor a valid JWT"),
    "not a token": (lambda i: "bm90IGEgdG9rZW4", "nor a valid JWT"),
    "of brackets": (lambda i: in_parts(b"[" * 5000, b"{}", b""), "nor a valid JWT"),
    "of an endless number": (
        lambda i: jwt.api_jws.encode(
            json.dumps({**GOOD, "exp": float("inf")}).encode(), i.key, i.algorithm
        ),
        "nor a valid JWT",
    ),
    "huge": (lambda i: i.token(padding="x" * 8192), "longer than 8 kB"),
}


@pytest.mark.parametrize("what", REFUSED)
async def test_a_token_that_does_not_hold_is_refused_without_a_word_of_it(
    url: str, what: str
) -> None:
    issuer = with_secret(jwt_leeway_seconds=5)
    make, sentence = REFUSED[what]
    token = make(issuer)

    answer = await answer_to(url, issuer, token)

    assert answer.status_code == 401, answer.text
    assert sentence in answer.json()["detail"]
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.headers["www-authenticate"] == "Bearer"
    assert not any(part in answer.text for part in token.split(".") if len(part) > 8)


@pytest.mark.parametrize("algorithm", ["HS256", "none"])
@pytest.mark.parametrize("kind", list(KINDS))
async def test_the_public_key_is_no_secret_to_sign_with(
    url: str, kind: str, algorithm: str
) -> None:
    issuer = with_key_pair(kind)
    header = json.dumps({"alg": algorithm, "typ": "JWT"}).encode()
    said = json.dumps({**GOOD, "exp": in_seconds(60).timestamp()}).encode()
    signing_input = in_parts(header, said)
    sign = jwt.algorithms.HMACAlgorithm(jwt.algorithms.HMACAlgorithm.SHA256).sign
    signature = sign(signing_input.encode(), public_pem(issuer.key).encode())

    answer = await answer_to(
        url, issuer, f"{signing_input}.{in_parts(signature if algorithm == 'HS256' else b'')}"
    )

    assert answer.status_code == 401
    assert "not accepted" in answer.json()["detail"]


async def test_a_key_pair_of_another_kind_does_not_open(url: str) -> None:
    stranger = with_key_pair("ES256")

    assert (await answer_to(url, with_key_pair("RS256"), stranger.token())).status_code == 401


async def test_clocks_may_differ_a_little(url: str) -> None:
    issuer = with_secret(jwt_leeway_seconds=30)
    token = issuer.token(exp=in_seconds(-10), nbf=in_seconds(10), iat=in_seconds(10))

    assert (await answer_to(url, issuer, token)).status_code == 200


async def test_one_of_several_audiences_is_enough(url: str) -> None:
    issuer = with_secret()

    assert (await answer_to(url, issuer, issuer.token(aud=["x", AUDIENCE]))).status_code == 200


async def test_any_issuer_will_do_where_none_is_set(url: str) -> None:
    issuer = with_secret(jwt_issuer="")

    assert (await answer_to(url, issuer, issuer.token(iss="x"))).status_code == 200
    assert (await answer_to(url, issuer, issuer.token(without="iss"))).status_code == 200


async def test_a_tenant_that_is_not_there_is_said_so(url: str) -> None:
    issuer = with_secret()
    for tenant in ("nobody's", str(uuid4())):
        answer = await answer_to(url, issuer, issuer.token(tenant=tenant))

        assert answer.status_code == 403
        assert "does not exist" in answer.json()["detail"]


async def test_somebody_is_known_from_the_first_token_on(url: str, database: Database) -> None:
    issuer = with_secret()
    token = issuer.token(role="curator")
    async with asking(signed_in_settings(url, **issuer.settings), token) as client:
        await client.post(SCAN, json={"base_url": "one.example"})
        await client.post(SCAN, json={"base_url": "two.example"})

    async with database.reading() as session:
        [alice] = (await session.scalars(select(User).where(User.issuer == ISSUER))).all()
        makers = set(await session.scalars(select(Job.created_by)))
        acts = await session.scalars(select(AuditEntry).order_by(AuditEntry.id))
        noted = [(each.action, each.actor_id) for each in acts]
    assert (alice.name, alice.role, alice.tenant_id) == ("alice", "curator", DEFAULT_TENANT_ID)
    assert makers == {alice.id}
    assert noted == [
        ("user.create", alice.id),
        ("sitemap.scan", alice.id),
        ("sitemap.scan", alice.id),
    ]


async def test_the_same_subject_is_somebody_else_in_another_tenant_or_from_another_issuer(
    url: str, database: Database
) -> None:
    other = await add_tenant(database, "other")
    issuer = with_secret(jwt_issuer="")
    tokens = [
        issuer.token(),
        issuer.token(tenant="other"),
        issuer.token(tenant=str(other.tenant_id)),
        issuer.token(iss="https://third.example"),
    ]
    for token in tokens:
        assert (await answer_to(url, issuer, token)).status_code == 200

    async with database.reading() as session:
        found = (await session.scalars(select(User).where(User.name == "alice"))).all()
    assert len({each.id for each in found}) == 3


async def test_a_name_from_outside_is_not_the_user_of_that_name_here(
    url: str, database: Database
) -> None:
    here = await add_user(database, "alice", role=Role.ADMIN)
    issuer = with_secret()
    await answer_to(url, issuer, issuer.token(sub="alice"))

    async with database.reading() as session:
        found = (await session.scalars(select(User).where(User.name == "alice"))).all()
    assert {each.id == here.user_id for each in found} == {True, False}


async def test_a_user_made_here_comes_by_id_and_keeps_the_role_they_have_here(
    url: str, database: Database
) -> None:
    bob = await add_user(database, "bob", role=Role.VIEWER)
    issuer = with_secret()
    token = issuer.token(sub=str(bob.user_id), role="admin")
    async with asking(signed_in_settings(url, **issuer.settings), token) as client:
        seen = await client.get(JOBS)
        refused = await client.post(SCAN, json={"base_url": "example.com"})

    assert (seen.status_code, refused.status_code) == (200, 403)
    async with database.reading() as session:
        assert (await session.scalars(select(User).where(User.issuer.is_not(None)))).all() == []


async def test_a_user_of_another_tenant_is_not_meant_by_their_id(
    url: str, database: Database
) -> None:
    other = await add_tenant(database, "other")
    issuer = with_secret()
    answer = await answer_to(url, issuer, issuer.token(sub=str(other.user_id), role="admin"))

    async with database.reading() as session:
        made = await session.scalar(select(User).where(User.issuer == ISSUER))
    assert answer.status_code == 200
    assert made is not None
    assert made.id != other.user_id
    assert made.tenant_id == DEFAULT_TENANT_ID


async def test_the_role_is_that_of_the_token(url: str, database: Database) -> None:
    issuer = with_secret()
    settings = signed_in_settings(url, **issuer.settings)
    async with asking(settings, issuer.token(role="viewer")) as client:
        refused = await client.post(SCAN, json={"base_url": "example.com"})
        client.headers["Authorization"] = f"Bearer {issuer.token(role='curator')}"
        done = await client.post(SCAN, json={"base_url": "example.com"})

    async with database.reading() as session:
        roles = (await session.scalars(select(User.role).where(User.issuer == ISSUER))).all()
    assert (refused.status_code, done.status_code) == (403, 202)
    assert "curator" in refused.json()["detail"]
    assert roles == ["curator"]


def test_the_secret_is_not_shown_with_the_settings(url: str) -> None:
    assert SECRET not in repr(signed_in_settings(url, **with_secret().settings))
