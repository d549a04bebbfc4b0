"""An embedded PostgreSQL server, shared by all processes that use the same data folder.

`supervisor` is the public part. It uses `server` (start, wait, stop), `cluster` (initdb), `layout`
and `folders` (paths), `binaries` and `account` (what runs, as whom), `locks` and `process` (who
else runs); `diagnosis` explains failures.


`supervisor` is what others use, `running` its heart. Around it: `binaries`, `copies` and
`account` (what runs, as whom), `layout`, `folders` and `sockets` (where), `cluster`, `starting`,
`readiness` and `stopping` (when), `locks` and `process` (who else), `diagnosis` (why not).
"""

from scrapersky.db.embedded.diagnosis import CheckResult, diagnose
from scrapersky.db.embedded.layout import ServerAddress
from scrapersky.db.embedded.supervisor import EmbeddedPostgres

__all__ = ["CheckResult", "EmbeddedPostgres", "ServerAddress", "diagnose"]
