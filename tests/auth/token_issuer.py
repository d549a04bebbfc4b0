"""Issue tokens with a shared secret or with any kind of key pair."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption
from cryptography.hazmat.primitives.serialization import PrivateFormat as Private
from cryptography.hazmat.primitives.serialization import PublicFormat as Public

AUDIENCE, ISSUER = "scrapersky-tests", "https://issuer.example"
SECRET = "0123456789abcdef0123456789abcdef"
KINDS = {
    "RS256": lambda: rsa.generate_private_key(65537, 2048),
    "ES256": lambda: ec.generate_private_key(ec.SECP256R1()),
    "EdDSA": ed25519.Ed25519PrivateKey.generate,
}


@dataclass(frozen=True)
class Issuer:
    key: Any
    algorithm: str
    settings: dict[str, Any]
    """Those of whoever believes this issuer."""

    def token(self, *, without: str = "", **claims: Any) -> str:
        """A good one, but for what is said otherwise."""
        said = {
            "sub": "alice",
            "tenant": "default",
            "role": "viewer",
            "aud": AUDIENCE,
            "iss": ISSUER,
            "exp": in_seconds(60),
            **claims,
        }
        said.pop(without, None)
        return jwt.encode(said, self.key, self.algorithm)


def in_seconds(seconds: float) -> datetime:
    return datetime.now(UTC) + timedelta(seconds=seconds)


def with_secret(secret: str = SECRET, **settings: Any) -> Issuer:
    return Issuer(secret, "HS256", {"jwt_secret": secret, **EXPECTED, **settings})


def with_key_pair(algorithm: str) -> Issuer:
    key: Any = KINDS[algorithm]()
    return Issuer(key, algorithm, {"jwt_public_key": public_pem(key), **EXPECTED})


EXPECTED = {"jwt_audience": AUDIENCE, "jwt_issuer": ISSUER}


def public_pem(key: Any) -> str:
    pem: bytes = key.public_key().public_bytes(Encoding.PEM, Public.SubjectPublicKeyInfo)
    return pem.decode()


def private_pem(key: Any) -> str:
    pem: bytes = key.private_bytes(Encoding.PEM, Private.PKCS8, NoEncryption())
    return pem.decode()
