"""A PostgreSQL server of our own, shared by all processes that use the same data folder.

`supervisor` is what others use, `running` its heart. Around it: `binaries`, `copies` and
`account` (what runs, as whom), `layout`, `folders` and `sockets` (where), `cluster`, `starting`,
`readiness` and `stopping` (when), `locks` and `process` (who else), `diagnosis` (why not).
"""

from scrapersky.db.embedded.address import ServerAddress
from scrapersky.db.embedded.diagnosis import Finding, diagnose
from scrapersky.db.embedded.supervisor import EmbeddedPostgres

__all__ = ["EmbeddedPostgres", "Finding", "ServerAddress", "diagnose"]
