"""Where a running embedded server listens, in the forms its clients want."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

USER = "scrapersky"
DATABASE = "scrapersky"
PORT = 5432
"""No TCP port is opened; the number only names the socket file, `.s.PGSQL.5432`."""


@dataclass(frozen=True)
class ServerAddress:
    """A Unix socket folder and the names to use behind it."""

    socket_dir: Path
    port: int = PORT
    user: str = USER
    database: str = DATABASE

    @property
    def url(self) -> str:
        """Understood by libpq and asyncpg, and by SQLAlchemy once the scheme names a driver."""
        folder = quote(str(self.socket_dir), safe="/")
        return f"postgresql://{self.user}@/{self.database}?host={folder}&port={self.port}"

    def libpq_env(self) -> dict[str, str]:
        """What `psql`, `pg_dump` and other libpq programs read from their environment."""
        return {
            "PGHOST": str(self.socket_dir),
            "PGPORT": str(self.port),
            "PGUSER": self.user,
            "PGDATABASE": self.database,
        }
