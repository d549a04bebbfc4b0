"""Verify bearer tokens (JWT) and build the verifier from the settings."""

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

MAX_TOKEN_CHARACTERS = 8 * 1024
"""Longer tokens are rejected without parsing."""
MAX_CLAIM_CHARACTERS = 200
MIN_RSA_BITS = 2048
MAX_EXPIRY_TIMESTAMP = 4_000_000_000
"""Later expiry times are capped to this one, in the year 2096."""
REQUIRED_CLAIMS = ["exp", "aud", "sub", "tenant", "role"]

MALFORMED_TOKEN_ERRORS = (ValueError, TypeError, ArithmeticError, RecursionError)
"""Errors that hostile JSON can raise: deep nesting, huge numbers."""

PublicKey = RSAPublicKey | EllipticCurvePublicKey | Ed25519PublicKey


@dataclass(frozen=True)
class TokenClaims:
    """Claims of a verified token."""

    subject: str
    issuer: str
    """Empty if the token has no `iss` claim."""
    tenant: str
    """Tenant id or name."""
    role: Role
    expires_at: datetime


@dataclass(frozen=True)
class TokenVerifier:
    """Verifies tokens with one key and one algorithm; the token's `alg` header is not trusted."""

    key: PublicKey | bytes
    algorithm: str
    audience: str
    issuer: str | None
    leeway_seconds: float

    def verify(self, token: str) -> TokenClaims:
        """Verify a token and return its claims.

        Raises `NotSignedIn` with a reason that quotes nothing from the token.
        """
        if len(token) > MAX_TOKEN_CHARACTERS:
            raise NotSignedIn(f"The token is longer than {MAX_TOKEN_CHARACTERS // 1024} kB.")
        try:
            return _build_claims(self._decode(token))
        except (jwt.PyJWTError, *MALFORMED_TOKEN_ERRORS) as error:
            raise NotSignedIn(_describe_error(error)) from None

    def _decode(self, token: str) -> dict[str, Any]:
        return jwt.decode(
            token,
            self.key,
            algorithms=[self.algorithm],
            audience=self.audience,
            issuer=self.issuer,
            leeway=self.leeway_seconds,
            options={"require": [*REQUIRED_CLAIMS, *(["iss"] if self.issuer else [])]},
        )


ERROR_MESSAGES: tuple[tuple[type[jwt.PyJWTError], str], ...] = (
    (jwt.ExpiredSignatureError, "The token has expired. Get a new one."),
    (
        jwt.ImmatureSignatureError,
        "The token is not valid yet. Check the clocks of issuer and server.",
    ),
    (jwt.InvalidAudienceError, "The token is for another audience."),
    (jwt.InvalidIssuerError, "The token's issuer is not trusted."),
    (jwt.InvalidAlgorithmError, "The token's signature algorithm is not accepted."),
    (jwt.InvalidSignatureError, "The token's signature is not valid."),
)


def _describe_error(error: Exception) -> str:
    if isinstance(error, jwt.MissingRequiredClaimError):
        return f"The token has no {error.claim} claim."
    sentences = (sentence for kind, sentence in ERROR_MESSAGES if isinstance(error, kind))
    return next(sentences, "The token is neither an API key nor a valid JWT.")


def _build_claims(claims: dict[str, Any]) -> TokenClaims:
    return TokenClaims(
        subject=_parse_name(claims, "sub"),
        issuer=_parse_name(claims, "iss") if "iss" in claims else "",
        tenant=_parse_name(claims, "tenant"),
        role=_parse_role(claims["role"]),
        expires_at=datetime.fromtimestamp(min(float(claims["exp"]), MAX_EXPIRY_TIMESTAMP), UTC),
    )


def _parse_name(claims: dict[str, Any], claim: str) -> str:
    value = claims[claim]
    if not isinstance(value, str) or not value.strip() or "\0" in value:
        raise NotSignedIn(f"The token's {claim} claim is not a name.")
    if len(value) > MAX_CLAIM_CHARACTERS:
        raise NotSignedIn(
            f"The token's {claim} claim is longer than {MAX_CLAIM_CHARACTERS} characters."
        )
    return value.strip()


def _parse_role(value: object) -> Role:
    if not isinstance(value, str) or value not in list(Role):
        raise NotSignedIn(f"The token's role is not one of {', '.join(Role)}.")
    return Role(value)


def build_token_verifier(settings: Settings) -> TokenVerifier:
    """Build the verifier from the settings, in which a secret or a public key is configured.

    Raises `SettingsError` for an unusable key, so that the program does not start.
    """
    key: PublicKey | bytes = settings.jwt_secret.encode()
    algorithm = "HS256"
    if settings.jwt_public_key:
        key, algorithm = _load_public_key(settings.jwt_public_key)
    return TokenVerifier(
        key=key,
        algorithm=algorithm,
        audience=settings.jwt_audience,
        issuer=settings.jwt_issuer or None,
        leeway_seconds=settings.jwt_leeway_seconds,
    )


def _load_public_key(text: str) -> tuple[PublicKey, str]:
    pem = _read_pem(text)
    if "PRIVATE KEY" in pem:
        raise SettingsError("JWT_PUBLIC_KEY contains a private key. Set only the public key.")
    try:
        key = load_pem_public_key(pem.encode())
    except (ValueError, UnsupportedAlgorithm):
        raise SettingsError("JWT_PUBLIC_KEY is not a public key in PEM format.") from None
    match key:
        case RSAPublicKey() if key.key_size >= MIN_RSA_BITS:
            return key, "RS256"
        case EllipticCurvePublicKey() if isinstance(key.curve, SECP256R1):
            return key, "ES256"
        case Ed25519PublicKey():
            return key, "EdDSA"
    raise SettingsError(
        f"JWT_PUBLIC_KEY must be RSA of at least {MIN_RSA_BITS} bits, EC P-256 or Ed25519."
    )


def _read_pem(text: str) -> str:
    """Return the PEM text, reading it from a file if the setting is a path."""
    if text.startswith("-----BEGIN"):
        # Environment variables often cannot hold line breaks; they are written as \n.
        return text.replace("\\n", "\n")
    try:
        return Path(text).expanduser().read_text()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "not a text file"
        raise SettingsError(
            f"JWT_PUBLIC_KEY is neither PEM nor a readable file: {reason}."
        ) from None
