"""An embedded PostgreSQL server, shared by all processes that use the same data folder.

`supervisor` is the public part. It uses `server` (start, wait, stop), `cluster` (initdb), `layout`
and `folders` (paths), `binaries` and `account` (what runs, as which user), `locks` and `process`
(other users and running servers). `diagnosis` explains failures.
"""

from scrapersky.db.embedded.diagnosis import CheckResult, diagnose
from scrapersky.db.embedded.layout import ServerAddress
from scrapersky.db.embedded.supervisor import EmbeddedPostgres

__all__ = ["CheckResult", "EmbeddedPostgres", "ServerAddress", "diagnose"]
