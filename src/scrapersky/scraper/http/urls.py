"""Parse, normalise and compare site names and URLs."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, lru_cache
from hashlib import blake2b
from urllib.parse import SplitResult, quote, urljoin, urlsplit

import idna
from publicsuffixlist import PublicSuffixList

from scrapersky.errors import InvalidInput
from scrapersky.scraper.http import addresses
from scrapersky.settings import IPAddress

MAX_HOST_CHARACTERS = 253
MAX_LABEL_CHARACTERS = 63
MAX_URL_CHARACTERS = 2_048
"""Limit of the sitemap protocol, which every server accepts."""

_PRIVATE_SUFFIXES = (".local", ".internal", ".lan", ".intranet", ".home.arpa")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*):(.*)", re.DOTALL)
_ABSOLUTE = re.compile(r"https?://", re.IGNORECASE)
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_LABEL = re.compile(r"[a-z0-9_]([a-z0-9_\-]*[a-z0-9_])?\Z")
_STRIPPED_CHARACTERS = (
    " \t\n\r\f\v\x00\xa0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff\u200b\u200c\u200d\u2060"
    + "".join(chr(code) for code in range(0x2000, 0x200B))
)
_SAFE_CHARACTERS = "!#$%&'()*+,/:;=?@[]~"


@dataclass(frozen=True)
class Site:
    """Site entered by a user, in normalised form."""

    key: str
    """Identity of the site: `example.com` or `example.com:8081`."""
    host: str
    """Name without `www.`, in A-labels. IPv6 addresses have no brackets."""
    port: int | None = None
    """None if it is the default port of http or https."""
    path: str = "/"
    """Path from which the scan starts."""
    scheme: str | None = None
    """None if the user did not give one."""


def normalise_site(text: str, rules: addresses.AddressRules | None = None) -> Site:
    """Normalise a site entered by a user. Raises `InvalidInput` with an explanation."""
    parts = _split_url(_clean_input(text))
    host, port = _parse_host_and_port(parts)
    if port == addresses.DEFAULT_PORTS.get(parts.scheme, 443 if port == 443 else 80):
        port = None
    host = _normalise_host(host)
    _reject_private(host, port, rules or addresses.AddressRules())
    name = f"[{host}]" if ":" in host else host
    path = quote(parts.path or "/", safe=_SAFE_CHARACTERS)
    return Site(
        key=f"{name}:{port}" if port else name,
        host=host,
        port=port,
        path=f"{path}?{quote(parts.query, safe=_SAFE_CHARACTERS)}" if parts.query else path,
        scheme=parts.scheme or None,
    )


def _clean_input(text: object) -> str:
    if not isinstance(text, str):
        raise InvalidInput("A domain must be a string, for example example.com.")
    text = text.strip(_STRIPPED_CHARACTERS.replace("\x00", ""))
    if not text:
        raise InvalidInput("The domain is empty. Enter one, for example example.com.")
    if _UNPRINTABLE.search(text):
        raise InvalidInput("The domain contains control characters.")
    if len(text) > MAX_URL_CHARACTERS:
        raise InvalidInput(f"The domain is longer than {MAX_HOST_CHARACTERS} characters.")
    if any(character.isspace() for character in text):
        raise InvalidInput(f"The domain {text!r} contains a space.")
    return text


def _split_url(text: str) -> SplitResult:
    scheme, rest = _split_scheme(text)
    try:
        parts = urlsplit(f"{scheme or 'http'}://{rest.replace(chr(92), '/')}")
    except ValueError:
        raise InvalidInput(f"{text!r} is not a valid domain.") from None
    if "@" in parts.netloc:
        raise InvalidInput("A domain must not contain a user name or password.")
    return parts._replace(scheme=scheme)


def _split_scheme(text: str) -> tuple[str, str]:
    """Split off the scheme.

    `example.com:8080/x` has a port and no scheme. `javascript:x` has a scheme and no host.
    """
    match = _SCHEME.match(text)
    if match is None:
        return "", text.removeprefix("//")
    scheme, rest = match[1].lower(), match[2]
    if rest.startswith("//"):
        if scheme not in addresses.DEFAULT_PORTS:
            raise InvalidInput(f"Only http and https URLs can be fetched, not {scheme}.")
        return scheme, rest[2:]
    if "." in scheme or scheme == "localhost" or rest.partition("/")[0].isdigit():
        return "", text
    if "@" in rest.partition("/")[0]:
        raise InvalidInput("A domain must not contain a user name or password.")
    raise InvalidInput(f"Only http and https URLs can be fetched, not {scheme}.")


def _parse_host_and_port(parts: SplitResult) -> tuple[str, int | None]:
    try:
        host, port = parts.hostname, parts.port
    except ValueError:
        raise InvalidInput(
            f"The port in {parts.netloc!r} is not a number from 1 to 65535."
        ) from None
    if not host or port == 0:
        raise InvalidInput(
            f"{parts.netloc!r} is not a valid domain. Enter one, for example example.com."
        )
    return host, port


def _normalise_host(host: str) -> str:
    host = _encode_host(host.removesuffix(".")).removeprefix("www.")
    address = _parse_literal(host)
    if address is not None:
        return str(address)
    if len(host) > MAX_HOST_CHARACTERS:
        raise InvalidInput(f"The domain is longer than {MAX_HOST_CHARACTERS} characters.")
    for label in host.split("."):
        if len(label) > MAX_LABEL_CHARACTERS:
            raise InvalidInput(
                f"A label of the domain is longer than {MAX_LABEL_CHARACTERS} characters."
            )
        if not _LABEL.match(label):
            raise InvalidInput(f"{host[:80]!r} is not a valid domain name.")
    return host


def _encode_host(host: str) -> str:
    """Return the name in lower-case A-labels, as used in DNS."""
    host = host.lower().replace("。", ".").replace("．", ".")
    if host.isascii():
        return host
    try:
        return idna.encode(host, uts46=True).decode("ascii").lower()
    except (idna.IDNAError, UnicodeError):
        if len(host) > MAX_HOST_CHARACTERS:
            raise InvalidInput(
                f"The domain is longer than {MAX_HOST_CHARACTERS} characters."
            ) from None
        raise InvalidInput(f"{host[:80]!r} is not a valid domain name.") from None


def _parse_literal(host: str) -> IPAddress | None:
    try:
        return addresses.parse_ip(host)
    except ValueError:
        raise InvalidInput(
            f"{host[:80]!r} is neither a valid domain name nor an IP address."
        ) from None


def _reject_private(host: str, port: int | None, rules: addresses.AddressRules) -> None:
    if rules.is_exempt(host, port):
        return
    address = _parse_literal(host)
    if address is not None and not addresses.is_public(address):
        raise InvalidInput(f"{address} is a private address. Only public sites can be scanned.")
    is_private = (
        "." not in host or addresses.is_loopback_name(host) or host.endswith(_PRIVATE_SUFFIXES)
    )
    if address is None and is_private:
        raise InvalidInput(f"{host} is a private name. Only public sites can be scanned.")
    if port is not None and not rules.may_use_port(port):
        allowed = ", ".join(str(each) for each in sorted(rules.allowed_ports))
        raise InvalidInput(f"Port {port} is not allowed. Allowed ports: {allowed}.")


def clean_url(text: str, base: str | None = None) -> str | None:
    """Return an absolute http(s) URL without unprintable characters, or None.

    The rest of the URL stays as written.
    """
    url = _strip_unprintable(text)
    try:
        # Do not join absolute URLs: `urljoin` would normalise them slightly.
        if base is not None and not _ABSOLUTE.match(url):
            url = _strip_unprintable(urljoin(base, url))
        parts = urlsplit(url)
        if parts.scheme not in addresses.DEFAULT_PORTS or not parts.hostname or parts.port == 0:
            return None
    except ValueError:
        return None
    return f"{parts.scheme}{url[len(parts.scheme) :]}"


def _strip_unprintable(text: str) -> str:
    return _UNPRINTABLE.sub("", text).strip(_STRIPPED_CHARACTERS)


def get_host(url: str) -> str:
    """Return the lower-case host of an absolute URL or a site key, without `www.` and port."""
    text = url.partition("://")[2] or url
    netloc = re.split(r"[/?#\\]", text, maxsplit=1)[0].rpartition("@")[2].lower()
    host = netloc.partition("]")[0] if netloc.startswith("[") else netloc.partition(":")[0]
    return host.lstrip("[").rstrip(".").removeprefix("www.")


def is_same_site(site: str, url: str) -> bool:
    """Whether a URL is on the site's host or a subdomain, ignoring scheme, port and `www.`."""
    own, other = get_host(site), get_host(url)
    return other == own or other.endswith(f".{own}")


def get_origin(url: str) -> str:
    """Return the origin of a URL: `https://example.com:8443/a?b` → `https://example.com:8443`."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def url_digest(url: str) -> bytes:
    """Return a 16-byte digest of the URL, used in unique constraints."""
    return blake2b(url.encode("utf-8", "surrogatepass"), digest_size=16).digest()


@cache
def _load_suffixes() -> PublicSuffixList:
    """Load the list on first use; it takes a tenth of a second."""
    return PublicSuffixList()


@cache
def _load_icann_suffixes() -> PublicSuffixList:
    """Load the ICANN suffixes only.

    Private suffixes, added by companies for their customers, are left out because those domains
    receive e-mail too.
    """
    return PublicSuffixList(accept_unknown=False, only_icann=True)


@lru_cache(maxsize=4096)
def get_registrable_domain(host: str) -> str | None:
    """Return the registrable domain, such as `example.co.uk` for `mail.example.co.uk`.

    The host must be in lower-case A-labels.
    """
    return _load_suffixes().privatesuffix(host)


def has_known_suffix(host: str) -> bool:
    return get_icann_domain(host) is not None


@lru_cache(maxsize=4096)
def get_icann_domain(host: str) -> str | None:
    """Return the domain registered with a registry, such as `github.io` for `bakery.github.io`.

    Return None if the suffix does not exist.
    """
    return _load_icann_suffixes().privatesuffix(host)


def get_host_without_www(url: str) -> str:
    try:
        return (urlsplit(url).hostname or "").removeprefix("www.")
    except ValueError:
        return ""


def get_registrable_site(url: str) -> str:
    """Return the registrable domain of a URL: `https://shop.example.co.uk/a` → `example.co.uk`."""
    host = get_host(url)
    try:
        if addresses.parse_ip(host) is not None:
            return host
    except ValueError:
        return host
    return get_registrable_domain(host) or host
