"""Bearer tokens (JWT) that somebody else issued: believed when every claim holds."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import jwt
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePublicKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.serialization import load_pem_public_key

from scrapersky.errors import NotSignedIn, SettingsError
from scrapersky.models import Role
from scrapersky.settings import Settings

LONGEST_TOKEN = 8 * 1024
"""Longer ones are not even looked into."""
LONGEST_NAME = 200
SHORTEST_RSA_BITS = 2048
FAR_AHEAD = 4_000_000_000
"""Tokens that expire later than this, in the year 2096, count as if they did then."""
REQUIRED = ["exp", "aud", "sub", "tenant", "role"]

BROKEN = (ValueError, TypeError, ArithmeticError, RecursionError)
"""What reading JSON that was made to hurt may raise: endless brackets, numbers without end."""

PublicKey = RSAPublicKey | EllipticCurvePublicKey | Ed25519PublicKey


@dataclass(frozen=True)
class Claims:
    """What a token says, once it is believed."""

    subject: str
    issuer: str
    """Empty when the token names none."""
    tenant: str
    """Its id or its name."""
    role: Role
    expires_at: datetime


@dataclass(frozen=True)
class Tokens:
    """Reads tokens signed in one way with one key; the token has no say in which."""

    key: PublicKey | bytes
    algorithm: str
    audience: str
    issuer: str | None
    leeway_seconds: float

    def claims_of(self, token: str) -> Claims:
        """What it says; or a sentence on why it is not believed, without a word of it."""
        if len(token) > LONGEST_TOKEN:
            raise NotSignedIn(f"The token is longer than {LONGEST_TOKEN // 1024} kB.")
        try:
            return _checked(self._decoded(token))
        except (jwt.PyJWTError, *BROKEN) as error:
            raise NotSignedIn(_sentence(error)) from None

    def _decoded(self, token: str) -> dict[str, Any]:
        return jwt.decode(
            token,
            self.key,
            algorithms=[self.algorithm],
            audience=self.audience,
            issuer=self.issuer,
            leeway=self.leeway_seconds,
            options={"require": [*REQUIRED, *(["iss"] if self.issuer else [])]},
        )


SENTENCES: tuple[tuple[type[jwt.PyJWTError], str], ...] = (
    (jwt.ExpiredSignatureError, "The token has expired; get a new one."),
    (jwt.ImmatureSignatureError, "The token is not valid yet; look at the clocks."),
    (jwt.InvalidAudienceError, "The token is meant for another audience."),
    (jwt.InvalidIssuerError, "The token comes from an issuer that is not trusted here."),
    (jwt.InvalidAlgorithmError, "The token is signed in a way that is not accepted here."),
    (jwt.InvalidSignatureError, "The token's signature does not fit."),
)


def _sentence(error: Exception) -> str:
    if isinstance(error, jwt.MissingRequiredClaimError):
        return f"The token lacks the claim {error.claim}."
    found = (sentence for kind, sentence in SENTENCES if isinstance(error, kind))
    return next(found, "The token cannot be read; it is neither an API key nor a whole JWT.")


def _checked(said: dict[str, Any]) -> Claims:
    return Claims(
        subject=_name(said, "sub"),
        issuer=_name(said, "iss") if "iss" in said else "",
        tenant=_name(said, "tenant"),
        role=_role(said["role"]),
        expires_at=datetime.fromtimestamp(min(float(said["exp"]), FAR_AHEAD), UTC),
    )


def _name(said: dict[str, Any], claim: str) -> str:
    value = said[claim]
    if not isinstance(value, str) or not value.strip() or "\0" in value:
        raise NotSignedIn(f"The token's claim {claim} is not a name.")
    if len(value) > LONGEST_NAME:
        raise NotSignedIn(f"The token's claim {claim} is longer than {LONGEST_NAME} characters.")
    return value.strip()


def _role(value: object) -> Role:
    if not isinstance(value, str) or value not in list(Role):
        raise NotSignedIn(f"The token's role is none of {', '.join(Role)}.")
    return Role(value)


def tokens_from(settings: Settings) -> Tokens | None:
    """As the settings say; a key that cannot be used keeps the program from starting."""
    if not settings.jwt_secret and not settings.jwt_public_key:
        return None
    key: PublicKey | bytes = settings.jwt_secret.encode()
    algorithm = "HS256"
    if settings.jwt_public_key:
        key, algorithm = _public_key(settings.jwt_public_key)
    return Tokens(
        key=key,
        algorithm=algorithm,
        audience=settings.jwt_audience,
        issuer=settings.jwt_issuer or None,
        leeway_seconds=settings.jwt_leeway_seconds,
    )


def _public_key(text: str) -> tuple[PublicKey, str]:
    pem = _pem(text)
    if "PRIVATE KEY" in pem:
        raise SettingsError("JWT_PUBLIC_KEY holds a private key; give the public half only.")
    try:
        key = load_pem_public_key(pem.encode())
    except (ValueError, UnsupportedAlgorithm):
        raise SettingsError("JWT_PUBLIC_KEY is not a public key in PEM.") from None
    match key:
        case RSAPublicKey() if key.key_size >= SHORTEST_RSA_BITS:
            return key, "RS256"
        case EllipticCurvePublicKey() if isinstance(key.curve, SECP256R1):
            return key, "ES256"
        case Ed25519PublicKey():
            return key, "EdDSA"
    raise SettingsError(
        f"JWT_PUBLIC_KEY must be RSA of at least {SHORTEST_RSA_BITS} bits, EC P-256 or Ed25519."
    )


def _pem(text: str) -> str:
    """What was given, or what stands in the file it names."""
    if text.startswith("-----BEGIN"):
        # Where a variable cannot hold lines, people write their ends as \n.
        return text.replace("\\n", "\n")
    try:
        return Path(text).expanduser().read_text()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is not a text"
        raise SettingsError(
            f"JWT_PUBLIC_KEY is neither PEM nor a file that can be read: {reason}."
        ) from None
