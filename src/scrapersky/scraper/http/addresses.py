"""Rules for the IP addresses and ports that may be fetched from."""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from scrapersky.scraper.http.fetch_errors import Blocked
from scrapersky.settings import AllowedNetwork, IPAddress, IPNetwork, Settings
from scrapersky.settings.values import parse_allowed_network, split_list

NetworkRule = IPNetwork | AllowedNetwork
"""Allowed network, on every port or on one port only."""

DEFAULT_PORTS = {"http": 80, "https": 443}
ALLOWED_PORTS = frozenset({80, 443, 8000, 8080, 8443})

# Listed here instead of using `ipaddress.is_global`, whose result differs between Python versions.
_NON_PUBLIC_V4 = tuple(
    ipaddress.IPv4Network(text)
    for text in (
        "0.0.0.0/8",
        "10.0.0.0/8",
        "100.64.0.0/10",  # carrier-grade NAT, and the metadata service of one cloud
        "127.0.0.0/8",
        "169.254.0.0/16",  # link-local, and the metadata service of the other clouds
        "172.16.0.0/12",
        "192.0.0.0/24",
        "192.0.2.0/24",
        "192.88.99.0/24",
        "192.168.0.0/16",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/4",
        "240.0.0.0/4",
    )
)
_PUBLIC_V6 = ipaddress.IPv6Network("2000::/3")
_NON_PUBLIC_V6 = tuple(
    ipaddress.IPv6Network(text)
    for text in (
        "2001::/23",  # Teredo and other protocol assignments
        "2001:db8::/32",
        "3fff::/20",
    )
)
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_V4_COMPATIBLE = ipaddress.IPv6Network("::/96")
_NUMERIC_LABEL = re.compile(r"(?:[0-9]+|0[xX][0-9a-fA-F]*)\Z")


def parse_ip(host: str) -> IPAddress | None:
    """Parse an IP address in any form a socket accepts. Return None for a host name.

    `2130706433`, `0x7f.1` and `0177.0.0.1` are all 127.0.0.1. Raises ValueError if the last label
    is numeric and the text is not a valid address.
    """
    if ":" in host or host.startswith("["):
        return ipaddress.IPv6Address(host.strip("[]"))
    if not _NUMERIC_LABEL.match(host.rstrip(".").rpartition(".")[2]):
        return None
    try:
        return ipaddress.IPv4Address(socket.inet_aton(host.rstrip(".")))
    except OSError:
        raise ValueError(f"{host!r} is not an IP address") from None


def is_public(address: IPAddress) -> bool:
    """Whether the address and every IPv4 address embedded in it are on the public internet."""
    if isinstance(address, ipaddress.IPv4Address):
        return not any(address in network for network in _NON_PUBLIC_V4)
    if address in _NAT64 or address.ipv4_mapped is not None:
        return all(is_public(inner) for inner in _iter_embedded_v4(address))
    if address not in _PUBLIC_V6 or any(address in network for network in _NON_PUBLIC_V6):
        return False
    return all(is_public(inner) for inner in _iter_embedded_v4(address))


def _iter_embedded_v4(address: ipaddress.IPv6Address) -> Iterator[ipaddress.IPv4Address]:
    """Yield the IPv4 addresses that a translator or tunnel would reach through this address."""
    if address.ipv4_mapped is not None:
        yield address.ipv4_mapped
    if address.sixtofour is not None:
        yield address.sixtofour
    if address in _NAT64 or address in _V4_COMPATIBLE:
        yield ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)


@dataclass(frozen=True)
class AddressRules:
    """Networks and ports allowed by the settings, and the host names they pin to an address."""

    allowed_networks: tuple[NetworkRule, ...] = ()
    allowed_ports: frozenset[int] = ALLOWED_PORTS
    resolve: Mapping[str, tuple[str, int]] = field(default_factory=dict)
    setting: str = "FETCH_ALLOW_NETWORKS"
    """Name of the setting that allows networks, for error messages."""

    @classmethod
    def from_settings(cls, settings: Settings) -> AddressRules:
        """Return the rules for crawled sites."""
        return cls(settings.allowed_networks, settings.allowed_ports, settings.resolve)

    @classmethod
    def from_provider_settings(cls, settings: Settings) -> AddressRules:
        return cls.from_settings(settings)._replace_networks("PROVIDER_ALLOW_NETWORKS", settings)

    @classmethod
    def from_webhook_settings(cls, settings: Settings) -> AddressRules:
        return cls.from_settings(settings)._replace_networks("WEBHOOK_ALLOW_NETWORKS", settings)

    def _replace_networks(self, setting: str, settings: Settings) -> AddressRules:
        networks = split_list(getattr(settings, setting.lower()))
        opened = tuple(map(parse_allowed_network, networks))
        return replace(self, allowed_networks=opened, setting=setting)

    def is_allowed(self, address: IPAddress, port: int | None = None) -> bool:
        """Whether the address is in an allowed network. Hosts there are exempt from rate limits.

        Without a port, the address may be allowed on any port.
        """
        if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
            address = address.ipv4_mapped
        return any(
            each.allows(address, port) if isinstance(each, AllowedNetwork) else address in each
            for each in self.allowed_networks
        )

    def may_use_port(self, port: int) -> bool:
        """Whether a host name may be resolved for this port. Its address is checked later."""
        named = (each.port for each in self.allowed_networks if isinstance(each, AllowedNetwork))
        return port in self.allowed_ports or port in named

    def check(self, address: IPAddress, port: int) -> None:
        """Raise `Blocked` if connections to this address and port are not allowed."""
        if self.is_allowed(address, port):
            return
        if not is_public(address):
            on_port = f" on port {port}" if self.is_allowed(address) else ""
            raise Blocked(
                f"{address} is not a public address. Add it to {self.setting} to allow it{on_port}."
            )
        if port not in self.allowed_ports:
            raise Blocked(f"Port {port} is not allowed. FETCH_ALLOW_PORTS lists the allowed ports.")

    def get_pinned_address(self, host: str) -> tuple[IPAddress, int] | None:
        """Return the address that FETCH_RESOLVE sets for this host, or None.

        Raises `Blocked` if the address is not in an allowed network.
        """
        pin = self.resolve.get(host.lower().rstrip("."))
        if pin is None:
            return None
        address = ipaddress.ip_address(pin[0])
        if not self.is_allowed(address, pin[1]):
            raise Blocked(
                f"FETCH_RESOLVE maps {host} to {address}, which is not in {self.setting}."
            )
        return address, pin[1]

    def is_exempt(self, host: str, port: int | None = None) -> bool:
        """Whether the host is in an allowed network, by its pin or literal address.

        Exempt hosts have no crawl delay. Without a port, the host may be allowed on any port.
        """
        pin = self.resolve.get(host.lower().rstrip("."))
        if pin is not None:
            host, port = pin
        elif is_loopback_name(host):
            host = "127.0.0.1"
        try:
            address = parse_ip(host)
        except ValueError:
            return False
        return address is not None and self.is_allowed(address, port)


def is_loopback_name(host: str) -> bool:
    name = host.lower().rstrip(".")
    return name == "localhost" or name.endswith(".localhost")
