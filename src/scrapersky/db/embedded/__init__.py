"""A PostgreSQL server of our own, shared by all processes that use the same data folder."""

from scrapersky.db.embedded.address import ServerAddress
from scrapersky.db.embedded.diagnosis import Finding, diagnose
from scrapersky.db.embedded.supervisor import EmbeddedPostgres

__all__ = ["EmbeddedPostgres", "Finding", "ServerAddress", "diagnose"]
